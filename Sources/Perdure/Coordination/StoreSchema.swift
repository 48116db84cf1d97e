// The schema of a store: the columns of each entity, and the indexes.
//
// A store schema is a pure function of the stored model (`StoreSchema+Model.swift`). Code that
// reads or writes rows depends only on the store schema: properties are slots, entities are
// numbers, relationships are columns or index ranges.
//
// All relationships that are not columns are read in the same way: by the entries of an index whose
// key is the owner's reference. The references of these entries are the objects at the other end.
// Such an index is a `relation` index (the other end has the column), a link keyspace, or its
// reversed index.

internal import PerdureModel
package import PerdurePredicates

/// One component of an index key.
package struct IndexComponent: Hashable, Sendable {
  /// The property's number in the stored model.
  package let property: UInt32
  package let kind: FieldKind
  /// The function that is applied to the property's text; nil for the value itself.
  package let function: TextFunction?
  package let isDescending: Bool

  package init(
    property: UInt32, kind: FieldKind, function: TextFunction? = nil, isDescending: Bool = false
  ) {
    self.property = property
    self.kind = kind
    self.function = function
    self.isDescending = isDescending
  }
}

/// The condition of a partial index. The index has entries only for rows that satisfy it.
package struct IndexCondition: Hashable, Sendable {
  /// The condition with the names of the entity's properties. `foldingConditions` changes it to the
  /// form of prepared fetches.
  package let predicate: FetchPredicate
  /// The condition as text, with the numbers of the properties.
  package let text: String
}

/// One index that a store maintains: its source and its keys.
package struct IndexDefinition: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// Key: the target in the to-one column `property` (a bare reference, without a mark for null);
    /// reference: the row. No entry for null.
    case relation(property: UInt32)
    /// Key: the source of a link (bare reference); reference: its target. The store writes the
    /// entries with the links, not with rows.
    case links(property: UInt32)
    /// Key: the target of a link; reference: its source. Derived from the link keyspace `links`.
    case linksReversed(property: UInt32, links: StoreIndex)
    /// Key: the owner in the ordered relationship `property`; reference: a member. The value of
    /// each entry is the member's order key. A `StoreChange` contains the entries.
    case orders(property: UInt32)
    /// Key: the owner and the member's order key; reference: the member. Derived from the keyspace
    /// `orders`.
    case ordered(property: UInt32, orders: StoreIndex)
    /// Key: the components in order, including null.
    case attribute([IndexComponent])
    /// Key: the components in order; no entry if one is null. A key has at most one entry.
    case unique([IndexComponent])
    /// Key: the number of entries in `counted` with an owner as key (bare count); reference: the
    /// owner. Owners without entries there have no entry here.
    case countOrder(property: UInt32, counted: StoreIndex)
    /// For each target of the to-one column `relation`: the exact sum of the column `attribute` of
    /// the rows that refer to the target. `isReal`: the numbers are doubles or floats. Only
    /// `StateReader.sum` reads the index.
    case sums(relation: UInt32, attribute: UInt32, isReal: Bool)
  }

  /// The name of the index in the store, the same in every process: "rel/17", "attr/3,-c5". If all
  /// properties are inherited, the name includes the entity: "attr/3@2".
  package let name: String
  package let kind: Kind
  /// The concrete entities of the rows, link sources or owners from which the index is made,
  /// ascending.
  package let entities: [UInt16]
  /// The condition that a row must satisfy to have an entry; nil if the index is not partial.
  package let condition: IndexCondition?
  /// Whether its keys contain references that only the store can decode. No fetch uses such an
  /// index.
  package let isHidden: Bool
  /// The stand-ins of key properties that were added after some rows were written. Reads of these
  /// rows return the stand-ins. As text: "p7 = 5".
  package let standIns: [String]

  package init(
    name: String, kind: Kind, entities: [UInt16], condition: IndexCondition? = nil, isHidden: Bool = false,
    standIns: [String] = []
  ) {
    self.name = name
    self.kind = kind
    self.entities = entities
    self.condition = condition
    self.isHidden = isHidden
    self.standIns = standIns
  }

  /// Whether fetches can use the index, and the entities of the index include these entities.
  func serves(_ concrete: [UInt16]) -> Bool { !isHidden && concrete.allSatisfy(entities.contains) }

  /// Stores may cut keys to this length. Values that differ only after this length are equal in a
  /// unique index, and have no particular order.
  package static let keyLengthMax = 65_000

  /// The components of the key, for indexes of attributes.
  package var components: [IndexComponent]? {
    switch kind {
    case .attribute(let components), .unique(let components): components
    default: nil
    }
  }

  /// Whether doubles or floats are summed.
  var sumsReals: Bool {
    if case .sums(_, _, true) = kind { true } else { false }
  }

  package var isUnique: Bool {
    if case .unique = kind { true } else { false }
  }
}

