// Sums of what is at the other end of a relationship: what the store keeps, and the unsaved changes of members.
//
// A member that is not touched stands in the store's sum with what its row has. So every touched one is taken out with
// what its row has, and put in with what it has now, where it belongs to the owner.

internal import PerdurePredicates

extension ContextCore {
  /// What a derived attribute of an object is, by the index of sums where there is one.
  func value(of derived: DerivedStorage, source: PendingSource) throws(PredicateEvaluationError) -> Value {
    // Without changes the rows tell.
    if derived.sums == nil, tracker.isEmpty, vanished.isEmpty {
      return storedValue(of: derived, source.identity)
    }
    // Which links are let go of is known for each object, and not for a sum.
    guard let sums = derived.sums, vanished.isEmpty, tracker[source.identity]?.isDeleted != true else {
      return try derived.value(of: source)
    }
    let relationship = source.shape.relationship(derived.slots[0])
    if let value = sum(sums, of: source.identity, relationship, derived) { return value }
    return try derived.value(of: source)
  }

  /// - Returns: nil where the store keeps no sums.
  private func sum(
    _ index: StoreIndex, of owner: ObjectReference, _ relationship: RelationshipShape,
    _ derived: DerivedStorage
  ) -> Value? {
    do {
      guard var sum = try view.sum(index, of: owner) else { return nil }
      for entity in graph.store.definition(index).entities where tracker.touches(entity: entity) {
        for overlay in tracker.overlays(ofEntity: entity) {
          if !overlay.isUnknownToStore,
            let stored = try storedTerm(of: overlay.reference, owner, relationship, derived)
          {
            sum.remove(stored)
          }
          if !overlay.isDeleted, contains(owner, relationship, overlay.reference) {
            sum.add(columnValue(overlay.reference, derived.slots[1]))
          }
        }
      }
      return derived.exact(sum.value)
    } catch {
      noteReadFailure(error, owner)
      return .null
    }
  }

  /// What the row of a member adds to the sum of an owner in the store; nil where it is no member there.
  private func storedTerm(
    of member: ObjectReference, _ owner: ObjectReference, _ relationship: RelationshipShape,
    _ derived: DerivedStorage
  ) throws -> Value? {
    guard let column = relationship.inverseSlot, let stored = try view.row(member),
      let layouts = graph.shape(of: member).storage.layouts
    else { return nil }
    let row = try graph.store.rows.view(stored.bytes, of: member)
    guard row.isPresent(row.fields[column]), row.reference(row.fields[column]) == owner else { return nil }
    return layouts.value(derived.slots[1], of: row)
  }
}
