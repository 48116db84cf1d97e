// Sums over the objects at the other end of a relationship, whose rows are read together.

internal import PerdurePredicates

extension RowGraph {
  /// The value of a derived attribute that sums an attribute over the objects of a to-many
  /// relationship; nil for any other derived attribute.
  ///
  /// - Throws: `PredicateEvaluationError`, `FetchError` with code `damagedRow`, or the error of the
  ///   view.
  /// - Complexity: O(n log n) for n objects.
  func memberSum(_ derived: DerivedStorage, of owner: ObjectReference) throws -> Value? {
    guard derived.path.aggregate == .sum, derived.function == nil, derived.slots.count == 2 else {
      return nil
    }
    let relationship = schema.entity(owner.entityNumber).properties[derived.slots[0]]
    guard case .inverse(let destination, let index, _, true) = relationship.form,
      case .attribute(let kind) = schema.entity(destination).properties[derived.slots[1]].form,
      kind != .absent
    else { return nil }
    let members = try targets(index, of: owner)
    return derived.exact(try Aggregation.sum(values(derived.slots[1], of: members)))
  }

  /// The values that objects have in a slot, without nulls. An object without a row has no value.
  private func values(_ slot: Int, of objects: [ObjectReference]) throws -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(objects.count)
    try view.rows(objects) { position, stored in
      guard let stored else { return }
      let object = objects[position]
      let value = try check(stored, object).value(slot)
      if value != .null { values.append(value) }
    }
    return values
  }
}
