// From a row to its keys in an index: pure, the same for every store.

internal import PerdurePredicates

/// Takes the keys of one index out of rows of one concrete entity.
package struct IndexKeys: Sendable {
  private enum Shape: Sendable {
    case relation(slot: Int)
    case sums
    case components([(slot: Int, isDescending: Bool)], isUnique: Bool)
  }

  private let shape: Shape
  private let layouts: RowLayouts
  /// The slot whose reference is the whole key, where that is so.
  let relationSlot: Int?
  /// The slots of the owner and of what is added up for it, in an index of sums.
  private let summedSlots: (owner: Int, attribute: Int)?

  /// nil when rows of the entity do not feed the index.
  package init?(_ index: IndexDefinition, entity: EntityStorage) {
    guard index.entities.contains(entity.number), let layouts = entity.layouts else { return nil }
    self.layouts = layouts
    switch index.kind {
    case .relation(let property):
      guard let slot = entity.slot(ofProperty: property) else { return nil }
      shape = .relation(slot: slot)
      relationSlot = slot
      summedSlots = nil
    case .attribute(let components), .unique(let components):
      var slots: [(slot: Int, isDescending: Bool)] = []
      for component in components {
        guard let slot = entity.slot(ofProperty: component.property) else { return nil }
        slots.append((slot, component.isDescending))
      }
      shape = .components(slots, isUnique: index.isUnique)
      relationSlot = nil
      summedSlots = nil
    case .sums(let relation, let attribute):
      guard let owner = entity.slot(ofProperty: relation), let summed = entity.slot(ofProperty: attribute)
      else {
        return nil
      }
      shape = .sums
      relationSlot = nil
      summedSlots = (owner, summed)
    case .links, .linksReversed, .countOrder:
      return nil
    }
  }

  /// The key of a row, or nil when the row has no entry.
  package func key(of row: RowView) -> [UInt8]? {
    var key = OrderedKey()
    return append(keyOf: row, to: &key) ? key.bytes : nil
  }

  /// Appends the key of a row; false, and perhaps a part of it appended, when the row has no entry.
  func append(keyOf row: RowView, to key: inout OrderedKey) -> Bool {
    switch shape {
    case .sums: return false
    case .relation(let slot):
      let field = row.fields[slot]
      guard row.isPresent(field) else { return false }
      key.append(bare: row.reference(field))
    case .components(let slots, let isUnique):
      for (slot, isDescending) in slots {
        let standIn = layouts.defaults[slot]
        if isUnique, isNull(row, slot, standIn) { return false }
        key.append(row, slot, default: standIn, descending: isDescending)
      }
    }
    return true
  }

  /// What a row adds to the sum of its owner; nil where it adds nothing.
  func term(of row: RowView) -> (owner: ObjectReference, number: Int64)? {
    guard let (owner, attribute) = summedSlots, row.isPresent(row.fields[owner]),
      case .integer(let number) = layouts.value(attribute, of: row)
    else { return nil }
    return (row.reference(row.fields[owner]), number)
  }

  private func isNull(_ row: RowView, _ slot: Int, _ standIn: Value) -> Bool {
    let field = row.fields[slot]
    return field.kind == .absent ? standIn.isNull : !row.isPresent(field)
  }
}
