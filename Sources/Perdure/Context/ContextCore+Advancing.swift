// How a context's view moves on.
//
// A view is replaced and the epoch with it; no object is visited. An instance finds out at its next touch
// that its row may be old, compares one version, and becomes a fault only if the row has in fact changed.
// Unsaved changes stay on top of the newest row. They keep the version that they were made to, until a refresh
// says otherwise or nobody else has changed the same: so a save finds out that somebody else was faster.

internal import PerdurePredicates

extension ContextCore {
  func rollback() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    let news = eventHub.newsOfRefresh()
    let ended = editing.hooks.willTurnIntoFaults(changedAwakeObjects().filter(\.isNew).map(\.object))
    // They may have done anything, a rollback included.
    let changed = changedAwakeObjects()
    forgetFailure()
    for overlay in pending.removeAll().joined() {
      guard let object = overlay.object else { continue }
      object.restoreTransients(overlay)
      if overlay.isNew {
        reading.retirement.retire(object)
      } else {
        object.header.pointee.overlay = nil
        object.header.pointee.dropAlteredRow()
      }
    }
    reading.layerFollower.dropLayer()
    viewState.vanished = []
    pending.eventStarts = [:]
    viewState.watched = [:]
    registry.cachedFetches = [:]
    pending.refusedChanges = RefusedChanges()
    viewState.view = viewState.nextView()
    viewState.beginEpoch()
    undoManager?.rollBack()
    for object in ended { editing.hooks.didTurnIntoFault(object) }
    for (object, isNew, isDeleted) in changed where !isNew {
      editing.hooks.reawaken(object, isDeleted ? [.rollback, .undoDeletion] : .rollback)
    }
    eventHub.forgetGone()
    eventHub.tell(news)
  }

  /// The changed objects that follow their rows.
  private func changedAwakeObjects() -> [(object: ManagedObject, isNew: Bool, isDeleted: Bool)] {
    guard pending.containsEntity(where: \.followsRow) else { return [] }
    return pending.ordered.joined().compactMap { overlay in
      guard let object = overlay.object, object.isAwake else { return nil }
      return (object, overlay.isNew, overlay.isDeleted)
    }
  }

  func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    refreshQuietly(object, mergeChanges: mergeChanges)
    guard eventHub.isObserved, object.context === self, object.overlay?.isNew != true else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.refreshed = [object.reference]
    eventHub.tell(news)
  }

  /// Without telling anybody.
  private func refreshQuietly(_ object: ManagedObject, mergeChanges: Bool) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    guard object.context === self else { return }
    advance()
    editing.recording.excludingFromUndo { refreshInView(object, mergeChanges: mergeChanges) }
  }

  /// At the state that the context is at, without telling anybody. For who keeps what is dropped (T3).
  func refreshInView(_ object: ManagedObject, mergeChanges: Bool = true) {
    guard object.context === self else { return }
    registry.forgetFetched(of: object.reference)
    let isEnding = !mergeChanges && object.overlay?.isNew != true && editing.hooks.willTurnIntoFault(object)
    guard object.context === self else {
      // It was reset meanwhile, or removed.
      if isEnding { editing.hooks.didTurnIntoFault(object) }
      return
    }
    if let overlay = object.overlay, !overlay.isNew {
      if mergeChanges { editing.rebase.rebase(overlay) } else { editing.rebase.discard(overlay) }
    }
    if mergeChanges, let overlay = object.overlay { editing.rebase.letGoOfVanishedTargets(overlay) }
    if !mergeChanges, object.overlay?.isNew != true {
      object.dropValues()
      transientState.dropTransientLinks(of: object.reference)
    }
    if isEnding { editing.hooks.didTurnIntoFault(object) }
    if mergeChanges, object.overlay?.isNew != true { editing.hooks.reawaken(object, .refresh) }
  }

  func refreshAllObjects() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    // What could not be read is not forgiven here: changes stay that were made on top of it, and others were
    // left out for it.
    advance()
    registry.cachedFetches = [:]
    let ended = editing.hooks.willTurnIntoFaults(registry.identityMap.objects.filter { $0.overlay == nil })
    editing.recording.excludingFromUndo {
      for overlay in pending.ordered.joined() where !overlay.isNew { editing.rebase.rebase(overlay) }
      for overlay in pending.ordered.joined() { editing.rebase.letGoOfVanishedTargets(overlay) }
    }
    for object in registry.identityMap.objects where object.overlay == nil { object.dropValues() }
    transientState.dropSettledTransientLinks()
    for object in ended {
      if object.header.pointee.row == nil || object.header.pointee.isGone {
        editing.hooks.didTurnIntoFault(object)
      } else {
        // It was changed meanwhile, and stays.
        object.header.pointee.wakefulness.remove(.turning)
      }
    }
    for (object, isNew, _) in changedAwakeObjects() where !isNew { editing.hooks.reawaken(object, .refresh) }
    guard eventHub.isObserved else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.refreshed = registry.identityMap.objects.filter { $0.overlay?.isNew != true }.map(\.reference)
    eventHub.tell(news)
  }

  func reset() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    let ended = editing.hooks.willTurnIntoFaults(registry.identityMap.objects)
    forgetFailure()
    for overlay in pending.removeAll().joined() {
      overlay.object?.header.pointee.overlay = nil
      transientState.dropTransientsBefore(overlay)
    }
    for object in registry.identityMap.objects { reading.retirement.retire(object) }
    transientState.removeAllLinks()
    registry.siblingGroups.removeAll()
    reading.layerFollower.dropLayer()
    viewState.vanished = []
    pending.eventStarts = [:]
    viewState.watched = [:]
    registry.cachedFetches = [:]
    pending.refusedChanges = RefusedChanges()
    viewState.refreshStore()
    viewState.view = store.view()
    viewState.beginEpoch()
    undoManager?.removeAllActions()
    for object in ended { editing.hooks.didTurnIntoFault(object) }
    eventHub.forgetGone()
    guard eventHub.isObserved else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.invalidatesAll = true
    eventHub.tell(news)
  }

  /// No new object is left, and no change that was made on top of what could not be read.
  private func forgetFailure() {
    viewState.readFailure = nil
    pending.allocator.forgetProvisional()
  }

  /// Moves on to the newest state of the store, unless the context is pinned; unsaved changes stay as they are.
  func advance() { move(to: viewState.nextView()) }

  /// Moves on to a state of the store.
  func move(to newest: any StoreView) {
    guard newest.sequence != viewState.view.sequence else { return }
    moveOn(to: newest)
  }

  /// Shows a newer state of the store; unsaved changes stay as they are.
  func moveOn(to newest: any StoreView) {
    editing.recording.settleUndoGroups()
    editing.recording.excludingFromUndo { showMerged(newest) }
  }

  private func showMerged(_ newest: any StoreView) {
    for overlay in pending.ordered.joined() where !overlay.isNew {
      if overlay.changesRow {
        editing.rebase.forgetSetBack(overlay)
        editing.rebase.keepBase(overlay, before: newest)
      }
      editing.rebase.keepDeletion(overlay, before: newest)
    }
    viewState.view = newest
    viewState.beginEpoch()
    editing.linkEditor.findVanished()
    editing.rebase.rebaseDeltas()
    // Delete rules have to be applied to what others have linked since.
    for overlay in pending.ordered.joined() where overlay.isDeleted { pending.propagateLater(overlay) }
  }

  /// Shows a newer state of the store, in which nothing is different that unsaved changes are about or
  /// lead to.
  func showUnder(_ newest: any StoreView) {
    editing.recording.settleUndoGroups()
    if let layer = reading.layerFollower.contextLayer, layer.builder.base === viewState.view {
      layer.builder.move(to: newest)
    }
    viewState.view = newest
    viewState.beginEpoch()
  }

  // MARK: One object
}
