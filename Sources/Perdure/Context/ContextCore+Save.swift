// The steps of a save:
//
//   1. delete rules            propagateDeletes
//   2. hooks of the classes    callSaveHooks: willSave until nothing changes, then validation. Then
//                              the attributes with the time of the save are set (setSaveTimes)
//   3. validation              RuleValidation: all violations in one error, with those that the
//                              hooks have found
//   4. the commit              SavePlan: rows, links and preconditions
//   5. the store's result      one atomic commit, or a conflict and no change (C4). Each of several
//                              stores commits separately, after all have checked (JoinedStore, J3)
//   6. merging                 after a conflict, the merge policy decides, and all steps are repeated;
//                              or the context is restored and the error is thrown
//                              (ContextCore+SaveMerging)
//   7. the context follows     overlays are dropped, instances get their saved rows, and the view
//                              becomes the state of the commit
//   8. didSave                 its changes are unsaved changes

internal import PerdurePredicates

extension ContextCore {
  func save() throws(PerdureError) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    saving.saveHooks.checkSaveIsPossible()
    activity.isSaving = true
    defer { activity.isSaving = false }
    try editing.refusal.throwRefusedChanges()
    if !pending.mergedObjects.isEmpty { pending.mergedObjects = [:] }
    if let conflict = try trySave(isFirst: true) { try saveMerging(conflict) }
  }

  /// Runs the steps from the delete rules to `didSave` once.
  ///
  /// - Parameter isFirst: Whether nothing has been merged yet. The beginning of a save is reported
  ///   once.
  /// - Returns: The conflict with saves of other contexts, if there is one. Then nothing has
  ///   changed except by hooks.
  func trySave(isFirst: Bool) throws(PerdureError) -> StoreConflict? {
    if !pending.isEmpty { try viewState.checkIsOpen() }
    editing.deleteRules.propagateDeletes()
    // Only hooks and observers notice the end of the event.
    if pending.containsEntity(where: \.hasSaveHooks) || eventHub.isObserved { endEvent() }
    try viewState.throwReadFailure()
    guard !pending.isEmpty else {
      undoManager?.didSave()
      return nil
    }
    try checkMayWrite()
    if isFirst { eventHub.tell(eventHub.pendingNews(.willSave)) }
    editing.deleteRules.propagateDeletes()
    continueUndoGroup()
    let refusals: [PerdureError.Detail]
    do { refusals = try saving.saveHooks.callSaveHooks() } catch {
      endUndoGroupOfEvent()
      throw error
    }
    if pending.isEmpty {
      endUndoGroupOfEvent()
      undoManager?.didSave()
      return nil
    }
    saving.saveHooks.setSaveTimes()
    endUndoGroupOfEvent()
    try checkMayWrite()
    let plan = try saving.saveCommit.plan(refusals)
    // Conflicts are reported first: an object that was removed would violate every rule.
    if let conflict = plan.conflict { return conflict }
    let saved = saving.saveHooks.objectsToTell()
    var news = eventHub.pendingNews(.didSave, isSaved: true)
    let before = viewState.view.sequence
    editing.recording.settleUndoGroups()
    if plan.isEmpty, !saving.childIntake.changesTransientsOfParent {
      follow(viewState.view, WrittenRows())
    } else if let conflict = try commit(plan.change, saved, news) {
      return conflict
    }
    // Without another commit in between, the sequence number is that of this commit.
    if viewState.view.countsCommits, viewState.view.sequence == before + 1 {
      news?.commitSequence = viewState.view.sequence
    }
    saving.saveHooks.callDidSave(saved)
    eventHub.tell(news)
    return nil
  }

  /// Refuses changes that would be written to a read-only store. A save may have changes that write
  /// nothing.
  private func checkMayWrite() throws(PerdureError) {
    if viewState.followsOthers, pending.contains(where: saving.stores.isWrittenToReadOnlyStore) {
      throw viewState.isReadOnly
        ? PerdureError(
          .saveFailed, "The store was opened for reading only. Nothing was saved. Open it for writing.")
        : saving.stores.refusalToWrite()
    }
    try saving.stores.checkIDs()
  }

  /// Checks the unsaved changes as a save does before the commit. The validation of the classes
  /// runs first, because it may change values.
  func validate() throws(PerdureError) {
    checkOwner()
    editing.deleteRules.propagateDeletes()
    try viewState.throwReadFailure()
    let refusals = saving.classValidation.validateObjects()
    editing.deleteRules.propagateDeletes()
    // Blocks hooks (W2): they could change the objects that are being checked.
    activity.isPlanning = true
    defer { activity.isPlanning = false }
    var violations: [PerdureError.Detail] = []
    for overlay in pending.ordered.joined() { saving.ruleValidation.addViolations(overlay, to: &violations) }
    violations.addNew(refusals)
    try viewState.throwReadFailure()
    if !violations.isEmpty { throw .validation(violations) }
  }

  /// Commits, and moves the context to the state of the commit. Returns the conflict if the store
  /// has refused.
  private func commit(
    _ change: StoreChange, _ saved: [(object: ManagedObject, state: ObjectState)], _ news: ContextNews?
  ) throws(PerdureError) -> StoreConflict? {
    viewState.statistics.commitRequestCount += 1
    do {
      let newest = try saving.saveCommit.commitToStore(change)
      let isNext = newest.countsCommits && newest.sequence == viewState.view.sequence + 1
      follow(newest, isNext ? change.puts : nil)
      viewState.watched = [:]
      return nil
    } catch let conflict as StoreConflict {
      return conflict
    } catch let incomplete as IncompleteCommit {
      let failure = PerdureError.incomplete(incomplete, in: reading)
      follow(incomplete)
      saving.saveHooks.callDidSave(
        saved.filter { saving.saveCommit.isCommitted($0.object.reference, by: incomplete) })
      eventHub.tell(news?.filtered { saving.saveCommit.isCommitted($0, by: incomplete) })
      throw failure
    } catch {
      throw .refusal(error, in: reading)
    }
  }

  /// Moves the context to the state of the commit, and drops the saved changes.
  ///
  /// - Parameter rows: The saved rows, if the new view is the state right after the commit.
  private func follow(_ newView: any StoreView, _ rows: WrittenRows?) {
    undoManager?.didSave()
    viewState.view = newView
    reading.layerFollower.dropLayer()
    viewState.vanished = []
    pending.eventStarts = [:]
    viewState.beginEpoch()
    saving.saveCommit.showSavedRows(saving.saveCommit.settle(pending.removeAll()), rows)
    viewState.linksChanged()
  }

  /// Moves the context to the state of an incomplete commit. Drops the saved changes and keeps the
  /// others.
  private func follow(_ incomplete: IncompleteCommit) {
    viewState.view = incomplete.view
    pending.eventStarts = pending.eventStarts.filter {
      !saving.saveCommit.isCommitted($0.key, by: incomplete)
    }
    viewState.beginEpoch()
    let settled = pending.removeAll {
      saving.saveCommit.isCommitted(ObjectReference(entity: $0, id: 0), by: incomplete)
    }
    saving.saveCommit.showSavedRows(saving.saveCommit.settle(settled), nil)
    viewState.linksChanged()
  }
}
