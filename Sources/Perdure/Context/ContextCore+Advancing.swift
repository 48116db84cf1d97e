// Advances of a context's view.
//
// An advance replaces the view and begins an epoch. It visits no object. At its next access, an
// instance compares the version of its row with the view, and becomes a fault only if the row has
// changed. Unsaved changes stay, over the newest row. They keep the version on which they are
// based, until a refresh changes it or no other context has changed the same columns. So a save
// detects conflicts with earlier saves of other contexts.

internal import PerdurePredicates

extension ContextCore {
  func rollback() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    let news = eventHub.newsOfRefresh()
    let ended = editing.hooks.willTurnIntoFaults(changedAwakeObjects().filter(\.isNew).map(\.object))
    // The hooks may have changed anything, and may even have rolled back.
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

  /// The changed objects whose class has hooks that depend on the row.
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

  /// Refreshes an object without a report.
  private func refreshQuietly(_ object: ManagedObject, mergeChanges: Bool) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    guard object.context === self else { return }
    advance()
    editing.recording.excludingFromUndo { refreshInView(object, mergeChanges: mergeChanges) }
  }

  /// Refreshes an object in the current view, without a report. The caller keeps dropped transient
  /// values (T3).
  func refreshInView(_ object: ManagedObject, mergeChanges: Bool = true) {
    guard object.context === self else { return }
    registry.forgetFetched(of: object.reference)
    let isEnding = !mergeChanges && object.overlay?.isNew != true && editing.hooks.willTurnIntoFault(object)
    guard object.context === self else {
      // A hook has reset the context or removed the object.
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
    // Keeps the error of a failed read: unsaved changes that are based on that read stay, and other
    // changes may have been refused because of it.
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
        // The object was changed meanwhile, so it keeps its values.
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

  /// Forgets failed reads and provisional ids. The caller has dropped all unsaved changes.
  private func forgetFailure() {
    viewState.readFailure = nil
    pending.allocator.forgetProvisional()
  }

  /// Advances the view to the newest state of the store, unless it is pinned. Unsaved changes stay.
  func advance() { move(to: viewState.nextView()) }

  /// Advances the view to a state of the store, if it differs.
  func move(to newest: any StoreView) {
    guard newest.sequence != viewState.view.sequence else { return }
    moveOn(to: newest)
  }

  /// Shows a newer state of the store. Unsaved changes stay.
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
    // Delete rules must also be applied to objects that other contexts have connected since.
    for overlay in pending.ordered.joined() where overlay.isDeleted { pending.propagateLater(overlay) }
  }

  /// Shows a newer state of the store that does not differ in any object that unsaved changes
  /// concern or link to.
  func showUnder(_ newest: any StoreView) {
    editing.recording.settleUndoGroups()
    if let layer = reading.layerFollower.contextLayer, layer.builder.base === viewState.view {
      layer.builder.move(to: newest)
    }
    viewState.view = newest
    viewState.beginEpoch()
  }
}
