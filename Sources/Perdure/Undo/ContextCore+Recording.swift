// Ends and begins undo groups of a context.
//
// Overlays report edits of columns, and EditRecording reports all others. Merges, refreshes and
// rollbacks are not edits: they are excluded.

internal import PerdurePredicates

extension ContextCore {

  /// Runs a closure whose edits cannot be undone. The delete rules of earlier deletions are applied
  /// first, and belong to the group of these deletions. Changes by the delete rules of the
  /// closure's own deletions cannot be undone either.
  func withoutUndo<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    checkOwner()
    guard editing.recording.recorder != nil else { return try body() }
    editing.deleteRules.propagateDeletes()
    return try editing.recording.excludingFromUndo { () throws(E) in
      defer { editing.deleteRules.propagateDeletes() }
      return try body()
    }
  }

  // MARK: Groups

  /// Ends the group of the event, before edits that do not belong to it. The event continues.
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
    guard let recorder = editing.recording.recorder else { return }
    if !recorder.isInGroup {
      editing.deleteRules.propagateDeletes()
      endUndoGroupOfEvent()
    }
    recorder.beginClosure(name)
  }

  func endUndoGroup() {
    if completeUndoGroup() { endEventOfOperation() }
  }

  /// Ends a closure of a group. The event continues.
  ///
  /// - Returns: Whether the group has ended; false for an inner closure.
  @discardableResult
  func completeUndoGroup() -> Bool {
    guard let undoManager else { return false }
    editing.deleteRules.propagateDeletes()
    guard let group = undoManager.recorder.endClosure() else { return false }
    undoManager.complete(group, self)
    return true
  }

  /// Ends the event together with a group or with the save of a child, unless a hook or an observer
  /// has made the group or saved the child.
  func endEventOfOperation() {
    if activity.operationsEndEvents { endEvent() }
  }

  /// - Returns: The token of the group; nil if there is no manager, or if a closure of a group is
  ///   already running.
  func beginUndoTask(_ name: String) -> UndoTask? {
    checkOwner()
    guard let recorder = editing.recording.recorder, !recorder.isInGroup else { return nil }
    editing.deleteRules.propagateDeletes()
    endUndoGroupOfEvent()
    let token = UndoTask()
    recorder.beginTask(name, token)
    return token
  }

  func endUndoTask(_ token: UndoTask) {
    guard let undoManager else { return }
    editing.deleteRules.propagateDeletes()
    guard let group = undoManager.recorder.endTask(token) else { return }
    undoManager.complete(group, self)
    endEventOfOperation()
  }
}