/// How a store keeps one property of an entity.
package struct PropertyStorage: Sendable {
  package enum Form: Hashable, Sendable {
    /// An attribute in the row. Transient properties, including relationships, have the kind
    /// `absent`, and are in no row.
    case attribute(FieldKind)
    /// A to-one relationship in the row. `index` finds the rows that refer to a target.
    case toOne(destination: UInt16, index: StoreIndex)
    /// A relationship outside of the row: the entries of `index` with the owner as key. In
    /// `owners`, if it exists, the object at the other end is the key, and the owner is the
    /// reference.
    case inverse(destination: UInt16, index: StoreIndex, owners: StoreIndex?, isToMany: Bool)
    /// A derived attribute: the number of objects in the relationship of another slot.
    case count(ofSlot: Int)
    /// Any other derived attribute.
    case derived(DerivedStorage)
  }

  /// The property in the stored model. Private, because its indices of entities are valid only for
  /// one model, and a joined schema has several.
  private let schema: PropertySchema
  /// The property's number in the stored model.
  package let number: UInt32
  package let form: Form
  /// The indexes of an ordered relationship.
  package let order: OrderIndexes?

  init(_ schema: PropertySchema, number: UInt32, form: Form, order: OrderIndexes?) {
    self.schema = schema
    self.number = number
    self.form = form
    self.order = order
  }

  package var name: String { schema.name }

  /// Whether the bytes are an encoded value, so that their order has no meaning.
  package var isOpaque: Bool { schema.attributeType == .transformable }

  /// The same property with other numbers.
  func renumbered(_ number: UInt32, _ form: Form, _ order: OrderIndexes?) -> PropertyStorage {
    PropertyStorage(schema, number: number, form: form, order: order)
  }

  /// The entity at the other end of a relationship.
  package var destination: UInt16? {
    switch form {
    case .toOne(let destination, _), .inverse(let destination, _, _, _): destination
    case .attribute, .count, .derived: nil
    }
  }

  /// Whether the property is a derived attribute that copies the value at the end of a path.
  var isCopy: Bool {
    if case .derived(let derived) = form { derived.isCopy } else { false }
  }

  package var isToMany: Bool {
    if case .inverse(_, _, _, let isToMany) = form { isToMany } else { false }
  }
}

/// How a store keeps one entity: its numbers, indexes and layouts. Everything else is in the stored
/// model.
package struct EntityStorage: Sendable {
  /// The entity in the stored model. Private, because its indices of entities are valid only for
  /// one model, and a joined schema has several.
  private let schema: EntitySchema
  package let number: UInt16
  /// This entity and its subentities, if they have rows, ascending.
  package let concrete: [UInt16]
  /// The properties by slot. Subentities have the same properties in the same slots, followed by
  /// their own.
  package let properties: [PropertyStorage]
  /// The layouts of the rows; nil for an abstract entity.
  package let layouts: RowLayouts?

  init(
    _ schema: EntitySchema, number: UInt16, concrete: [UInt16], properties: [PropertyStorage],
    layouts: RowLayouts?
  ) {
    self.schema = schema
    self.number = number
    self.concrete = concrete.sorted()
    self.properties = properties
    self.layouts = layouts
  }

  /// The same entity with other numbers or layouts.
  package func changed(
    number: UInt16, concrete: [UInt16], properties: [PropertyStorage], layouts: RowLayouts?
  ) -> EntityStorage {
    EntityStorage(schema, number: number, concrete: concrete, properties: properties, layouts: layouts)
  }

  package var name: String { schema.name }

  /// The name by which a path reads an object's entity, if the entity has no property of this name.
  static let ownName = "entity"

  /// The slot of a property, or nil.
  package func slot(named name: String) -> Int? { schema.slot(named: name) }

  /// Whether the entity has composite attributes.
  var hasComposites: Bool { !schema.composites.isEmpty }

  /// Whether a path is that of a composite attribute.
  func hasComposite(named path: String) -> Bool { schema.composite(named: path) != nil }

  /// Whether a name is that of a fetched property, which no row has.
  func hasFetchedProperty(named name: String) -> Bool { schema.fetchedProperties.contains(name) }

  /// The slot of a property by its number, or nil.
  package func slot(ofProperty number: UInt32) -> Int? {
    properties.firstIndex { $0.number == number }
  }
}

