// The targets of relationships, with unsaved changes.
//
// A to-one relationship is a column of one of the two rows. All other relationships are computed
// from columns and links. The other end of a column is computed from the index of the stored
// references, and from the owner's unsaved changes (`ObjectOverlay.delta`). The functions here use
// references, so they create no instances.

internal import PerdurePredicates

/// Reads links and positions as the context shows them.
final class LinkReader {
  private let graph: GraphSchema
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader
  private let savedLinks: SavedLinks

  init(rows: RowLoader, savedLinks: SavedLinks, viewState: ViewState, pending: PendingChanges) {
    graph = viewState.graph
    self.viewState = viewState
    self.pending = pending
    self.rows = rows
    self.savedLinks = savedLinks
  }

  // MARK: Links

  /// The target of a to-one relationship; nil if there is none.
  func target(of owner: ObjectReference, _ relationship: RelationshipShape) -> ObjectReference? {
    relationship.form == .column
      ? viewState.shown(rows.column(owner, relationship.slot), of: owner)
      : targets(of: owner, relationship).first
  }

  /// The targets of a relationship; in order if the relationship is ordered.
  func targets(of owner: ObjectReference, _ relationship: RelationshipShape) -> [ObjectReference] {
    if relationship.form == .column {
      return viewState.shown(rows.column(owner, relationship.slot), of: owner).map { [$0] } ?? []
    }
    var result: [ObjectReference] = []
    appendTargets(of: owner, pending[owner], relationship, to: &result)
    return result
  }

  /// Appends the targets of a relationship that is not a column.
  ///
  /// - Parameter overlay: The owner's unsaved changes.
  @inline(__always)
  func appendTargets(
    of owner: ObjectReference, _ overlay: ObjectOverlay?, _ relationship: RelationshipShape,
    to result: inout [ObjectReference]
  ) {
    if relationship.order != nil {
      appendOrdered(owner, relationship, to: &result)
      if !viewState.vanished.isEmpty { hideVanished(owner, in: &result) }
      return
    }
    if overlay?.isUnknownToStore != true {
      savedLinks.appendSavedTargets(of: owner, relationship, to: &result)
    }
    guard let delta = overlay?.delta(relationship.slot) else { return }
    if !delta.removed.isEmpty { result.removeAll { delta.removed.contains($0) } }
    result.append(contentsOf: delta.added.ordered)
    if !viewState.vanished.isEmpty { hideVanished(owner, in: &result) }
  }

  @inline(never)
  private func hideVanished(_ owner: ObjectReference, in targets: inout [ObjectReference]) {
    if viewState.vanished.contains(owner) {
      targets.removeAll()
    } else {
      targets.removeAll(where: viewState.vanished.contains)
    }
  }

  /// The number of targets. Reads no row unless the relationship is a column.
  func targetCount(of owner: ObjectReference, _ relationship: RelationshipShape) -> Int {
    if relationship.form == .column {
      return viewState.shown(rows.column(owner, relationship.slot), of: owner) == nil ? 0 : 1
    }
    if viewState.hasVanished(owner) { return 0 }
    let overlay = pending[owner]
    let stored =
      overlay?.isUnknownToStore == true ? 0 : savedLinks.savedTargetCount(of: owner, relationship)
    guard let delta = overlay?.delta(relationship.slot) else { return stored }
    // Vanished objects have no row, so `stored` does not count them. Deltas of columns do not
    // contain them (CX6). So only added links of other relationships can have vanished targets, and
    // these are subtracted.
    let hidden =
      viewState.vanished.isEmpty ? 0 : delta.added.ordered.count { viewState.vanished.contains($0) }
    return stored + delta.countDifference - hidden
  }

  /// Whether `target` is a target of the relationship. An object that another context has deleted
  /// still counts.
  func contains(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) -> Bool {
    switch relationship.form {
    case .column: return rows.column(owner, relationship.slot) == target
    case .inverseToOne, .inverseToMany:
      guard let inverse = graph.inverse(of: relationship, at: target) else { return false }
      if let value = pending[target]?.value(inverse.slot) { return value == .reference(owner) }
      // The index has the same information as the row, and does not require the row to be loaded.
      return savedLinks.isSavedLink(owner, relationship, target)
    case .links, .transient:
      if let known = pending[owner]?.delta(relationship.slot)?.contains(target) { return known }
      return savedLinks.isSavedLink(owner, relationship, target)
    }
  }

  /// As `targets(of:_:)`, but takes unchanged columns from `stored` instead of reading the row
  /// again.
  func targets(
    of owner: ObjectReference, _ relationship: RelationshipShape,
    _ stored: StoredReferences
  ) -> [ObjectReference] {
    guard relationship.form == .column, stored.epoch == viewState.epoch,
      pending[owner]?.value(relationship.slot) == nil
    else { return targets(of: owner, relationship) }
    return viewState.shown(stored[relationship.slot], of: owner).map { [$0] } ?? []
  }

  /// The references in the columns of an object's row.
  func storedReferences(of reference: ObjectReference) -> StoredReferences {
    var found = StoredReferences(viewState.epoch)
    _ = rows.withRow(reference) { row, _ in
      for slot in graph.shape(of: reference).columnSlots where row.isPresent(row.fields[slot]) {
        found.bySlot.append((slot, row.reference(row.fields[slot])))
      }
    }
    return found
  }

  // MARK: Positions

