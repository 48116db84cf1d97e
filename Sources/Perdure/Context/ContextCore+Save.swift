// The save, step by step:
//
//   1. delete rules            propagateDeletes
//   2. the classes' own hooks  callSaveHooks: willSave until nothing changes, then their validation
//                              Then the attributes of derivation now() are set (SaveTimes)
//   3. validation              Validation: every broken rule in one error, with what the hooks have found
//   4. the commit              SavePlan: rows, links and preconditions
//   5. the store's answer      one atomic commit, or a conflict and nothing has changed (C4); with several stores one
//                              each, all of which are asked first (JoinedStore, J3)
//   6. merging                 if others were faster, the policy decides and all begins again, or the context is as
//                              it was before and the error says why (ContextCore+SaveMerging)
//   7. the context follows     overlays go, instances get their saved rows, the view is the commit's
//   8. didSave                 what it changes is pending

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

  /// The steps from the delete rules to `didSave`, once.
  ///
  /// - Parameter isFirst: Whether nothing has been merged yet. That a save begins is told once.
  /// - Returns: Why the store has refused, where others were faster; then nothing has changed but by hooks.
  func trySave(isFirst: Bool) throws(PerdureError) -> StoreConflict? {
    if !pending.isEmpty { try viewState.checkIsOpen() }
    editing.deleteRules.propagateDeletes()
    // Only hooks could ask.
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
    // First: what is not there any more breaks every rule.
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
    // With no other commit in between, it is this one's.
    if viewState.view.countsCommits, viewState.view.sequence == before + 1 {
      news?.commitSequence = viewState.view.sequence
    }
    saving.saveHooks.callDidSave(saved)
    eventHub.tell(news)
    return nil
  }

  /// Where the store is only read, a save can settle what it does not write.
  private func checkMayWrite() throws(PerdureError) {
    if viewState.followsOthers, pending.contains(where: saving.stores.isWrittenToReadOnlyStore) {
      throw viewState.isReadOnly
        ? PerdureError(
          .saveFailed, "The store was opened for reading only. Nothing was saved. Open it for writing.")
        : saving.stores.refusalToWrite()
    }
    try saving.stores.checkIDs()
  }

  /// What a save would find, before it asks the store. The classes come first: they may change values.
  func validate() throws(PerdureError) {
    checkOwner()
    editing.deleteRules.propagateDeletes()
    try viewState.throwReadFailure()
    let refusals = saving.classValidation.validateObjects()
    editing.deleteRules.propagateDeletes()
    // W2: who woke up now might change what is being looked at.
    activity.isPlanning = true
    defer { activity.isPlanning = false }
    var violations: [PerdureError.Detail] = []
    for overlay in pending.ordered.joined() { saving.ruleValidation.addViolations(overlay, to: &violations) }
    violations.addNew(refusals)
    try viewState.throwReadFailure()
    if !violations.isEmpty { throw .validation(violations) }
  }

  /// Commits, and follows to what was committed; or says why the store has refused.
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

  /// What was pending is stored now.
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

  /// A part of what was pending is stored now, and the rest goes on being pending.
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
