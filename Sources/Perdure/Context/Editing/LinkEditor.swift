// Connects and disconnects objects, both ends at once, by reference; and what another context has removed, and is
// changed or linked to here all the same.
//
// Unsaved changes outlive the row that they were made to, and the object that they lead to: what somebody
// typed is not thrown away unasked. Yet nothing is there any more, so nothing of it shows: such an object
// counts as deleted, no fetch finds it, and no relationship leads to it or from it. The changes stay for the
// save to refuse.
//
// Invariants:
//   C5. `vanished` has every reference that an unsaved change is about or leads to, that is not new and not
//       deleted here, and that has no row in the view. It may have more: what was one of these once. Ids are
//       never given out again, so what has vanished stays so.
//   C6. The deltas of columns have none of them at either end, whatever the columns hold.

internal import PerdurePredicates

/// Changes relationships at both ends.
final class LinkEditor {
  private let graph: GraphSchema
  private let viewState: ViewState
  private let pending: PendingChanges
  private let reading: ContextReading
  private let objectEditor: ObjectEditor
  private let orderEditor: OrderEditor
  private let recording: EditRecording

  init(
    _ reading: ContextReading, _ objectEditor: ObjectEditor, _ orderEditor: OrderEditor,
    _ recording: EditRecording
  ) {
    graph = reading.graph
    viewState = reading.viewState
    pending = reading.pending
    self.reading = reading
    self.objectEditor = objectEditor
    self.orderEditor = orderEditor
    self.recording = recording
  }

  /// Connects two objects, both sides at once. What a to-one side held before is disconnected.
  func connect(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    switch relationship.form {
    case .column: setColumn(owner, relationship, target)
    case .inverseToOne, .inverseToMany:
      guard let inverse = graph.inverse(of: relationship, at: target) else { return }
      setColumn(target, inverse, owner)
    case .links:
      guard !reading.links.contains(owner, relationship, target) else { return }
      changeLink(owner, relationship, target) { $0.add($1) }
    case .transient:
      guard !reading.links.contains(owner, relationship, target) else { return }
      makeRoom(owner, relationship)
      if let inverse = graph.inverse(of: relationship, at: target) { makeRoom(target, inverse) }
      changeLink(owner, relationship, target) { $0.add($1) }
    }
    propagateAgain(owner)
    propagateAgain(target)
  }

  /// Disconnects two objects, both sides at once, if they are connected.
  func disconnect(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard reading.links.contains(owner, relationship, target) else { return }
    switch relationship.form {
    case .column: setColumn(owner, relationship, from: target, to: nil)
    case .inverseToOne, .inverseToMany:
      guard let inverse = graph.inverse(of: relationship, at: target) else { return }
      setColumn(target, inverse, from: owner, to: nil)
    case .links, .transient: changeLink(owner, relationship, target) { $0.remove($1) }
    }
  }

  /// A transient relationship that is to-one lets go of what it has, before it gets another object.
  private func makeRoom(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    if !relationship.isToMany { clear(owner, relationship) }
  }

  /// Disconnects whatever a to-one relationship holds.
  func clear(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    let target =
      relationship.form == .column
      ? reading.rows.column(owner, relationship.slot) : reading.links.target(of: owner, relationship)
    guard let target else { return }
    disconnect(owner, relationship, target)
  }

  /// What is linked to a deleted object after its delete rules were applied has to follow them too.
  func propagateAgain(_ reference: ObjectReference) {
    guard pending.isDeleted(reference), let overlay = pending[reference] else { return }
    pending.propagateLater(overlay)
  }

  /// Changes how a relationship differs from the store by one object at the other end.
  func changeDelta(
    _ owner: ObjectReference, _ slot: Int, of target: ObjectReference,
    _ change: (inout LinkDelta, ObjectReference) -> Void
  ) {
    let overlay = pending.overlay(for: owner)
    overlay.changeDelta(slot, of: target) { change(&$0, target) }
    pending.dropIfUnchanged(overlay)
  }

