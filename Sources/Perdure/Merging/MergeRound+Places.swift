// Conflicts about orders: a member that was moved here, and moved or taken out by others.
//
// Who takes a member out and who moves another one does not disturb who moves this one. Members that only made room
// have nothing to lose: they give way to what others have saved (OrderEditor.reconcileOrders).

internal import PerdurePredicates

extension MergeRound {
  /// - Parameter range: The place that the members in question had when they were moved here.
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
      // Taken out by others: there is nothing to be moved. At the same place for both: nothing to be decided.
      let newest = try newest.orderKey(of: member, under: owner, in: order)
      if let newest, newest != placement.stored, newest != placement.key { contested.append(member) }
    }
    if contested.isEmpty { return }
    switch general(overlay) {
    case .error: unresolved.failed.append(precondition)
    case .storeTrump: add(.dropPlaces(owner, relationship, contested))
    case .rollback: add(.dropPlaces(owner, relationship, moved.map(\.member)))
    // Unsaved changes are on top.
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
  /// The members that somebody has moved within the order, in their new order.
  var moved: [(member: ObjectReference, placement: Placement)] {
    tree.added.compactMap { place in
      guard let placement = placed[place.reference], placement.stored != nil, !placement.isSpread else {
        return nil
      }
      return (place.reference, placement)
    }
  }
}
