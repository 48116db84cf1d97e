// The positions in an ordered relationship, including unsaved changes, and moving members to
// positions.
//
// The store has an index by order key, which can count the entries in a range. Unsaved changes are
// a tree (OrderDelta). So finding a position, and moving a member to it, takes O(log n) and loads
// nothing. If the store has fewer order keys than linked members (StoredOrder, SO2), the missing
// keys are computed first, with the same result every time.

internal import PerdurePredicates

// MARK: - The store's order

extension ContextCore {
  /// The number of stored members before an order key.
  private func storedCount(
    before place: OrderPlace, of owner: ObjectReference, _ order: OrderIndexes
  ) throws -> Int {
    let key = OrderIndexes.indexKey(owner, place.key)
    let whole = OrderIndexes.range(of: owner)
    var count = try view.entryCount(order.ordered, KeyRange(lower: whole.lower, upper: key))
    try view.visitEntries(order.ordered, .equal(key), descending: false) { _, reference in
      if reference.rawValue < place.reference.rawValue { count += 1 }
      return reference.rawValue < place.reference.rawValue
    }
    return count
  }

  private func storedPlace(
    at position: Int, of owner: ObjectReference, _ order: OrderIndexes
  ) throws -> OrderPlace? {
    var found: OrderPlace?
    try view.withEntry(at: position, of: OrderIndexes.range(of: owner), in: order.ordered) { key, reference in
      found = OrderIndexes.orderKey(in: key).map { OrderPlace(key: $0, reference: reference) }
    }
    return found
  }

  /// The stored order key of a member; nil also if it cannot be read.
  func storedKey(
    of member: ObjectReference, under owner: ObjectReference, _ order: OrderIndexes
  ) -> OrderKey? {
    if tracker.isUnknownToStore(owner) || tracker.isUnknownToStore(member) { return nil }
    return reading(owner, or: nil) { try view.orderKey(of: member, under: owner, in: order) }
  }

  func storedPlaces(of owner: ObjectReference, _ order: OrderIndexes) throws -> [OrderPlace] {
    var places: [OrderPlace] = []
    try view.visitEntries(order.ordered, OrderIndexes.range(of: owner), descending: false) { key, reference in
      if let key = OrderIndexes.orderKey(in: key) {
        places.append(OrderPlace(key: key, reference: reference))
      }
      return true
    }
    return places
  }

  /// Returns the result of `body`. If the store cannot be read, returns `other`, and the next save
  /// throws the error.
  func reading<T>(_ owner: ObjectReference, or other: T, _ body: () throws -> T) -> T {
    do { return try body() } catch {
      noteReadFailure(error, owner)
      return other
    }
  }
}

// MARK: - Reading

extension ContextCore {
  /// The unsaved order of a relationship, with order keys for members that have none in the store
  /// (SO2).
  private func orderDelta(of owner: ObjectReference, _ relationship: RelationshipShape) -> OrderDelta {
    guard let order = relationship.order, let index = relationship.index else {
      preconditionFailure("The relationship \(relationship.name) must be ordered.")
    }
    let overlay = tracker[owner]
    if let delta = overlay?.order(relationship.slot) { return delta }
    if overlay?.isUnknownToStore == true { return OrderDelta() }
    return reading(owner, or: OrderDelta()) {
      let placed = try view.entryCount(order.ordered, OrderIndexes.range(of: owner))
      let linked = try view.entryCount(index, Self.range(of: owner))
      return placed == linked ? OrderDelta() : try repairedOrder(of: owner, relationship, order)
    }
  }

  private func repairedOrder(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ order: OrderIndexes
  ) throws -> OrderDelta {
    let delta = OrderDelta()
    let places = try storedPlaces(of: owner, order)
    let linked = settledTargets(of: owner, relationship)
    let members = Set(linked)
    for place in places where !members.contains(place.reference) {
      delta.hide(place.reference, stored: place.key)
    }
    let known = Set(places.map(\.reference))
    var last = places.last?.key
    for member in linked.sorted(by: { $0.rawValue < $1.rawValue }) where !known.contains(member) {
      guard let key = OrderKey.between(last, nil) else { break }
      delta.place(member, at: key, stored: nil, isSpread: true)
      last = key
    }
    return delta
  }

  /// Appends the members of an ordered relationship in order.
  func appendOrdered(
    _ owner: ObjectReference, _ relationship: RelationshipShape, to result: inout [ObjectReference]
  ) {
    guard let order = relationship.order else { return }
    statistics.relationshipRequestCount += 1
    let delta = orderDelta(of: owner, relationship)
    let added = delta.tree.added
    var next = added.startIndex
    let places =
      tracker.isUnknownToStore(owner) ? [] : reading(owner, or: []) { try storedPlaces(of: owner, order) }
    for place in places where delta.placed[place.reference] == nil && delta.hidden[place.reference] == nil {
      while next < added.endIndex, added[next] < place {
        result.append(added[next].reference)
        next += 1
      }
      result.append(place.reference)
    }
    result.append(contentsOf: added[next...].map(\.reference))
  }

