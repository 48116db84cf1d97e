// Computes the index keys of a row. The functions are pure, and the same for every store.

internal import PerdurePredicates

/// Computes the keys of one index from the rows of one concrete entity.
package struct IndexKeys: Sendable {
  private enum Shape: Sendable {
    case relation(slot: Int)
    case sums(owner: Int, attribute: Int)
    case components([Part], isUnique: Bool)

    var slots: [Int] {
      switch self {
      case .relation(let slot): [slot]
      case .sums(let owner, let attribute): [owner, attribute]
      case .components(let parts, _): parts.map(\.slot)
      }
    }
  }

  /// A component of the key, with its slot in the rows of the entity.
  private struct Part {
    let slot: Int
    let function: TextFunction?
    let isDescending: Bool
  }

  private let shape: Shape
  private let layouts: RowLayouts
  private let condition: RowCondition?
  /// The slot whose reference is the whole key; nil for other keys.
  let relationSlot: Int?
  /// The columns that determine the keys, including those of the condition.
  let parts: RowParts

  /// The number of slots in the rows.
  var slotCount: Int { layouts.current.slotCount }

  /// Returns nil if rows of the entity have no entries in the index.
  package init?(_ index: IndexDefinition, entity: EntityStorage, in schema: StoreSchema) {
    guard index.entities.contains(entity.number), let layouts = entity.layouts else { return nil }
    self.layouts = layouts
    condition = index.condition.map { RowCondition($0.predicate, schema: schema, entity: entity) }
    switch index.kind {
    case .relation(let property):
      guard let slot = entity.slot(ofProperty: property) else { return nil }
      shape = .relation(slot: slot)
      relationSlot = slot
    case .attribute(let components), .unique(let components):
      var parts: [Part] = []
      for component in components {
        guard let slot = entity.slot(ofProperty: component.property) else { return nil }
        parts.append(Part(slot: slot, function: component.function, isDescending: component.isDescending))
      }
      shape = .components(parts, isUnique: index.isUnique)
      relationSlot = nil
    case .sums(let relation, let attribute, _):
      guard let owner = entity.slot(ofProperty: relation), let summed = entity.slot(ofProperty: attribute)
      else {
        return nil
      }
      shape = .sums(owner: owner, attribute: summed)
      relationSlot = nil
    case .links, .linksReversed, .orders, .ordered, .countOrder:
      return nil
    }
    var parts = RowParts(slots: shape.slots)
    if let condition = index.condition { parts.formUnion(RowParts(readBy: condition.predicate, entity)) }
    self.parts = parts
  }

  /// The key of a row; nil if the row has no entry.
  package func key(of row: RowView) -> [UInt8]? {
    var key = OrderedKey()
    return append(keyOf: row, to: &key) ? key.bytes : nil
  }

  /// Appends the key of a row. Returns false if the row has no entry. In that case, a part of a key
  /// may have been appended.
  func append(keyOf row: RowView, to key: inout OrderedKey) -> Bool {
    switch shape {
    case .sums: return false
    case .relation(let slot):
      let field = row.fields[slot]
      guard row.isPresent(field) else { return false }
      key.append(bare: row.reference(field))
    case .components(let parts, let isUnique):
      if let condition, !condition.holds(row) { return false }
      for part in parts {
        let standIn = layouts.standIns[part.slot]
        if isUnique, isNull(row, part.slot, standIn) { return false }
        key.append(
          row, part.slot, default: standIn, function: part.function, descending: part.isDescending)
      }
    }
    return true
  }

  /// The owner of a row, and the number that the row adds to the owner's sum (null if none). Nil
  /// for other indexes, and for rows without an owner.
  func term(of row: RowView) -> (owner: ObjectReference, number: Value)? {
    guard case .sums(let owner, let attribute) = shape, row.isPresent(row.fields[owner]) else { return nil }
    return (row.reference(row.fields[owner]), row.value(attribute))
  }

  private func isNull(_ row: RowView, _ slot: Int, _ standIn: Value) -> Bool {
    let field = row.fields[slot]
    return field.kind == .absent ? standIn.isNull : !row.isPresent(field)
  }
}
