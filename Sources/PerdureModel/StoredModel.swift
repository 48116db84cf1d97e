/// A model with the numbers that a store uses for it. Keys and rows identify entities, properties
/// and layouts by number, never by name or position.
///
/// Invariants:
/// 1. A number is used once. No later model of the store uses the number for another item.
/// 2. Entity numbers and layout numbers are 1...65 535, property numbers 1...4 294 967 295. Two
///    entities, two layouts or two properties of a store have different numbers. An inherited
///    property has the number of its declaration.
/// 3. A layout lists the properties of a row of one entity, by number, in the order of the slots at
///    the time. Layouts are never removed while rows may be written in them, so every row can be
///    read.
/// 4. The current layout of an entity lists exactly its properties in the order of its slots,
///    except transient ones. No layout lists transient properties.
/// 5. Each property of the model has an origin, and no other number has one. The version of an
///    origin is in the history, or is older than the history.
package struct StoredModel: Sendable {
  /// The model that the numbers belong to.
  package let model: ManagedObjectModel
  /// Every layout that a row of the store may have, ascending by number.
  package let layouts: [LayoutSchema]
  /// The numbers of each entity, by the index of the entity in the model.
  let entries: [Entry]
  let lastNumbers: LastNumbers
  /// The origins of the properties, by property number.
  let origins: [UInt32: PropertyOrigin]
  package let history: ModelHistory
  /// Sections of a later version, which are written back unchanged.
  let skippedSections: [SkippedSection]

  private let indicesByNumber: [UInt16: Int]
  private let positionsByLayout: [UInt16: Int]
  private let numbersBySlot: [[UInt32]]

  /// The numbers of one entity.
  struct Entry: Sendable, Hashable {
    let number: UInt16
    let currentLayout: UInt16
    /// The numbers of the declared properties, in the order of the description. A composite has the
    /// numbers of its leaves.
    let propertyNumbers: [UInt32]
  }

  /// The highest number of each kind that was ever allocated (invariant 1).
  struct LastNumbers: Sendable, Hashable {
    var entity: UInt16 = 0
    var property: UInt32 = 0
    var layout: UInt16 = 0
  }

  /// The caller must ensure the invariants.
  init(
    model: ManagedObjectModel, entries: [Entry], layouts: [LayoutSchema], lastNumbers: LastNumbers,
    origins: [UInt32: PropertyOrigin], history: ModelHistory, skippedSections: [SkippedSection]
  ) {
    self.model = model
    self.entries = entries
    self.layouts = layouts
    self.lastNumbers = lastNumbers
    self.origins = origins
    self.history = history
    self.skippedSections = skippedSections
    indicesByNumber = Dictionary(
      uniqueKeysWithValues: entries.enumerated().map { ($0.element.number, $0.offset) })
    positionsByLayout = Dictionary(
      uniqueKeysWithValues: layouts.enumerated().map { ($0.element.number, $0.offset) })
    numbersBySlot = Self.numbersBySlot(model, entries.map(\.propertyNumbers))
  }

  static func numbersBySlot(_ model: ManagedObjectModel, _ own: [[UInt32]]) -> [[UInt32]] {
    model.schemas.map { schema in schema.lineage.reversed().flatMap { own[$0] } }
  }

  /// For each entity, the numbers that its current layout must list (invariant 4).
  static func storedNumbers(_ model: ManagedObjectModel, _ bySlot: [[UInt32]]) -> [[UInt32]] {
    zip(model.schemas, bySlot).map { schema, numbers in
      zip(schema.properties, numbers).filter { !$0.0.isTransient }.map(\.1)
    }
  }
}

/// The layout of a row: its properties and their order.
package struct LayoutSchema: Sendable, Hashable {
  /// The layout's number, unique in the store.
  package let number: UInt16
  /// The entity whose rows have the layout.
  package let entityNumber: UInt16
  /// The properties in the order of the row.
  package let propertyNumbers: [UInt32]
}

// MARK: - Between numbers and the model

extension StoredModel {
  /// The number of the entity at `index` in the model.
  package func entityNumber(at index: Int) -> UInt16 { entries[index].number }

  /// The index in the model of the entity with `number`, or nil for a number that no entity has.
  package func entityIndex(numbered number: UInt16) -> Int? { indicesByNumber[number] }

  /// The number of the property in `slot` of the entity at `index`.
  package func propertyNumber(atSlot slot: Int, ofEntityAt index: Int) -> UInt32 {
    numbersBySlot[index][slot]
  }

  /// The numbers of all properties of the entity at `index`, by slot.
  package func propertyNumbers(ofEntityAt index: Int) -> [UInt32] { numbersBySlot[index] }

  /// The value of a property in rows that are older than the property: the default with which it
  /// was added; nil if it was added without one.
  package func standIn(ofProperty number: UInt32) -> DefaultValue? { origins[number]?.standIn }

  /// The number of the version of the model that added a property; nil for a number that no
  /// property has.
  package func version(ofProperty number: UInt32) -> UInt32? { origins[number]?.version }

  /// The layout in which new rows of the entity at `index` are written.
  package func currentLayout(ofEntityAt index: Int) -> LayoutSchema {
    layouts[positionsByLayout[entries[index].currentLayout]!]
  }

  /// The layout with `number`, or nil for a number that no layout has.
  package func layout(numbered number: UInt16) -> LayoutSchema? {
    positionsByLayout[number].map { layouts[$0] }
  }

  /// For each slot of the layout's entity, the position in rows of `layout`. Nil if these rows do
  /// not contain the property: it is transient, or newer than the layout and has its stand-in. The
  /// result is empty if the model does not have the entity.
  ///
  /// - Complexity: O(p) for p properties. The caller caches the result.
  package func rowPositions(bySlotIn layout: LayoutSchema) -> [Int?] {
    guard let index = indicesByNumber[layout.entityNumber] else { return [] }
    let positions = Dictionary(
      layout.propertyNumbers.enumerated().map { ($0.element, $0.offset) },
      uniquingKeysWith: { first, _ in first })
    return numbersBySlot[index].map { positions[$0] }
  }
}
