// The steps of a save:
//
//   1. delete rules            propagateDeletes
//   2. hooks of the classes    callSaveHooks: willSave until nothing changes, then validation. Then
//                              the attributes with the time of the save are set (setSaveTimes)
//   3. validation              RuleValidation: all violations in one error, with those that the
//                              hooks have found
//   4. the commit              SavePlan: rows, links and preconditions
//   5. the store's result      one atomic commit, or a conflict and no change (CX4). Each of
//                              several stores commits separately, after all have checked
//                              (JoinedStore, JO3)
//   6. merging                 after a conflict, the merge policy decides, and all steps are
//                              repeated; or the context is restored and the error is thrown
//                              (SaveRun)
//   7. the context follows     overlays are dropped, instances get their saved rows, and the view
//                              becomes the state of the commit
//   8. didSave                 changes by this hook are unsaved

internal import PerdurePredicates

/// Runs the steps of a save once.
final class SaveSteps {
  private let viewState: ViewState
  private let pending: PendingChanges
  private let deleteRules: DeleteRules
  private let recording: EditRecording
  private let undoGroups: UndoGroups
  private let stores: StoreAssignment
  private let saveHooks: SaveHookCaller
  private let childIntake: ChildIntake
  private let saveCommit: SaveCommit
  private let eventHub: EventHub
  private let eventEnd: EventEnd

  init(
    viewState: ViewState, pending: PendingChanges, deleteRules: DeleteRules,
    recording: EditRecording, undoGroups: UndoGroups, saving: ContextSaving, eventHub: EventHub,
    eventEnd: EventEnd
  ) {
    self.viewState = viewState
    self.pending = pending
    self.deleteRules = deleteRules
    self.recording = recording
    self.undoGroups = undoGroups
    stores = saving.stores
    saveHooks = saving.saveHooks
    childIntake = saving.childIntake
    saveCommit = saving.saveCommit
    self.eventHub = eventHub
    self.eventEnd = eventEnd
  }

  /// Runs the steps from the delete rules to `didSave` once.
  ///
  /// - Parameter isFirst: Whether nothing has been merged yet. The beginning of a save is reported
  ///   once.
  /// - Returns: The conflict with saves of other contexts, if there is one. Then nothing has
  ///   changed except by hooks.
  func run(isFirst: Bool) throws(PerdureError) -> StoreConflict? {
    if !pending.isEmpty { try viewState.checkIsOpen() }
    deleteRules.propagateDeletes()
    // Only hooks and observers notice the end of the event.
    if pending.containsEntity(where: \.hasSaveHooks) || eventHub.isObserved { eventEnd.endEvent() }
    try viewState.throwReadFailure()
    guard !pending.isEmpty else {
      undoGroups.didSave(pending)
      return nil
    }
    try checkMayWrite()
    if isFirst { eventHub.tell(eventHub.pendingNews(.willSave)) }
    deleteRules.propagateDeletes()
    let refusals = try callSaveHooks()
    if pending.isEmpty {
      undoGroups.endGroupOfEvent()
      undoGroups.didSave(pending)
      return nil
    }
    // The times are not edits of the program, so an undo does not restore them.
    let times = recording.excludingFromUndo { saveHooks.setSaveTimes() }
    undoGroups.endGroupOfEvent()
    var isSaved = false
    defer { if !isSaved { recording.excludingFromUndo { saveHooks.restore(times) } } }
    let conflict = try saveChanges(refusals)
    isSaved = conflict == nil
    return conflict
  }

  /// Checks and commits the changes, and calls `didSave`.
  ///
  /// - Parameter refusals: The violations that the hooks have found.
  private func saveChanges(
    _ refusals: [PerdureError.Detail]
  ) throws(PerdureError) -> StoreConflict? {
    try checkMayWrite()
    // No code of the program may run between the plan and the end of `commit`, which drops all
    // unsaved changes.
    let holding = undoGroups.holdReports()
    defer { holding?.releaseReports() }
    // Reads before the last check for failed reads, so that no saved group lacks a content (UG4).
    recording.readUndoContents()
    let plan = try saveCommit.plan(refusals)
    // Conflicts are reported before violations: a removed object violates every rule.
    if let conflict = plan.conflict { return conflict }
    let saved = saveHooks.objectsForDidSave()
    var news = eventHub.pendingNews(.didSave, isSaved: true)
    let before = viewState.view.sequence
    if plan.isEmpty, !childIntake.changesTransientsOfParent {
      saveCommit.follow(viewState.view, WrittenRows(viewState.graph.store))
    } else if let conflict = try commit(plan.change, saved, news) {
      return conflict
    }
    // Without another commit in between, the sequence number is that of this commit.
    if viewState.view.countsCommits, viewState.view.sequence == before + 1 {
      news?.commitSequence = viewState.view.sequence
    }
    saveHooks.callDidSave(saved)
    eventHub.tell(news)
    return nil
  }

  /// Calls the hooks of the classes, and returns the violations that they have found.
  private func callSaveHooks() throws(PerdureError) -> [PerdureError.Detail] {
    guard pending.containsEntity(where: \.hasSaveHooks) else { return [] }
    return try recording.callingSaveHooks { () throws(PerdureError) in try saveHooks.callSaveHooks() }
  }

  /// Throws if changes are to be written to a read-only store, or if a new object has no id.
  /// Changes that write nothing are allowed.
  private func checkMayWrite() throws(PerdureError) {
    if viewState.followsOthers, pending.contains(where: stores.isWrittenToReadOnlyStore) {
      throw viewState.isReadOnly
        ? PerdureError(
          .saveFailed, "The store was opened for reading only. Nothing was saved. Open it for writing.")
        : stores.refusalToWrite()
    }
    try stores.checkIDs()
  }

  /// Commits a change. If only some of several stores have committed, reports their changes and
  /// throws.
  private func commit(
    _ change: StoreChange, _ saved: [(object: ManagedObject, state: ObjectState)], _ news: ContextNews?
  ) throws(PerdureError) -> StoreConflict? {
    switch try saveCommit.commit(change) {
    case .complete: return nil
    case .refused(let conflict): return conflict
    case .incomplete(let incomplete, let failure):
      saveHooks.callDidSave(saved.filter { saveCommit.isCommitted($0.object.reference, by: incomplete) })
      eventHub.tell(news?.filtered { saveCommit.isCommitted($0, by: incomplete) })
      throw failure
    }
  }
}