  /// The member at a position. O(log n).
  func orderedMember(
    at position: Int, of owner: ObjectReference, _ relationship: RelationshipShape
  ) -> ObjectReference? {
    if !vanished.isEmpty {
      let all = targets(of: owner, relationship)
      return all.indices.contains(position) ? all[position] : nil
    }
    return orderedPlace(at: position, of: owner, relationship, orderDelta(of: owner, relationship))?.reference
  }

  private func orderedPlace(
    at position: Int, of owner: ObjectReference, _ relationship: RelationshipShape, _ delta: OrderDelta
  ) -> OrderPlace? {
    guard let order = relationship.order, position >= 0 else { return nil }
    let isUnknown = tracker.isUnknownToStore(owner)
    return reading(owner, or: nil) {
      let found = try delta.tree.find(position) {
        isUnknown ? 0 : try storedCount(before: $0, of: owner, order)
      }
      switch found {
      case .added(let place): return place
      case .stored(let position): return isUnknown ? nil : try storedPlace(at: position, of: owner, order)
      }
    }
  }

  /// The position of a member, nil for other objects. O(log n).
  func orderedPosition(
    of member: ObjectReference, in owner: ObjectReference, _ relationship: RelationshipShape
  ) -> Int? {
    guard let order = relationship.order else { return nil }
    if !vanished.isEmpty { return targets(of: owner, relationship).firstIndex(of: member) }
    let delta = orderDelta(of: owner, relationship)
    guard contains(owner, relationship, member), delta.hidden[member] == nil,
      let key = delta.placed[member]?.key ?? storedKey(of: member, under: owner, order)
    else { return nil }
    let place = OrderPlace(key: key, reference: member)
    return reading(owner, or: nil) {
      let stored = tracker.isUnknownToStore(owner) ? 0 : try storedCount(before: place, of: owner, order)
      return stored + delta.tree.weight(before: place)
    }
  }
}

// MARK: - Changing

extension ContextCore {
  /// Handles the addition of a member: at the end, or at its earlier position when a change is
  /// undone.
  func didEnter(_ member: ObjectReference, _ owner: ObjectReference, _ relationship: RelationshipShape) {
    guard let order = relationship.order else { return }
    let delta = orderDelta(of: owner, relationship)
    recordPosition(of: member, in: owner, relationship, delta)
    let stored = delta.hidden[member] ?? storedKey(of: member, under: owner, order)
    if restoresOrder, stored != nil {
      delta.forget(member)
    } else if delta.placed[member] == nil {
      delta.forget(member)
      place(member, stored: stored, at: nil, of: owner, relationship, delta)
    }
    setOrder(delta, owner, relationship)
  }

  /// Handles the removal of a member from an ordered relationship.
  func didLeave(_ member: ObjectReference, _ owner: ObjectReference, _ relationship: RelationshipShape) {
    guard let order = relationship.order else { return }
    let delta = orderDelta(of: owner, relationship)
    recordPosition(of: member, in: owner, relationship, delta)
    let stored = delta.placed[member]?.stored ?? delta.hidden[member]
    delta.hide(member, stored: stored ?? storedKey(of: member, under: owner, order))
    setOrder(delta, owner, relationship)
  }

  /// Moves a member to a position among the others; nil: after them.
  func move(
    _ member: ObjectReference, to position: Int?, of owner: ObjectReference, _ relationship: RelationshipShape
  ) {
    guard let order = relationship.order else { return }
    let delta = orderDelta(of: owner, relationship)
    let stored = delta.placed[member].map(\.stored) ?? storedKey(of: member, under: owner, order)
    recordPosition(of: member, in: owner, relationship, delta)
    // Remove it first, so that positions refer to the other members.
    delta.hide(member, stored: stored)
    place(member, stored: stored, at: position, of: owner, relationship, delta)
    setOrder(delta, owner, relationship)
  }

  /// Moves a member to a known order key.
  ///
  /// - Parameter isSpread: Whether the move only makes space for others, or adds a missing key, and
  ///   the program did not request it.
  func setPlace(
    of member: ObjectReference, to key: OrderKey, of owner: ObjectReference,
    _ relationship: RelationshipShape, isSpread: Bool
  ) {
    guard let order = relationship.order else { return }
    let delta = orderDelta(of: owner, relationship)
    let stored = delta.placed[member].map(\.stored) ?? storedKey(of: member, under: owner, order)
    recordPosition(of: member, in: owner, relationship, delta)
    delta.place(member, at: key, stored: stored, isSpread: isSpread)
    setOrder(delta, owner, relationship)
  }

  /// Discards the unsaved moves of members that have a stored position.
  func leaveInStoredOrder(
    _ members: [ObjectReference], of owner: ObjectReference, _ relationship: RelationshipShape
  ) {
    guard let delta = tracker[owner]?.order(relationship.slot) else { return }
    for member in members where delta.placed[member]?.stored != nil { delta.forget(member) }
    setOrder(delta, owner, relationship)
  }

  private func setOrder(_ delta: OrderDelta, _ owner: ObjectReference, _ relationship: RelationshipShape) {
    let overlay = overlay(for: owner)
    overlay.setOrder(delta, relationship.slot)
    dropIfUnchanged(overlay)
  }

