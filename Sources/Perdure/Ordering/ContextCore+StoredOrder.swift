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

  /// Appends the stored members of several owners, owner by owner, each in order. `ends` and
  /// `countMax` are as in `StoreView.appendReferences(underEach:in:countMax:to:ends:)`.
  func appendStoredMembers(
    underEach owners: [ObjectReference], _ relationship: RelationshipShape, _ order: OrderIndexes,
    countMax: Int, to found: inout [ObjectReference], ends: inout [Int]
  ) throws {
    guard let index = relationship.index else { return }
    for owner in owners {
      let placed = try storedPlaces(of: owner, order)
      let isWhole = try placed.count == view.entryCount(index, Self.range(of: owner))
      found += isWhole ? placed.map(\.reference) : storedMembers(of: owner, relationship, order)
      ends.append(found.count)
      if found.count > countMax { return }
    }
  }
}
