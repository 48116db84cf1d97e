// The members of ordered relationships in the store, without unsaved changes.

internal import PerdurePredicates

extension ContextCore {
  /// The order entries that the store has for an owner, in order. Some may have no link.
  func storedMembers(of owner: ObjectReference, _ order: OrderIndexes) -> [ObjectReference] {
    reading(owner, or: []) { try storedPlaces(of: owner, order).map(\.reference) }
  }

  /// The members that the store has for an owner, in order.
  func storedMembers(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ order: OrderIndexes
  ) -> [ObjectReference] {
    let linked = settledTargets(of: owner, relationship).sorted { $0.rawValue < $1.rawValue }
    let (members, placed) = (Set(linked), storedMembers(of: owner, order))
    let known = Set(placed)
    return placed.filter(members.contains) + linked.filter { !known.contains($0) }
  }
}
