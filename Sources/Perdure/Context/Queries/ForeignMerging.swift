// Merging of other contexts' saves, on request or automatically.
//
// A context that advances shows the saves of other contexts (ContextAdvance.swift). A merge
// advances the context. If those saves have changed an object with unsaved changes, the merge also
// rebases these changes, as `refresh(_:mergeChanges: true)` does.

internal import PerdurePredicates

/// Merges the saves of other contexts.
final class ForeignMerging {
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let transientState: TransientState
  private let eventHub: EventHub
  private let recording: EditRecording
  private let advancing: ContextAdvance
  private let foreignSaves: ForeignSaves
  private let refresh: ObjectRefresh
  private let activity: ContextActivity

  init(
    _ reading: Shared<ContextReading>, _ eventHub: EventHub, recording: EditRecording,
    advancing: ContextAdvance, foreignSaves: ForeignSaves, refresh: ObjectRefresh,
    activity: ContextActivity
  ) {
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    transientState = reading.transientState
    self.eventHub = eventHub
    self.recording = recording
    self.advancing = advancing
    self.foreignSaves = foreignSaves
    self.refresh = refresh
    self.activity = activity
  }

  /// Starts or stops automatic merging.
  ///
  /// - Parameter wake: Called on any thread when saves wait in the inbox. If it is nil, saves wait
  ///   until the owner uses the context.
  func mergeAutomatically(_ merges: Bool, wake: (@Sendable () -> Void)?) {
    guard merges != (eventHub.inbox != nil) else { return }
    guard merges else { return eventHub.stopMerging() }
    let made = MergeInbox(wake: wake)
    eventHub.inbox = made
    eventHub.saves.add(made)
    // Merges earlier saves too. A child reads its parent's state directly.
    if !viewState.isChild, viewState.store.view().sequence != viewState.view.sequence { made.putUnknown() }
  }

  /// Merges the saves in the inbox, unless the context is pinned or an operation is running.
  func mergeWaiting() {
    guard let inbox = eventHub.inbox, !viewState.isPinned, activity.isIdle else { return }
    let waiting = inbox.take()
    if !waiting.isEmpty { merge(waiting.events, isComplete: waiting.isComplete) }
    mergeParent()
  }

  /// Advances a child that merges automatically to the current state of its parent.
  private func mergeParent() {
    if viewState.isChild, viewState.store.view().sequence != viewState.view.sequence {
      merge([], isComplete: false)
    }
  }

  /// - Parameter isComplete: Whether the events contain all saves of other contexts. If false, the
  ///   merge checks all objects with unsaved changes.
  func merge(_ events: [ContextEvent], isComplete: Bool = true) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    var news = foreignSaves.folded(events)
    if !eventHub.observers.isEmpty {
      // Removed objects without an instance are not reported.
      for reference in news.deleted { news.objects[reference] = registry.identityMap.object(reference) }
    }
    let before = viewState.view
    let known = eventHub.isObserved ? foreignSaves.knownObjects(news, isComplete: isComplete) : []
    viewState.refreshStore()
    let newest = viewState.store.view()
    if foreignSaves.concernsNoChanges(events, news, newest) {
      advancing.showWithoutRebase(newest)
    } else {
      advancing.move(to: newest)
    }
    let changes = foreignSaves.newsOfMerge(known, Set(news.updated), since: before)
    let changed = Set(news.updated + news.deleted)
    let concerned =
      isComplete
      ? changed.sorted { $0.rawValue < $1.rawValue }.compactMap { pending[$0] }
      : pending.ordered.flatMap { $0 }
    // A refresh may discard the unsaved changes of objects that come later in this loop.
    for overlay in concerned where !overlay.isNew && pending[overlay.reference] === overlay {
      recording.excludingFromUndo { refresh.refreshInView(registry.instance(of: overlay.reference)) }
    }
    guard eventHub.isObserved else { return }
    eventHub.tell(changes)
    eventHub.tell(news)
  }
}