  /// - Parameter delta: The unsaved order, which must not contain the member.
  private func place(
    _ member: ObjectReference, stored: OrderKey?, at position: Int?, of owner: ObjectReference,
    _ relationship: RelationshipShape, _ delta: OrderDelta
  ) {
    if position == nil, let last = lastPlace(of: owner, relationship, delta),
      let key = OrderKey.between(last.key, nil)
    {
      return delta.place(member, at: key, stored: stored)
    }
    let count = orderedCount(of: owner, relationship, delta)
    let position = min(position ?? count, count)
    let before = position == 0 ? nil : orderedPlace(at: position - 1, of: owner, relationship, delta)
    let behind = position == count ? nil : orderedPlace(at: position, of: owner, relationship, delta)
    if let key = OrderKey.between(before?.key, behind?.key) {
      return delta.place(member, at: key, stored: stored)
    }
    makeRoom(for: member, stored: stored, at: position, of: count, owner, relationship, delta)
  }

  /// The place with the last order key. Nil also if finding it needs more work.
  private func lastPlace(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ delta: OrderDelta
  ) -> OrderPlace? {
    guard let order = relationship.order else { return nil }
    let added = delta.tree.lastAdded
    if tracker.isUnknownToStore(owner) { return added }
    return reading(owner, or: nil) {
      var last: OrderPlace?
      try view.visitEntries(order.ordered, OrderIndexes.range(of: owner), descending: true) {
        key, reference in
        last = OrderIndexes.orderKey(in: key).map { OrderPlace(key: $0, reference: reference) }
        return false
      }
      guard let last else { return added }
      if delta.placed[last.reference] != nil || delta.hidden[last.reference] != nil { return nil }
      return added.map { max($0, last) } ?? last
    }
  }

  /// The number of order keys.
  private func orderedCount(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ delta: OrderDelta
  ) -> Int {
    guard let order = relationship.order else { return 0 }
    let stored =
      tracker.isUnknownToStore(owner)
      ? 0 : reading(owner, or: 0) { try view.entryCount(order.ordered, OrderIndexes.range(of: owner)) }
    return stored + delta.tree.weight
  }

  /// Assigns new order keys to the neighbours of a position. It starts with 64 neighbours and
  /// doubles the number until the keys have enough distance.
  private func makeRoom(
    for member: ObjectReference, stored: OrderKey?, at position: Int, of count: Int, _ owner: ObjectReference,
    _ relationship: RelationshipShape, _ delta: OrderDelta
  ) {
    guard let order = relationship.order else { return }
    var width = 64
    while true {
      let range = max(0, position - width / 2)..<min(count, position + width / 2)
      let lower =
        range.lowerBound == 0
        ? nil : orderedPlace(at: range.lowerBound - 1, of: owner, relationship, delta)?.key
      let upper =
        range.upperBound == count
        ? nil : orderedPlace(at: range.upperBound, of: owner, relationship, delta)?.key
      if let keys = OrderKey.spread(range.count + 1, between: lower, upper) {
        var members = range.compactMap { orderedPlace(at: $0, of: owner, relationship, delta)?.reference }
        members.insert(member, at: min(members.count, position - range.lowerBound))
        for (other, key) in zip(members, keys) {
          let known =
            other == member
            ? stored : delta.placed[other].map(\.stored) ?? storedKey(of: other, under: owner, order)
          if other != member { recordPosition(of: other, in: owner, relationship, delta) }
          delta.place(other, at: key, stored: known, isSpread: other != member)
        }
        return
      }
      precondition(range.count < count, "Keys for all members must fit.")
      width *= 2
    }
  }
}

// MARK: - After the view has advanced

extension ContextCore {
  /// Restores OD1 and OD2 for an object's ordered relationships. A move that only made space for
  /// others is discarded if another context has saved a position meanwhile.
  func reconcileOrders(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.relationships {
      guard let order = relationship.order else { continue }
      let old = overlay.order(relationship.slot)
      let links = overlay.delta(relationship.slot)
      if old == nil, links == nil { continue }
      // This is not a change, so no hook is called.
      let wasTouched = overlay.isTouched
      defer { overlay.isTouched = wasTouched }
      overlay.setOrder(nil, relationship.slot)
      let delta = orderDelta(of: overlay.reference, relationship)
      for place in old?.tree.added ?? [] {
        guard let placement = old?.placed[place.reference],
          contains(overlay.reference, relationship, place.reference), !hasVanished(place.reference)
        else { continue }
        let stored = storedKey(of: place.reference, under: overlay.reference, order)
        if placement.isSpread, stored != placement.stored || stored == nil { continue }
        delta.place(place.reference, at: place.key, stored: stored, isSpread: placement.isSpread)
      }
      for member in links?.added.ordered ?? [] where delta.placed[member] == nil {
        place(
          member, stored: storedKey(of: member, under: overlay.reference, order), at: nil,
          of: overlay.reference, relationship, delta)
      }
      for member in links?.removed.ordered ?? [] {
        delta.hide(member, stored: storedKey(of: member, under: overlay.reference, order))
      }
      overlay.setOrder(delta, relationship.slot)
    }
  }
}
