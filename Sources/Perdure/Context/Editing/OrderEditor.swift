// The positions in an ordered relationship, including unsaved changes, and moving members to
// positions.
//
// The store has an index by order key, which can count the entries in a range. Unsaved changes are
// in a tree (OrderDelta). So finding a position, and moving a member to it, takes O(log n), or
// O(log n · log m) with m unsaved changes, and loads no row. If the store has fewer order keys than
// linked members (StoredOrder, SO2), the missing keys are computed first, with the same result
// every time.

internal import PerdurePredicates

/// Changes positions in ordered relationships.
final class OrderEditor {
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let recording: EditRecording
  /// Whether an added member gets its stored position.
  var restoresOrder = false

  init(_ reading: Shared<ContextReading>, _ recording: EditRecording) {
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.recording = recording
  }

  /// The unsaved order of a relationship, which is about to be changed in place.
  private func editableDelta(of owner: ObjectReference, _ relationship: RelationshipShape) -> OrderDelta {
    pending[owner]?.willChange()
    return reading.links.orderDelta(of: owner, relationship)
  }

  /// Handles the addition of a member. Puts it at its stored position if `restoresOrder` is true
  /// and it has one. Otherwise puts it at the end, unless it has an unsaved position.
  func didEnter(_ member: ObjectReference, _ owner: ObjectReference, _ relationship: RelationshipShape) {
    guard let order = relationship.order else { return }
    let delta = editableDelta(of: owner, relationship)
    recording.recordPosition(of: member, in: owner, relationship, delta)
    let stored = delta.hidden[member] ?? reading.savedLinks.storedKey(of: member, under: owner, order)
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
    let delta = editableDelta(of: owner, relationship)
    recording.recordPosition(of: member, in: owner, relationship, delta)
    let stored = delta.placed[member]?.stored ?? delta.hidden[member]
    delta.hide(member, stored: stored ?? reading.savedLinks.storedKey(of: member, under: owner, order))
    setOrder(delta, owner, relationship)
  }

  /// Moves a member to a position among the other members, or after them if the position is nil.
  func move(
    _ member: ObjectReference, to position: Int?, of owner: ObjectReference, _ relationship: RelationshipShape
  ) {
    guard let order = relationship.order else { return }
    let delta = editableDelta(of: owner, relationship)
    let stored =
      delta.placed[member].map(\.stored) ?? reading.savedLinks.storedKey(of: member, under: owner, order)
    recording.recordPosition(of: member, in: owner, relationship, delta)
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
    let delta = editableDelta(of: owner, relationship)
    let stored =
      delta.placed[member].map(\.stored) ?? reading.savedLinks.storedKey(of: member, under: owner, order)
    recording.recordPosition(of: member, in: owner, relationship, delta, isSpread: isSpread)
    delta.place(member, at: key, stored: stored, isSpread: isSpread)
    setOrder(delta, owner, relationship)
  }

  /// Discards the unsaved moves of members that have a stored position.
  func leaveInStoredOrder(
    _ members: [ObjectReference], of owner: ObjectReference, _ relationship: RelationshipShape
  ) {
    guard let overlay = pending[owner], let delta = overlay.order(relationship.slot) else { return }
    overlay.willChange()
    for member in members where delta.placed[member]?.stored != nil { delta.forget(member) }
    setOrder(delta, owner, relationship)
  }

  private func setOrder(_ delta: OrderDelta, _ owner: ObjectReference, _ relationship: RelationshipShape) {
    let overlay = pending.overlay(for: owner)
    overlay.setOrder(delta, relationship.slot)
    pending.dropIfUnchanged(overlay)
  }

