// Connects and disconnects objects at both ends, by reference. Finds objects that another context
// has removed, but that unsaved changes concern.
//
// Unsaved changes stay if their object's row or their target is removed, because the user's edits
// must not be lost silently. But they are not shown: the object counts as deleted, no fetch finds
// it, its relationships are empty, and other relationships omit it. The next save refuses the
// changes.
//
// Invariants:
//   CX5. `vanished` contains the references that unsaved changes concern or link to and that have
//        no row in the view. New objects, and objects that are deleted in this context, are
//        excluded. The set may also contain references to which this applied earlier. Ids are never
//        reused, so a removed object stays removed.
//   CX6. The deltas of columns contain no reference in `vanished` at either end, even if the
//        columns do.

internal import PerdurePredicates

/// Changes relationships at both ends.
final class LinkEditor {
  private let graph: GraphSchema
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let objectEditor: ObjectEditor
  private let orderEditor: OrderEditor
  private let recording: EditRecording

  init(
    reading: Shared<ContextReading>, objectEditor: ObjectEditor, orderEditor: OrderEditor,
    recording: EditRecording
  ) {
    graph = reading.graph
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.objectEditor = objectEditor
    self.orderEditor = orderEditor
    self.recording = recording
  }

  /// Connects two objects at both ends. Disconnects the previous target of a to-one end.
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
      addLink(owner, relationship, target)
    case .transient:
      guard !reading.links.contains(owner, relationship, target) else { return }
      disconnectCurrentTarget(owner, relationship)
      if let inverse = graph.inverse(of: relationship, at: target) {
        disconnectCurrentTarget(target, inverse)
      }
      addLink(owner, relationship, target)
    }
    propagateAgain(owner)
    propagateAgain(target)
  }

  /// Disconnects two objects at both ends, if they are connected.
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

  /// Disconnects the previous target of a transient to-one relationship, before it gets another
  /// one.
  private func disconnectCurrentTarget(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    if !relationship.isToMany { clear(owner, relationship) }
  }

  /// Disconnects the target of a to-one relationship.
  func clear(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    let target =
      relationship.form == .column
      ? reading.rows.column(owner, relationship.slot) : reading.links.target(of: owner, relationship)
    guard let target else { return }
    disconnect(owner, relationship, target)
  }

  /// Schedules the delete rules of a deleted object again, after an edit or a merge has linked it.
  /// After a merge, the changes by these rules belong to the group of the deletion
  /// (ReopenedGroups.swift).
  func propagateAgain(_ reference: ObjectReference) {
    guard pending.isDeleted(reference), let overlay = pending[reference] else { return }
    if recording.recorder?.recordsNewEdits == false {
      pending.propagateAgain(overlay)
    } else {
      pending.propagateLater(overlay)
    }
  }

  /// Changes the delta of a relationship by one target.
  func changeDelta(
    _ owner: ObjectReference, _ slot: Int, of target: ObjectReference,
    _ change: (inout LinkDelta, ObjectReference) -> Void
  ) {
    let overlay = pending.overlay(for: owner)
    overlay.changeDelta(slot, of: target) { change(&$0, target) }
    pending.dropIfUnchanged(overlay)
  }

  private func addLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    changeLink(owner, relationship, target) { $0.add($1) }
    if relationship.inverseSlot == nil { pending[owner]?.noteLink(relationship.slot, target) }
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

  /// Updates the order of a relationship after a change of its links.
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

  /// Like `setColumn(_:_:_:)`, for a caller that knows the current reference in the column.
  func setColumn(
    _ source: ObjectReference, _ relationship: RelationshipShape, from old: ObjectReference?,
    to target: ObjectReference?
  ) {
    guard old != target else { return }
    objectEditor.setColumn(source, relationship.slot, target.map(Value.reference) ?? .null)
    if let old { leave(old, relationship, source) }
    if let target { enter(target, relationship, source) }
  }

  /// Updates the other end of a column that no longer contains a reference to `target`.
  private func leave(
    _ target: ObjectReference, _ relationship: RelationshipShape, _ source: ObjectReference
  ) {
    guard let inverse = graph.inverse(of: relationship, at: target) else { return }
    if inverse.form == .column {
      if reading.rows.column(target, inverse.slot) == source {
        objectEditor.setColumn(target, inverse.slot, .null)
      }
    } else {
      addIfDangling(target, inverse)
      if viewState.hasVanished(target) { return }
      if !viewState.hasVanished(source) { changeDelta(target, inverse.slot, of: source) { $0.remove($1) } }
      if inverse.order != nil { orderEditor.didLeave(source, target, inverse) }
    }
  }

  /// Under the delete rule no action, adds a target to `vanished` if it was removed. This rule
  /// keeps references to deleted objects in columns, and deltas must not contain them (CX6).
  func addIfDangling(_ target: ObjectReference, _ inverse: RelationshipShape) {
    if inverse.deleteRule == .noAction { addIfVanished(target) }
  }

  /// Updates the other end of a column that now contains a reference to `target`. Disconnects the
  /// previous partner of a to-one end.
  private func enter(
    _ target: ObjectReference, _ relationship: RelationshipShape, _ source: ObjectReference
  ) {
    guard let inverse = graph.inverse(of: relationship, at: target) else { return }
    if inverse.form != .column {
      addIfDangling(target, inverse)
      guard !viewState.hasVanished(target), !viewState.hasVanished(source) else { return }
    }
    switch inverse.form {
    case .column:
      if let previous = reading.rows.column(target, inverse.slot), previous != source {
        objectEditor.setColumn(previous, relationship.slot, .null)
      }
      objectEditor.setColumn(target, inverse.slot, .reference(source))
    case .inverseToOne:
      disconnectSources(of: target, relationship, except: source)
      changeDelta(target, inverse.slot, of: source) { $0.add($1) }
    case .inverseToMany:
      changeDelta(target, inverse.slot, of: source) { $0.add($1) }
      if inverse.order != nil { orderEditor.didEnter(source, target, inverse) }
    case .links, .transient: break
    }
  }

  /// Disconnects all objects that refer to a target in a one-to-one column, except `source`.
  func disconnectSources(
    of target: ObjectReference, _ relationship: RelationshipShape, except source: ObjectReference
  ) {
    guard let inverse = graph.inverse(of: relationship, at: target) else { return }
    for previous in reading.links.targets(of: target, inverse) where previous != source {
      objectEditor.setColumn(previous, relationship.slot, .null)
      changeDelta(target, inverse.slot, of: previous) { $0.remove($1) }
    }
  }

  // MARK: Removed objects

  /// Restores CX5 after the view has advanced.
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

  /// Whether the target of a column with an inverse was removed. Also finds targets that were
  /// deleted under the delete rule no action.
  func isLeftBehind(_ target: ObjectReference, at relationship: RelationshipShape) -> Bool {
    guard relationship.form == .column, let inverse = graph.inverse(of: relationship, at: target) else {
      return false
    }
    addIfDangling(target, inverse)
    return viewState.hasVanished(target)
  }

  /// Removes unsaved links to objects that another context has removed. Skips a relationship that
  /// is stored in a column.
  func dropLinksToVanished(_ owner: ObjectReference, _ relationship: RelationshipShape) {
    guard !viewState.vanished.isEmpty, !relationship.isInColumn,
      let delta = pending[owner]?.delta(relationship.slot)
    else { return }
    for target in delta.added.ordered where viewState.vanished.contains(target) {
      disconnect(owner, relationship, target)
    }
  }
}
