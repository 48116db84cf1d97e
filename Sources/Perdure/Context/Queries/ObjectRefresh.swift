// Refreshes of objects.

internal import PerdurePredicates

/// Updates objects to the newest state.
final class ObjectRefresh {
  private let registry: ObjectRegistry
  private let pending: PendingChanges
  private let transientState: TransientState
  private let eventHub: EventHub
  private let hooks: ObjectHooks
  private let recording: EditRecording
  private let rebase: PendingRebase
  private let advancing: ContextAdvance

  init(
    registry: ObjectRegistry, pending: PendingChanges, transientState: TransientState,
    editing: ContextEditing, eventHub: EventHub
  ) {
    self.registry = registry
    self.pending = pending
    self.transientState = transientState
    self.eventHub = eventHub
    hooks = editing.hooks
    recording = editing.recording
    rebase = editing.rebase
    advancing = editing.advancing
  }

  func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    refreshQuietly(object, mergeChanges: mergeChanges)
    guard eventHub.isObserved, registry.has(object), object.overlay?.isNew != true else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.refreshed = [object.reference]
    eventHub.tell(news)
  }

  /// Refreshes an object without notifying observers.
  private func refreshQuietly(_ object: ManagedObject, mergeChanges: Bool) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    guard registry.has(object) else { return }
    advancing.advance()
    recording.excludingFromUndo { refreshInView(object, mergeChanges: mergeChanges) }
  }

  /// Refreshes an object in the current view, without notifying observers. The caller defers the
  /// release of dropped transient values (`keepDropped`; TV3 in TransientValues.swift).
  func refreshInView(_ object: ManagedObject, mergeChanges: Bool = true) {
    guard registry.has(object) else { return }
    registry.forgetFetched(of: object.reference)
    let isEnding = !mergeChanges && object.overlay?.isNew != true && hooks.willTurnIntoFault(object)
    guard registry.has(object) else {
      // A hook has reset the context or removed the object.
      if isEnding { hooks.didTurnIntoFault(object) }
      return
    }
    if let overlay = object.overlay, !overlay.isNew {
      if mergeChanges { rebase.rebase(overlay) } else { rebase.discard(overlay) }
    }
    if mergeChanges, let overlay = object.overlay { rebase.dropLinksToVanished(overlay) }
    if !mergeChanges, object.overlay?.isNew != true {
      object.dropValues()
      transientState.dropTransientLinks(of: object.reference)
    }
    if isEnding { hooks.didTurnIntoFault(object) }
    if mergeChanges, object.overlay?.isNew != true { hooks.reawaken(object, .refresh) }
  }

  func refreshAllObjects() {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    // Keeps the error of a failed read: unsaved changes may depend on that read, or may have been
    // refused because of it.
    advancing.advance()
    registry.cachedFetches = [:]
    let ended = hooks.willTurnIntoFaults(registry.identityMap.objects.filter { $0.overlay == nil })
    recording.excludingFromUndo {
      for overlay in pending.ordered.joined() where !overlay.isNew { rebase.rebase(overlay) }
      for overlay in pending.ordered.joined() { rebase.dropLinksToVanished(overlay) }
    }
    for object in registry.identityMap.objects where object.overlay == nil { object.dropValues() }
    transientState.dropSavedTransientLinks()
    for object in ended {
      if object.header.pointee.row == nil || object.header.pointee.isGone {
        hooks.didTurnIntoFault(object)
      } else {
        // The object was changed meanwhile, so it keeps its values.
        object.header.pointee.wakefulness.remove(.turning)
      }
    }
    for (object, isNew, _) in hooks.changedAwakeObjects() where !isNew { hooks.reawaken(object, .refresh) }
    guard eventHub.isObserved else { return }
    var news = ContextNews(kind: .objectsDidChange)
    news.refreshed = registry.identityMap.objects.filter { $0.overlay?.isNew != true }.map(\.reference)
    eventHub.tell(news)
  }
}
