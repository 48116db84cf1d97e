// Reports the edits of a context to the recorder of its undo manager, and begins and ends groups.
//
// Overlays report edits of columns, and this file reports all others. Merges, refreshes and
// rollbacks are not edits: they are excluded. Before the context moves to another state of the
// store, the open groups read their contents (`settleUndoGroups`).

internal import PerdurePredicates

extension ContextCore {
  @inline(__always)
  var recorder: EditRecorder? { undoManager?.recorder }

  // MARK: Edits

  /// Records the insertion of an object.
  func recordInsertion(_ overlay: ObjectOverlay) {
    guard let recorder else { return }
    recorder.note(.object(overlay.reference)) { .absent }
    if recorder.hasInserted(overlay.reference) { overlay.noteInsertionInGroup() }
  }

  /// Records an object before it is deleted or removed.
  func recordDeletion(_ reference: ObjectReference) {
    recorder?.note(.object(reference)) { objectContent(reference) }
  }

  /// Records a link before it changes. The link must not be stored in a column.
  func recordLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard let recorder else { return }
    let place = relationship.canonicalEnd(owner, target, inverse: inverse(of: relationship, at: target))
    recorder.note(place) { contains(owner, relationship, target) ? .linked : .absent }
  }

  /// Records the position of a member before it changes.
  ///
  /// - Parameter delta: The unsaved changes of the order.
  func recordPosition(
    of member: ObjectReference, in owner: ObjectReference, _ relationship: RelationshipShape,
    _ delta: OrderDelta
  ) {
    recorder?.note(.position(of: member, in: owner, slot: relationship.slot)) {
      if let placement = delta.placed[member] { return .key(placement.key) }
      return delta.hidden[member] == nil ? .stored : .absent
    }
  }

  /// Records a transient attribute before it is set.
  func recordTransient(_ reference: ObjectReference, _ slot: Int) {
    let place = EditedPlace.transient(reference, slot: slot)
    recorder?.note(place) { content(of: place) }
  }

  // MARK: Changes that are not edits

  /// Runs a closure whose changes cannot be undone. If it moves the context to another state of the
  /// store, call `settleUndoGroups()` first.
  func excludingFromUndo<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    // The same recorder ends the exclusion, even if the body sets another manager.
    let recorder = recorder
    recorder?.beginExclusion()
    defer { recorder?.endExclusion() }
    return try body()
  }

  /// Runs a closure whose edits cannot be undone. The delete rules of earlier deletions are applied
  /// first, and belong to the group of these deletions. Changes by the delete rules of the
  /// closure's own deletions cannot be undone either.
  func withoutUndo<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    checkOwner()
    guard recorder != nil else { return try body() }
    propagateDeletes()
    return try excludingFromUndo { () throws(E) in
      defer { propagateDeletes() }
      return try body()
    }
  }

  /// Reads the contents that open groups have not read yet. Called before the context moves to
  /// another state of the store.
  func settleUndoGroups() { recorder?.settle(self) }

  // MARK: Groups

  /// Ends the group of the event.
  func endUndoGroupOfEvent() {
    guard let undoManager, let group = undoManager.recorder.endEvent() else { return }
    undoManager.complete(group, self)
  }

  /// Adds the changes by the hooks of a save to the last group, unless the event has newer edits.
  func continueUndoGroup() {
    guard let undoManager, !undoManager.recorder.hasEventEdits else { return }
    undoManager.continueLastGroup()
  }

  func beginUndoGroup(_ name: String) {
    checkOwner()
    guard let recorder else { return }
    if !recorder.isInGroup {
      propagateDeletes()
      endUndoGroupOfEvent()
    }
    recorder.beginClosure(name)
  }

  func endUndoGroup() {
    guard let undoManager else { return }
    propagateDeletes()
    if let group = undoManager.recorder.endClosure() { undoManager.complete(group, self) }
  }

  /// - Returns: The token of the group; nil if there is no manager, or if a closure of a group is
  ///   already running.
  func beginUndoTask(_ name: String) -> UndoTask? {
    checkOwner()
    guard let recorder, !recorder.isInGroup else { return nil }
    propagateDeletes()
    endUndoGroupOfEvent()
    let token = UndoTask()
    recorder.beginTask(name, token)
    return token
  }

  func endUndoTask(_ token: UndoTask) {
    guard let undoManager else { return }
    propagateDeletes()
    if let group = undoManager.recorder.endTask(token) { undoManager.complete(group, self) }
  }
}

extension ContextCore {
  /// Replaces the reference of a new object without links.
  func renameInUndo(_ old: ObjectReference, _ new: ObjectReference) {
    guard let undoManager else { return }
    undoManager.recorder.rename(old, new)
    undoManager.history.rename(old, new)
  }
}
