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
    keepDropped()
    defer { releaseDropped() }
    checkOwner()
    checkSaveIsPossible()
    isSaving = true
    defer { isSaving = false }
    try throwRefusedChanges()
    if !mergedObjects.isEmpty { mergedObjects = [:] }
    if let conflict = try trySave(isFirst: true) { try saveMerging(conflict) }
  }

  /// The steps from the delete rules to `didSave`, once.
  ///
  /// - Parameter isFirst: Whether nothing has been merged yet. That a save begins is told once.
  /// - Returns: Why the store has refused, where others were faster; then nothing has changed but by hooks.
  func trySave(isFirst: Bool) throws(PerdureError) -> StoreConflict? {
    if !tracker.isEmpty { try checkIsOpen() }
    propagateDeletes()
    // Only hooks could ask.
    if tracker.containsEntity(where: \.hasSaveHooks) || isObserved { endEvent() }
    if let readFailure { throw readFailure }
    guard !tracker.isEmpty else {
      undoManager?.didSave()
      return nil
    }
    try checkMayWrite()
    if isFirst { tell(pendingNews(.willSave)) }
    propagateDeletes()
    continueUndoGroup()
    let refusals: [PerdureError.Detail]
    do { refusals = try callSaveHooks() } catch {
      endUndoGroupOfEvent()
      throw error
    }
    if tracker.isEmpty {
      endUndoGroupOfEvent()
      undoManager?.didSave()
      return nil
    }
    setSaveTimes()
    endUndoGroupOfEvent()
    try checkMayWrite()
    let plan = try plan(refusals)
    // First: what is not there any more breaks every rule.
    if let conflict = plan.conflict { return conflict }
    let saved = objectsToTell()
    var news = pendingNews(.didSave, isSaved: true)
    let before = view.sequence
    settleUndoGroups()
    if plan.isEmpty, !changesTransientsOfParent {
      follow(view, WrittenRows())
    } else if let conflict = try commit(plan.change, saved, news) {
      return conflict
    }
    // With no other commit in between, it is this one's.
    if view.countsCommits, view.sequence == before + 1 { news?.commitSequence = view.sequence }
    callDidSave(saved)
    tell(news)
    return nil
  }

  /// Checks that the container has not been closed, which every read of the save would report.
  private func checkIsOpen() throws(PerdureError) {
    do { try view.checkIsOpen() } catch {
      var failure = PerdureError(.saveFailed, "The store was closed. Nothing was saved.")
      failure.cause = error
      throw failure
    }
  }

  /// Where the store is only read, a save can settle what it does not write.
  private func checkMayWrite() throws(PerdureError) {
    if followsOthers, tracker.contains(where: isWrittenToReadOnlyStore) {
      throw isReadOnly
        ? PerdureError(
          .saveFailed, "The store was opened for reading only. Nothing was saved. Open it for writing.")
        : refusalToWrite()
    }
    try checkIDs()
  }

  /// Makes the commit, unless a rule is broken.
  ///
  /// - Parameter refusals: What the classes' own validation has found.
  private func plan(_ refusals: [PerdureError.Detail]) throws(PerdureError) -> SavePlan {
    isPlanning = true
    defer { isPlanning = false }
    var violations: [PerdureError.Detail] = []
    let changed = tracker.ordered
    var plan = SavePlan(self, count: changed.reduce(0) { $0 + $1.count })
    // One change after the other, so that none leaves the cache between being checked and being written.
    for overlay in changed.joined() {
      let count = violations.count
      addViolations(overlay, to: &violations)
      // Of what has just been refused no row may be able to hold it.
      if violations.count == count || overlay.fitsRow { plan.add(overlay) }
    }
    plan.watch(watchedPreconditions)
    plan.finish()
    if let readFailure { throw readFailure }
    if plan.conflict != nil { return plan }
    violations.addNew(refusals)
    if !violations.isEmpty { throw .validation(violations) }
    return plan
  }

  /// Commits, and follows to what was committed; or says why the store has refused.
  private func commit(
    _ change: StoreChange, _ saved: [(object: ManagedObject, state: ObjectState)], _ news: ContextNews?
  ) throws(PerdureError) -> StoreConflict? {
    statistics.commitRequestCount += 1
    do {
      let newest = try commitToStore(change)
      let isNext = newest.countsCommits && newest.sequence == view.sequence + 1
      follow(newest, isNext ? change.puts : nil)
      watched = [:]
      return nil
    } catch let conflict as StoreConflict {
      return conflict
    } catch let incomplete as IncompleteCommit {
      let failure = PerdureError.incomplete(incomplete, in: self)
      follow(incomplete)
      callDidSave(saved.filter { isCommitted($0.object.reference, by: incomplete) })
      tell(news?.filtered { isCommitted($0, by: incomplete) })
      throw failure
    } catch {
      throw .refusal(error, in: self)
    }
  }

  /// Commits a change to the store. A parent context gets the transient values too.
  private func commitToStore(_ change: StoreChange) throws -> any StoreView {
    guard changesTransientsOfParent, let parent = store as? ParentStore else {
      return try store.commit(change)
    }
    return try parent.commit(change, changedTransients())
  }

  /// What was pending is stored now.
  ///
  /// - Parameter rows: The saved rows, if the new view is the state right after the commit.
  private func follow(_ newView: any StoreView, _ rows: WrittenRows?) {
    undoManager?.didSave()
    view = newView
    dropLayer()
    vanished = []
    eventStarts = [:]
    beginEpoch()
    showSavedRows(settle(tracker.removeAll()), rows)
    linksChanged()
  }

  /// A part of what was pending is stored now, and the rest goes on being pending.
  private func follow(_ incomplete: IncompleteCommit) {
    view = incomplete.view
    eventStarts = eventStarts.filter { !isCommitted($0.key, by: incomplete) }
    beginEpoch()
    let settled = tracker.removeAll { isCommitted(ObjectReference(entity: $0, id: 0), by: incomplete) }
    showSavedRows(settle(settled), nil)
    linksChanged()
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
    dropTransientsBefore(overlay)
    settleTransientLinks(overlay)
    guard var object = overlay.object else { return nil }
    overlay.object = nil
    if overlay.isDeleted {
      if isKnownUniquelyReferenced(&object) { retire(object) } else { retireDeleted(object, overlay) }
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
