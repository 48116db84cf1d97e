// Conflicts about orders: two contexts have moved the same member to different positions.
//
// Moves and removals of different members do not conflict. Members that were moved only to make
// space have no conflicts: their unsaved moves are dropped (OrderEditor.reconcileOrders).

internal import PerdurePredicates

extension MergeRound {
  /// - Parameter range: The range of one stored order key, from which this context has moved
  ///   members.
  mutating func judgePlaces(
    _ owner: ObjectReference, _ index: StoreIndex, _ range: KeyRange, _ precondition: Precondition
  ) throws {
    guard let overlay = reading.pending[owner],
      let relationship = overlay.shape.relationships.first(where: { $0.order?.ordered == index }),
      let order = relationship.order, let delta = overlay.order(relationship.slot)
    else { return unresolved.failed.append(precondition) }
    let moved = delta.moved
    var contested: [ObjectReference] = []
    for (member, placement) in moved where placement.stored.map({ range.isKey(of: $0, owner) }) == true {
      // A member that another context has removed cannot be moved. If both contexts have moved it
      // to the same position, there is no conflict.
      let newest = try newest.orderKey(of: member, under: owner, in: order)
      if let newest, newest != placement.stored, newest != placement.key { contested.append(member) }
    }
    if contested.isEmpty { return }
    switch general(overlay) {
    case .error: unresolved.failed.append(precondition)
    case .storeTrump: add(.dropMoves(owner, relationship, contested))
    case .rollback: add(.dropMoves(owner, relationship, moved.map(\.member)))
    // Unsaved changes override the saved ones.
    case .objectTrump, .overwrite: break
    }
  }
}

extension KeyRange {
  fileprivate func isKey(of place: OrderKey, _ owner: ObjectReference) -> Bool {
    lower == OrderIndexes.indexKey(owner, place)
  }
}

extension OrderDelta {
  /// The members that the program has moved within the order, in their new order.
  var moved: [(member: ObjectReference, placement: Placement)] {
    tree.added.compactMap { place in
      guard let placement = placed[place.reference], placement.stored != nil, !placement.isSpread else {
        return nil
      }
      return (place.reference, placement)
    }
  }
}