  private func changeLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference,
    _ change: (inout LinkDelta, ObjectReference) -> Void
  ) {
    recording.recordLink(owner, relationship, target)
    changeDelta(owner, relationship.slot, of: target, change)
    followLink(owner, relationship, target)
    guard let inverse = graph.inverse(of: relationship, at: target) else { return }
    if owner == target, inverse.slot == relationship.slot { return }
    changeDelta(target, inverse.slot, of: owner, change)
    followLink(target, inverse, owner)
  }

  /// The order of a relationship follows a change of its links.
  private func followLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard relationship.order != nil else { return }
    if reading.links.contains(owner, relationship, target) {
      orderEditor.didEnter(target, owner, relationship)
    } else {
      orderEditor.didLeave(target, owner, relationship)
    }
  }

  /// Changes a to-one column and the other ends of its old and its new target.
  func setColumn(
    _ source: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference?
  ) {
    setColumn(source, relationship, from: reading.rows.column(source, relationship.slot), to: target)
  }

  /// As above, where it is known what the column holds.
  func setColumn(
    _ source: ObjectReference, _ relationship: RelationshipShape, from old: ObjectReference?,
    to target: ObjectReference?
  ) {
    guard old != target else { return }
    objectEditor.setColumn(source, relationship.slot, target.map(Value.reference) ?? .null)
    if let old { leave(old, relationship, source) }
    if let target { enter(target, relationship, source) }
  }

  /// The other end of a column no longer has `source`.
  private func leave(
    _ target: ObjectReference, _ relationship: RelationshipShape, _ source: ObjectReference
  ) {
    guard let inverse = graph.inverse(of: relationship, at: target) else { return }
    if inverse.form == .column {
      if reading.rows.column(target, inverse.slot) == source {
        objectEditor.setColumn(target, inverse.slot, .null)
      }
    } else {
      forgetDangling(target, inverse)
      if viewState.hasVanished(target) { return }
      if !viewState.hasVanished(source) { changeDelta(target, inverse.slot, of: source) { $0.remove($1) } }
      if inverse.order != nil { orderEditor.didLeave(source, target, inverse) }
    }
  }

  /// A relationship with the rule no action leaves references to what is deleted: nothing changes there (C6).
  func forgetDangling(_ target: ObjectReference, _ inverse: RelationshipShape) {
    if inverse.deleteRule == .noAction { addIfVanished(target) }
  }

  /// The other end of a column has `source` now; a to-one end lets go of what it had.
  private func enter(
    _ target: ObjectReference, _ relationship: RelationshipShape, _ source: ObjectReference
  ) {
    guard let inverse = graph.inverse(of: relationship, at: target) else { return }
    if inverse.form != .column {
      forgetDangling(target, inverse)
      guard !viewState.hasVanished(target), !viewState.hasVanished(source) else { return }
    }
    switch inverse.form {
    case .column:
      if let previous = reading.rows.column(target, inverse.slot), previous != source {
        objectEditor.setColumn(previous, relationship.slot, .null)
      }
      objectEditor.setColumn(target, inverse.slot, .reference(source))
    case .inverseToOne:
      leaveAll(target, relationship, but: source)
      changeDelta(target, inverse.slot, of: source) { $0.add($1) }
    case .inverseToMany:
      changeDelta(target, inverse.slot, of: source) { $0.add($1) }
      if inverse.order != nil { orderEditor.didEnter(source, target, inverse) }
    case .links, .transient: break
    }
  }

  /// The other end of a one-to-one column loses all sources but one.
  func leaveAll(_ target: ObjectReference, _ relationship: RelationshipShape, but source: ObjectReference) {
    guard let inverse = graph.inverse(of: relationship, at: target) else { return }
    for previous in reading.links.targets(of: target, inverse) where previous != source {
      objectEditor.setColumn(previous, relationship.slot, .null)
      changeDelta(target, inverse.slot, of: previous) { $0.remove($1) }
    }
  }

  // MARK: Removed objects

  /// Restores C5 after the view has moved.
  func findVanished() {
    viewState.vanished = []
    for overlay in pending.ordered.joined() {
      addIfVanished(overlay.reference)
      for slot in overlay.shape.columnSlots {
        if let target = overlay.reference(slot) { addIfVanished(target) }
      }
      for (_, delta) in overlay.deltas {
        for target in delta.added.ordered { addIfVanished(target) }
      }
    }
  }

  func addIfVanished(_ reference: ObjectReference) {
    if let overlay = pending[reference], overlay.isNew || overlay.isDeleted { return }
    guard !viewState.vanished.contains(reference) else { return }
    do {
      if try viewState.view.version(of: reference) == nil { viewState.vanished.insert(reference) }
    } catch {
      viewState.noteReadFailure(error, reference)
    }
  }

  /// Whether a reference leads to nothing, because the object there was deleted under the rule no action.
  func isLeftBehind(_ target: ObjectReference, at relationship: RelationshipShape) -> Bool {
    guard relationship.form == .column, let inverse = graph.inverse(of: relationship, at: target) else {
      return false
    }
    forgetDangling(target, inverse)
    return viewState.hasVanished(target)
  }

  /// Lets go of unsaved links to what has vanished.
  func letGoOfVanishedTargets(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    guard !viewState.vanished.isEmpty, !relationship.isInColumn,
      let delta = pending[owner]?.delta(relationship.slot)
    else { return }
    for target in delta.added.ordered where viewState.vanished.contains(target) {
      disconnect(owner, relationship, target)
    }
  }
}
