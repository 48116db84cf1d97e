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
    let plan = try plan(refusals)
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

  /// Makes the commit, unless a rule is broken.
  ///
  /// - Parameter refusals: What the classes' own validation has found.
  private func plan(_ refusals: [PerdureError.Detail]) throws(PerdureError) -> SavePlan {
    activity.isPlanning = true
    defer { activity.isPlanning = false }
    var violations: [PerdureError.Detail] = []
    let changed = pending.ordered
    var plan = SavePlan(
      reading, saving.mergeRules, durability: durability, count: changed.reduce(0) { $0 + $1.count })
    // One change after the other, so that none leaves the cache between being checked and being written.
    for overlay in changed.joined() {
      let count = violations.count
      saving.ruleValidation.addViolations(overlay, to: &violations)
      // Of what has just been refused no row may be able to hold it.
      if violations.count == count || overlay.fitsRow { plan.add(overlay) }
    }
    plan.watch(watchedPreconditions)
    plan.finish()
    try viewState.throwReadFailure()
    if plan.conflict != nil { return plan }
    violations.addNew(refusals)
    if !violations.isEmpty { throw .validation(violations) }
    return plan
  }

  /// Commits, and follows to what was committed; or says why the store has refused.
  private func commit(
    _ change: StoreChange, _ saved: [(object: ManagedObject, state: ObjectState)], _ news: ContextNews?
  ) throws(PerdureError) -> StoreConflict? {
    viewState.statistics.commitRequestCount += 1
    do {
      let newest = try commitToStore(change)
      let isNext = newest.countsCommits && newest.sequence == viewState.view.sequence + 1
      follow(newest, isNext ? change.puts : nil)
      viewState.watched = [:]
      return nil
    } catch let conflict as StoreConflict {
      return conflict
    } catch let incomplete as IncompleteCommit {
      let failure = PerdureError.incomplete(incomplete, in: reading)
      follow(incomplete)
      saving.saveHooks.callDidSave(saved.filter { isCommitted($0.object.reference, by: incomplete) })
      eventHub.tell(news?.filtered { isCommitted($0, by: incomplete) })
      throw failure
    } catch {
      throw .refusal(error, in: reading)
    }
  }

  /// Commits a change to the store. A parent context gets the transient values too.
  private func commitToStore(_ change: StoreChange) throws -> any StoreView {
    guard saving.childIntake.changesTransientsOfParent, let parent = store as? ParentStore else {
      return try store.commit(change)
    }
    return try parent.commit(change, saving.childIntake.changedTransients())
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
    showSavedRows(settle(pending.removeAll()), rows)
    viewState.linksChanged()
  }

  /// A part of what was pending is stored now, and the rest goes on being pending.
  private func follow(_ incomplete: IncompleteCommit) {
    viewState.view = incomplete.view
    pending.eventStarts = pending.eventStarts.filter { !isCommitted($0.key, by: incomplete) }
    viewState.beginEpoch()
    let settled = pending.removeAll { isCommitted(ObjectReference(entity: $0, id: 0), by: incomplete) }
    showSavedRows(settle(settled), nil)
    viewState.linksChanged()
  }

  private func isCommitted(_ reference: ObjectReference, by incomplete: IncompleteCommit) -> Bool {
    incomplete.committed.contains(graph.place(ofEntity: reference.entityNumber))
  }

  /// Forgets changes that were saved.
  ///
  /// - Returns: The instances that lack their saved rows.
  private func settle(_ all: consuming [[ObjectOverlay]]) -> [SavedInstance] {
    var groups = all
    var saved: [SavedInstance] = []
    for position in groups.indices {
      // Taken out, so that the array is nobody else's and shrinks in place.
      var overlays: [ObjectOverlay] = []
      swap(&overlays, &groups[position])
      while let overlay = overlays.popLast() {
        if let instance = settle(overlay) { saved.append(instance) }
      }
    }
    return saved
  }

  private func settle(_ overlay: ObjectOverlay) -> SavedInstance? {
    transientState.dropTransientsBefore(overlay)
    transientState.settleTransientLinks(overlay)
    guard var object = overlay.object else { return nil }
    overlay.object = nil
    if overlay.isDeleted {
      if isKnownUniquelyReferenced(&object) {
        reading.retirement.retire(object)
      } else {
        reading.retirement.retireDeleted(object, overlay)
      }
      return nil
    }
    object.header.pointee.overlay = nil
    guard overlay.changesRow else { return nil }
    // What others have saved before, it has yet to be told.
    let isDrowsy = object.header.pointee.wakefulness.contains(.drowsy)
    object.header.pointee.dropRow()
    // Nobody else holds the instance: it goes at the end of this turn, and needs no row.
    if isKnownUniquelyReferenced(&object) { return nil }
    return SavedInstance(object: object, isDrowsy: isDrowsy)
  }
}