  /// - Parameter delta: The unsaved order, which must not contain the member.
  private func place(
    _ member: ObjectReference, stored: OrderKey?, at position: Int?, of owner: ObjectReference,
    _ relationship: RelationshipShape, _ delta: OrderDelta
  ) {
    if position == nil, let last = reading.links.lastPlace(of: owner, relationship, delta),
      let key = OrderKey.between(last.key, nil)
    {
      return delta.place(member, at: key, stored: stored)
    }
    let count = reading.links.orderedCount(of: owner, relationship, delta)
    let position = min(position ?? count, count)
    let before =
      position == 0 ? nil : reading.links.orderedPlace(at: position - 1, of: owner, relationship, delta)
    let behind =
      position == count ? nil : reading.links.orderedPlace(at: position, of: owner, relationship, delta)
    if let key = OrderKey.between(before?.key, behind?.key) {
      return delta.place(member, at: key, stored: stored)
    }
    spreadKeys(for: member, stored: stored, at: position, of: count, owner, relationship, delta)
  }

  /// Assigns new order keys to the neighbours of a position. Starts with 64 neighbours, and doubles
  /// the number until the keys have enough distance.
  private func spreadKeys(
    for member: ObjectReference, stored: OrderKey?, at position: Int, of count: Int, _ owner: ObjectReference,
    _ relationship: RelationshipShape, _ delta: OrderDelta
  ) {
    guard let order = relationship.order else { return }
    var width = 64
    while true {
      let range = max(0, position - width / 2)..<min(count, position + width / 2)
      let lower =
        range.lowerBound == 0
        ? nil : reading.links.orderedPlace(at: range.lowerBound - 1, of: owner, relationship, delta)?.key
      let upper =
        range.upperBound == count
        ? nil : reading.links.orderedPlace(at: range.upperBound, of: owner, relationship, delta)?.key
      if let keys = OrderKey.spread(range.count + 1, between: lower, upper) {
        var members = range.compactMap {
          reading.links.orderedPlace(at: $0, of: owner, relationship, delta)?.reference
        }
        members.insert(member, at: min(members.count, position - range.lowerBound))
        for (other, key) in zip(members, keys) {
          let known =
            other == member
            ? stored
            : delta.placed[other].map(\.stored)
              ?? reading.savedLinks.storedKey(of: other, under: owner, order)
          if other != member {
            recording.recordPosition(of: other, in: owner, relationship, delta, isSpread: true)
          }
          delta.place(other, at: key, stored: known, isSpread: other != member)
        }
        return
      }
      precondition(range.count < count, "Keys for all members must fit.")
      width *= 2
    }
  }

  /// Restores OD1 and OD2 for an object's ordered relationships. A move that only made space for
  /// others is discarded if another context has changed the member's stored position meanwhile.
  func reconcileOrders(_ overlay: ObjectOverlay) {
    for relationship in overlay.shape.relationships {
      guard let order = relationship.order else { continue }
      let old = overlay.order(relationship.slot)
      let links = overlay.delta(relationship.slot)
      if old == nil, links == nil { continue }
      // Reconciling is not an edit, so it must not cause another call of `willSave`.
      let wasTouched = overlay.isTouched
      defer { overlay.isTouched = wasTouched }
      overlay.setOrder(nil, relationship.slot)
      let delta = reading.links.orderDelta(of: overlay.reference, relationship)
      for place in old?.tree.added ?? [] {
        guard let placement = old?.placed[place.reference],
          reading.links.contains(overlay.reference, relationship, place.reference),
          !viewState.hasVanished(place.reference)
        else { continue }
        let stored = reading.savedLinks.storedKey(of: place.reference, under: overlay.reference, order)
        if placement.isSpread, stored != placement.stored || stored == nil { continue }
        delta.place(place.reference, at: place.key, stored: stored, isSpread: placement.isSpread)
      }
      for member in links?.added.ordered ?? [] where delta.placed[member] == nil {
        place(
          member, stored: reading.savedLinks.storedKey(of: member, under: overlay.reference, order),
          at: nil,
          of: overlay.reference, relationship, delta)
      }
      for member in links?.removed.ordered ?? [] {
        delta.hide(
          member, stored: reading.savedLinks.storedKey(of: member, under: overlay.reference, order))
      }
      overlay.setOrder(delta, relationship.slot)
    }
  }
}
