// The edits of a context are reported to the recorder of its undo manager here, and groups end
// here.
//
// Overlays report the edits of columns; all others are reported here. Everything that changes the
// context without being an edit (a merge, a refresh, a rollback) is excluded, and settles the open
// groups first.

internal import PerdurePredicates

extension ContextCore {
  @inline(__always)
  var recorder: EditRecorder? { undoManager?.recorder }

  // MARK: Edits

  /// An object was inserted.
  func recordInsertion(_ overlay: ObjectOverlay) {
    guard let recorder else { return }
    recorder.note(.object(overlay.reference)) { .absent }
    if recorder.hasInserted(overlay.reference) { overlay.noteInsertionInGroup() }
  }

  /// An object is about to be deleted or taken away.
  func recordDeletion(_ reference: ObjectReference) {
    recorder?.note(.object(reference)) { objectContent(reference) }
  }

  /// A link that no column holds is about to change.
  func recordLink(
    _ owner: ObjectReference, _ relationship: RelationshipShape, _ target: ObjectReference
  ) {
    guard let recorder else { return }
    let place = relationship.canonicalEnd(owner, target, inverse: inverse(of: relationship, at: target))
    recorder.note(place) { contains(owner, relationship, target) ? .linked : .absent }
  }

  /// The position of a member is about to change.
  ///
  /// - Parameter delta: The order with unsaved changes.
  func recordPosition(
    of member: ObjectReference, in owner: ObjectReference, _ relationship: RelationshipShape,
    _ delta: OrderDelta
  ) {
    recorder?.note(.position(of: member, in: owner, slot: relationship.slot)) {
      if let placement = delta.placed[member] { return .key(placement.key) }
      return delta.hidden[member] == nil ? .stored : .absent
    }
  }

  /// A transient attribute is about to be set.
  func recordTransient(_ reference: ObjectReference, _ slot: Int) {
    let place = EditedPlace.transient(reference, slot: slot)
    recorder?.note(place) { content(of: place) }
  }

  // MARK: Changes that are no edits

  /// Does something that no undo takes back, at the present state of the store.
  func excludingFromUndo<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    // The same one at the end, whatever manager the body sets.
    let recorder = recorder
    recorder?.beginExclusion()
    defer { recorder?.endExclusion() }
    return try body()
  }

  /// Does edits that no undo takes back. What the delete rules of earlier deletions change belongs
  /// to the group of these deletions; what those of its own deletions change belongs to none.
  func withoutUndo<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    checkOwner()
    guard recorder != nil else { return try body() }
    propagateDeletes()
    return try excludingFromUndo { () throws(E) in
      defer { propagateDeletes() }
      return try body()
    }
  }

  /// Called before the context moves to another state of the store.
  func settleUndoGroups() { recorder?.settle(self) }

  // MARK: Groups

  /// Ends the group of the event.
  func endUndoGroupOfEvent() {
    guard let undoManager, let group = undoManager.recorder.endEvent() else { return }
    undoManager.complete(group, self)
  }

  /// Lets what the hooks of a save change belong to the last group.
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

  /// - Returns: The token of the group; nil if there is no manager, or a group is running.
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
  /// A new object without links has another reference now.
  func renameInUndo(_ old: ObjectReference, _ new: ObjectReference) {
    guard let undoManager else { return }
    undoManager.recorder.rename(old, new)
    undoManager.history.rename(old, new)
  }
}
