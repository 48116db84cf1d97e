// Begins and ends the undo groups of a context.
//
// Overlays report edits of columns, and EditRecording reports all others. Merges, refreshes and
// rollbacks are not edits: they are excluded. Delete rules that are applied again after a merge
// make no group of their own either. Their changes belong to the group of the deletion
// (ReopenedGroups.swift), so one undo restores all that the deletion has removed.

internal import PerdurePredicates

/// The undo manager of a context, and the beginning and end of its groups.
final class UndoGroups {
  private let registry: ObjectRegistry
  private let contents: ContentReader
  private let recording: EditRecording
  private let deleteRules: DeleteRules
  // The exclusivity of accesses is not checked at run time: no access calls code that accesses the
  // property.
  /// The undo manager; nil if there is none.
  @exclusivity(unchecked) private(set) var manager: ContextUndoManager?

  init(
    registry: ObjectRegistry, contents: ContentReader, recording: EditRecording,
    deleteRules: DeleteRules
  ) {
    self.registry = registry
    self.contents = contents
    self.recording = recording
    self.deleteRules = deleteRules
  }

  /// Replaces the manager, after the new one was attached to the context.
  ///
  /// - Returns: The previous manager, which the caller detaches. Its groups may have the last
  ///   reference to a value of a transient attribute.
  func replaceManager(_ new: ContextUndoManager?) -> ContextUndoManager? {
    let previous = manager
    registry.memory.pointee.recorder = new.map { .passUnretained($0.recorder) }
    manager = new
    new?.recorder.beginInterval()
    return previous
  }

  /// Runs a closure whose edits cannot be undone. The delete rules of earlier deletions are applied
  /// first, and their changes belong to the group of these deletions. Changes by the delete rules
  /// of the closure's own deletions cannot be undone either.
  func excluding<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    guard recording.recorder != nil else { return try body() }
    deleteRules.propagateDeletes()
    return try recording.excludingFromUndo { () throws(E) in
      defer { deleteRules.propagateDeletes() }
      return try body()
    }
  }

  // MARK: Groups

  /// Ends the group of the event, before edits that do not belong to it. The event continues.
  func endGroupOfEvent() {
    guard let manager else { return }
    if let group = manager.recorder.endEvent() { manager.complete(group, contents) }
    manager.callObservers()
  }

  func begin(_ name: String) {
    guard let recorder = recording.recorder else { return }
    if !recorder.isInGroup {
      deleteRules.propagateDeletes()
      endGroupOfEvent()
    }
    recorder.beginClosure(name)
  }

  /// Ends a closure of a group. The event continues.
  ///
  /// - Returns: Whether the group has ended; false for an inner closure, and without a manager.
  @discardableResult
  func end() -> Bool {
    if manager == nil { return false }
    deleteRules.propagateDeletes()
    // A hook may have replaced or removed the manager.
    guard let manager, let group = manager.recorder.endClosure() else { return false }
    manager.complete(group, contents)
    return true
  }

  /// - Returns: The token of the group; nil if there is no manager, or if a closure of a group is
  ///   already running.
  func beginTask(_ name: String) -> UndoTask? {
    guard let recorder = recording.recorder, !recorder.isInGroup else { return nil }
    deleteRules.propagateDeletes()
    endGroupOfEvent()
    let token = UndoTask()
    recorder.beginTask(name, token)
    return token
  }

  /// Ends the group of an asynchronous closure. The event continues.
  ///
  /// - Returns: Whether the group has ended; false if the group or the manager was removed
  ///   meanwhile.
  func endTask(_ token: UndoTask) -> Bool {
    if manager == nil { return false }
    // The closure has returned, so the token does not belong to the current task any more.
    UndoTask.$token.withValue(token) { deleteRules.propagateDeletes() }
    guard let manager, let group = manager.recorder.endTask(token) else { return false }
    manager.complete(group, contents)
    return true
  }

  /// Marks all edits as saved, after a save, and replaces the new objects that the save has merged
  /// into others. The context must still have the changes, and show the state before the save.
  ///
  /// A save that fails separates merged objects again, so this is not called before the commit.
  ///
  /// - Parameter isSaved: Whether the save has saved the changes of an object; nil for all.
  func didSave(_ pending: PendingChanges, _ isSaved: ((ObjectReference) -> Bool)? = nil) {
    guard let manager else { return }
    replaceMergedObjects(pending, manager)
    for reference in manager.recorder.hiddenSaves.deletions where isSaved?(reference) != false {
      let saved = contents.storedColumns(ofDeleted: reference)
      if !saved.isEmpty { manager.recorder.acceptSaved(saved, ofDeleted: reference) }
    }
    for (link, reference) in manager.recorder.hiddenSaves.links where isSaved?(reference) != false {
      if !contents.exists(reference) { manager.recorder.acceptRemoved(link, ofDeleted: reference) }
    }
    manager.recorder.closeAccepted()
    manager.didSave(contents, isSaved)
  }

  /// Notes the state after a save.
  func didShow(_ view: any StoreView) { manager?.history.savedSequence = view.sequence }

  /// Delays the calls of the undo manager's observers.
  ///
  /// - Returns: The manager, which must release the calls.
  func holdReports() -> ContextUndoManager? {
    manager?.holdReports()
    return manager
  }

  /// In all groups, replaces the new objects that a save has merged into others.
  private func replaceMergedObjects(_ pending: PendingChanges, _ manager: ContextUndoManager) {
    if pending.mergedObjects.isEmpty { return }
    let survivors = pending.mergedObjects.keys.map { ($0, pending.survivor(of: $0)) }
    manager.replace(
      MergedReferences(Dictionary(uniqueKeysWithValues: survivors), registry.graph) { [contents] place in
        contents.storedRelation(place)
      })
  }

  /// Undoes or redoes the last group of a direction.
  ///
  /// - Parameter body: Makes the changes. Returns the links that earlier groups restore
  ///   (UndoDeferral.swift).
  func revertLastGroup(_ direction: UndoHistory.Direction, _ body: () -> [UndoGroup.Change]) {
    manager?.revertLastGroup(direction, contents, body)
  }
}