/// The schema of a store: entities by number, indexes by position. A copy retains one reference.
package struct StoreSchema: Sendable {
  private final class Storage: Sendable {
    let entities: [EntityStorage?]
    let indexes: [IndexDefinition]
    let rows: RowChecks
    let positions: [String: StoreIndex]
    let numbers: [String: UInt16]
    let hasComposites: Bool
    let hasEntityProperty: Bool
    let hasCopies: Bool
    let asksForCanonical: Bool
    /// The search columns, by entity number and name.
    let searchColumns: [[String: SearchColumn]]
    let searchIndexes: [[SearchIndex]]
    let hasCountOrders: Bool

    init(_ entities: [EntityStorage], _ indexes: [IndexDefinition]) {
      var table = [EntityStorage?](repeating: nil, count: Int(entities.map(\.number).max() ?? 0) + 1)
      for entity in entities { table[Int(entity.number)] = entity }
      self.entities = table
      self.indexes = indexes
      rows = RowChecks(table.map { $0?.layouts })
      searchColumns = table.map { $0.map { SearchColumn.columns(of: $0, indexes) } ?? [:] }
      searchIndexes = table.map { $0.map { SearchIndex.all(of: $0, concrete: $0.concrete, indexes) } ?? [] }
      hasCountOrders = indexes.contains { if case .countOrder = $0.kind { true } else { false } }
      positions = Dictionary(
        uniqueKeysWithValues: indexes.enumerated().map { ($1.name, StoreIndex(rawValue: $0)) })
      numbers = Dictionary(entities.map { ($0.name, $0.number) }, uniquingKeysWith: { first, _ in first })
      hasComposites = entities.contains(where: \.hasComposites)
      hasEntityProperty = entities.contains { $0.slot(named: EntityStorage.ownName) != nil }
      hasCopies = entities.contains { $0.properties.contains(where: \.isCopy) }
      asksForCanonical = indexes.contains { index in
        index.condition != nil || index.components?.contains { $0.function == .canonical } == true
      }
    }
  }

  private let storage: Storage

  /// - Parameter entities: If several have the same name (JoinedStore.swift), the name refers to
  ///   the first of them.
  package init(entities: [EntityStorage], indexes: [IndexDefinition]) {
    storage = Storage(entities, indexes)
  }

  /// The entities by number; nil for unused numbers.
  package var entities: [EntityStorage?] { storage.entities }
  package var indexes: [IndexDefinition] { storage.indexes }
  /// How rows are checked, by entity number.
  package var rows: RowChecks { storage.rows }

  /// Whether any entity has composite attributes.
  package var hasComposites: Bool { storage.hasComposites }

  /// Whether any entity has a property called `entity`.
  var hasEntityProperty: Bool { storage.hasEntityProperty }

  /// Whether any entity has a derived attribute that copies the value at the end of a path.
  var hasCopies: Bool { storage.hasCopies }

  /// Whether any index has a canonical text or a condition. Only then does planning derive bounds
  /// of canonical texts from comparisons that ignore case and marks.
  var asksForCanonical: Bool { storage.asksForCanonical }

  /// The property with this name that is the whole key of an index, if a range of the index can
  /// answer a fetch (`SearchColumn`). Nil for other properties.
  func searchColumn(_ name: String, ofEntity number: UInt16) -> SearchColumn? {
    Int(number) < storage.searchColumns.count ? storage.searchColumns[Int(number)][name] : nil
  }

  /// The indexes that can serve a fetch of some of an entity's concrete entities.
  func searchIndexes(of entity: EntityStorage, concrete: [UInt16]) -> [SearchIndex] {
    concrete == entity.concrete
      ? storage.searchIndexes[Int(entity.number)] : SearchIndex.all(of: entity, concrete: concrete, indexes)
  }

  /// Whether any index is sorted by a derived count.
  var hasCountOrders: Bool { storage.hasCountOrders }

  /// The entity with a number that the schema has.
  package func entity(_ number: UInt16) -> EntityStorage {
    guard Int(number) < entities.count, let entity = entities[Int(number)] else {
      preconditionFailure("The store has no entity with the number \(number).")
    }
    return entity
  }

  /// The entity with a name, or nil.
  package func entity(named name: String) -> EntityStorage? {
    storage.numbers[name].map { entity($0) }
  }

  package func definition(_ index: StoreIndex) -> IndexDefinition { indexes[index.rawValue] }

  /// The index with a name, or nil.
  package func index(named name: String) -> StoreIndex? { storage.positions[name] }

  /// The value that a read of a slot returns if the layout of the row does not have the slot. It is
  /// the same in all subentities of the entity.
  package func standIn(_ slot: Int, of entity: EntityStorage) -> Value {
    let layouts = entity.layouts ?? entity.concrete.lazy.compactMap { self.entity($0).layouts }.first
    return layouts?.standIns[slot] ?? .null
  }
}

extension ObjectReference {
  /// The number of the object's concrete entity.
  package var entityNumber: UInt16 { UInt16(truncatingIfNeeded: rawValue >> 48) }

  /// The object's number in its entity; ids start at 1.
  package var id: UInt64 { rawValue & 0xFFFF_FFFF_FFFF }

  /// The reference to an object of an entity. Ids have 48 bits.
  package init(entity: UInt16, id: UInt64) {
    precondition(id >> 48 == 0, "An id has 48 bits.")
    self.init(rawValue: UInt64(entity) << 48 | id)
  }

  /// The reference with a greater entity number.
  @inline(__always)
  package func raised(by offset: UInt16) -> ObjectReference {
    ObjectReference(rawValue: rawValue &+ UInt64(offset) << 48)
  }

  /// The reference with a smaller entity number.
  @inline(__always)
  package func lowered(by offset: UInt16) -> ObjectReference {
    ObjectReference(rawValue: rawValue &- UInt64(offset) << 48)
  }
}