  /// The unsaved order of a relationship. It contains order keys for members that have none in the
  /// store (SO2).
  func orderDelta(of owner: ObjectReference, _ relationship: RelationshipShape) -> OrderDelta {
    guard let order = relationship.order, let index = relationship.index else {
      preconditionFailure("The relationship \(relationship.name) must be ordered.")
    }
    let overlay = pending[owner]
    if let delta = overlay?.order(relationship.slot) { return delta }
    if overlay?.isUnknownToStore == true { return OrderDelta() }
    return viewState.reading(owner, or: OrderDelta()) {
      let placed = try viewState.view.entryCount(order.ordered, OrderIndexes.range(of: owner))
      let linked = try viewState.view.entryCount(index, .owner(owner))
      return placed == linked ? OrderDelta() : try repairedOrder(of: owner, relationship, order)
    }
  }

  private func repairedOrder(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ order: OrderIndexes
  ) throws -> OrderDelta {
    let delta = OrderDelta()
    let places = try savedLinks.storedPlaces(of: owner, order)
    let linked = savedLinks.savedTargets(of: owner, relationship)
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
    viewState.statistics.relationshipRequestCount += 1
    let delta = orderDelta(of: owner, relationship)
    let added = delta.tree.added
    var next = added.startIndex
    let places =
      pending.isUnknownToStore(owner)
      ? [] : viewState.reading(owner, or: []) { try savedLinks.storedPlaces(of: owner, order) }
    for place in places where delta.placed[place.reference] == nil && delta.hidden[place.reference] == nil {
      while next < added.endIndex, added[next] < place {
        result.append(added[next].reference)
        next += 1
      }
      result.append(place.reference)
    }
    result.append(contentsOf: added[next...].map(\.reference))
  }

  /// The member at a position; nil if there is none. O(log n); O(log n · log m) with m unsaved
  /// changes of the relationship (OrderTree.swift); O(n) while `vanished` is not empty.
  func orderedMember(
    at position: Int, of owner: ObjectReference, _ relationship: RelationshipShape
  ) -> ObjectReference? {
    if !viewState.vanished.isEmpty {
      let all = targets(of: owner, relationship)
      return all.indices.contains(position) ? all[position] : nil
    }
    return orderedPlace(at: position, of: owner, relationship, orderDelta(of: owner, relationship))?.reference
  }

  func orderedPlace(
    at position: Int, of owner: ObjectReference, _ relationship: RelationshipShape, _ delta: OrderDelta
  ) -> OrderEntry? {
    guard let order = relationship.order, position >= 0 else { return nil }
    let isUnknown = pending.isUnknownToStore(owner)
    return viewState.reading(owner, or: nil) {
      let found = try delta.tree.find(position) {
        isUnknown ? 0 : try savedLinks.storedCount(before: $0, of: owner, order)
      }
      switch found {
      case .added(let place): return place
      case .stored(let position):
        return isUnknown ? nil : try savedLinks.storedPlace(at: position, of: owner, order)
      }
    }
  }

  /// The position of a member; nil for other objects. O(log n); O(n) while `vanished` is not empty.
  func orderedPosition(
    of member: ObjectReference, in owner: ObjectReference, _ relationship: RelationshipShape
  ) -> Int? {
    guard let order = relationship.order else { return nil }
    if !viewState.vanished.isEmpty { return targets(of: owner, relationship).firstIndex(of: member) }
    let delta = orderDelta(of: owner, relationship)
    guard contains(owner, relationship, member), delta.hidden[member] == nil,
      let key = delta.placed[member]?.key ?? savedLinks.storedKey(of: member, under: owner, order)
    else { return nil }
    let place = OrderEntry(key: key, reference: member)
    return viewState.reading(owner, or: nil) {
      let stored =
        pending.isUnknownToStore(owner) ? 0 : try savedLinks.storedCount(before: place, of: owner, order)
      return stored + delta.tree.weight(before: place)
    }
  }

  /// The member with the last order key; nil if there is none, or if the last stored member was
  /// moved or removed. O(log n).
  func lastPlace(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ delta: OrderDelta
  ) -> OrderEntry? {
    guard let order = relationship.order else { return nil }
    // `lastIfAdded` is nil if a hidden place is the last in the tree. All added places are then
    // before that place. If the last stored member is not hidden, it follows them all.
    let added = delta.tree.lastIfAdded
    if pending.isUnknownToStore(owner) { return added }
    return viewState.reading(owner, or: nil) {
      var last: OrderEntry?
      try viewState.view.visitEntries(order.ordered, OrderIndexes.range(of: owner), descending: true) {
        key, reference in
        last = OrderIndexes.orderKey(in: key).map { OrderEntry(key: $0, reference: reference) }
        return false
      }
      guard let last else { return added }
      if delta.placed[last.reference] != nil || delta.hidden[last.reference] != nil { return nil }
      return added.map { max($0, last) } ?? last
    }
  }

  /// The number of order keys, with unsaved changes.
  func orderedCount(
    of owner: ObjectReference, _ relationship: RelationshipShape, _ delta: OrderDelta
  ) -> Int {
    guard let order = relationship.order else { return 0 }
    let stored =
      pending.isUnknownToStore(owner)
      ? 0
      : viewState.reading(owner, or: 0) {
        try viewState.view.entryCount(order.ordered, OrderIndexes.range(of: owner))
      }
    return stored + delta.tree.weight
  }
}
