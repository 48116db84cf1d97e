// The save, step by step:
//
//   1. delete rules            propagateDeletes
//   2. the classes' own hooks  callSaveHooks: willSave until nothing changes, then their validation
//   3. validation              Validation: every broken rule in one error, with what the hooks have found
//   4. the commit              SavePlan: rows, links and preconditions
//   5. the store's answer      one atomic commit, or a conflict and nothing has changed (C4); with several stores one
//                              each, all of which are asked first (JoinedStore, J3)
//   6. the context follows     overlays go, instances get their saved rows, the view is the commit's
//   7. didSave                 what it changes is pending

internal import PerdurePredicates

extension ContextCore {
  func save() throws(PerdureError) {
    keepDropped()
    defer { releaseDropped() }
    checkOwner()
    checkSaveIsPossible()
    isSaving = true
    defer { isSaving = false }
    propagateDeletes()
    // Only hooks could ask.
    if tracker.containsEntity(where: \.hasSaveHooks) || isObserved { endEvent() }
    if let readFailure { throw readFailure }
    guard !tracker.isEmpty else { return }
    try checkMayWrite()
    tell(pendingNews(.willSave))
    propagateDeletes()
    let refusals = try callSaveHooks()
    if tracker.isEmpty { return }
    try checkMayWrite()
    let plan = try plan(refusals)
    let saved = objectsToTell()
    let news = pendingNews(.didSave, isSaved: true)
    let newView = plan.isEmpty ? view : try commit(plan.change, saved, news)
    watched = [:]
    follow(newView)
    callDidSave(saved)
    tell(news)
  }

  /// Where the store is only read, a save can settle what it does not write.
  private func checkMayWrite() throws(PerdureError) {
    if followsOthers, tracker.contains(where: isWrittenToReadOnlyStore) {
      throw graph.isJoined
        ? refusalToWrite() : PerdureError(.saveFailed, "The store was opened for reading only.")
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
    var plan = SavePlan(self)
    // One change after the other, so that none leaves the cache between being checked and being written.
    for overlay in tracker.ordered.joined() {
      let count = violations.count
      addViolations(overlay, to: &violations)
      // Of what has just been refused no row may be able to hold it.
      if violations.count == count || overlay.fitsRow { plan.add(overlay) }
    }
    plan.watch(watchedPreconditions)
    plan.finish()
    if let readFailure { throw readFailure }
    // First: what is not there any more breaks every rule.
    if !plan.stale.isEmpty { throw .stale(plan.stale, in: self) }
    violations.addNew(refusals)
    if !violations.isEmpty { throw .validation(violations) }
    return plan
  }

  private func commit(
    _ change: StoreChange, _ saved: [(object: ManagedObject, state: ObjectState)], _ news: ContextNews?
  ) throws(PerdureError) -> any StoreView {
    statistics.commitRequestCount += 1
    do {
      return try store.commit(change)
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

  /// What was pending is stored now.
  private func follow(_ newView: any StoreView) {
    view = newView
    vanished = []
    eventStarts = [:]
    beginEpoch()
    settle(tracker.removeAll())
  }

  /// A part of what was pending is stored now, and the rest goes on being pending.
  private func follow(_ incomplete: IncompleteCommit) {
    view = incomplete.view
    eventStarts = eventStarts.filter { !isCommitted($0.key, by: incomplete) }
    beginEpoch()
    settle(tracker.removeAll { isCommitted(ObjectReference(entity: $0, id: 0), by: incomplete) })
  }

  private func isCommitted(_ reference: ObjectReference, by incomplete: IncompleteCommit) -> Bool {
    incomplete.committed.contains(graph.place(ofEntity: reference.entityNumber))
  }

  private func settle(_ all: consuming [[ObjectOverlay]]) {
    var groups = all
    for position in groups.indices {
      // Taken out, so that the array is nobody else's and shrinks in place.
      var overlays: [ObjectOverlay] = []
      swap(&overlays, &groups[position])
      while let overlay = overlays.popLast() { settle(overlay) }
    }
  }

  private func settle(_ overlay: ObjectOverlay) {
    dropTransientsBefore(overlay)
    guard var object = overlay.object else { return }
    overlay.object = nil
    if overlay.isDeleted { return retire(object) }
    object.header.pointee.overlay = nil
    guard overlay.changesRow else { return }
    // What others have saved before, it has yet to be told.
    let isDrowsy = object.header.pointee.wakefulness.contains(.drowsy)
    object.header.pointee.dropRow()
    // Nobody else holds the instance: it goes at the end of this turn, and needs no row.
    if isKnownUniquelyReferenced(&object) { return }
    if loadRow(of: object), object.isAwake, !isDrowsy { stayAwake(object) }
  }
}
