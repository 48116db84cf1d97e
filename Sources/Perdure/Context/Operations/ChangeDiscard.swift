// Rollback and reset.

internal import PerdurePredicates

/// Discards the unsaved changes of a context: a rollback, or a reset, which also removes all
/// instances.
struct ChangeDiscard {
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let transientState: TransientState
  private let retirement: ObjectRetirement
  private let layerFollower: LayerFollower
  private let eventHub: EventHub
  private let hooks: ObjectHooks
  private let undoGroups: UndoGroups

  init(
    _ reading: ContextReading, _ eventHub: EventHub, hooks: ObjectHooks, undoGroups: UndoGroups
  ) {
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    transientState = reading.transientState
    retirement = reading.retirement
    layerFollower = reading.layerFollower
    self.eventHub = eventHub
    self.hooks = hooks
    self.undoGroups = undoGroups
  }

  func rollback() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    let news = eventHub.newsOfRefresh()
    let ended = hooks.willTurnIntoFaults(hooks.changedAwakeObjects().filter(\.isNew).map(\.object))
    // The hooks may have changed anything, and may even have rolled back.
    let changed = hooks.changedAwakeObjects()
    forgetFailure()
    for overlay in pending.removeAll().joined() {
      guard let object = overlay.object else { continue }
      object.restoreTransients(overlay)
      if overlay.isNew {
        retirement.retire(object)
        // The rollback may restore earlier undo groups (UH3 in UndoHistory.swift), and their undo
        // or redo may insert the object again.
        registry.noteRemoved(object)
      } else {
        object.header.pointee.overlay = nil
        object.header.pointee.dropAlteredRow()
      }
    }
    forgetChanges()
    viewState.view = viewState.nextView()
    viewState.beginEpoch()
    undoGroups.manager?.rollBack()
    for object in ended { hooks.didTurnIntoFault(object) }
    for (object, isNew, isDeleted) in changed where !isNew {
      hooks.reawaken(object, isDeleted ? [.rollback, .undoDeletion] : .rollback)
    }
    eventHub.forgetGone()
    eventHub.tell(news)
  }

  func reset() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    let ended = hooks.willTurnIntoFaults(registry.identityMap.objects)
    forgetFailure()
    for overlay in pending.removeAll().joined() {
      overlay.object?.header.pointee.overlay = nil
      transientState.dropTransientsBefore(overlay)
    }
    for object in registry.identityMap.objects { retirement.retire(object) }
    transientState.removeAllLinks()
    registry.siblingGroups.removeAll()
    forgetChanges()
    viewState.refreshStore()
    viewState.view = viewState.store.view()
    viewState.beginEpoch()
    undoGroups.manager?.removeAllActions()
    for object in ended { hooks.didTurnIntoFault(object) }
    eventHub.forgetGone()
    guard eventHub.isObserved else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.invalidatesAll = true
    eventHub.tell(news)
  }

  /// Forgets failed reads and provisional ids. The caller then drops all unsaved changes.
  private func forgetFailure() {
    viewState.readFailure = nil
    pending.allocator.forgetProvisional()
  }

  /// Drops the state that belongs to unsaved changes, after the changes were dropped.
  private func forgetChanges() {
    layerFollower.dropLayer()
    viewState.vanished = []
    pending.eventStarts = [:]
    viewState.watched = [:]
    registry.cachedFetches = [:]
    pending.refusedChanges = RefusedChanges()
  }
}
