// Merging of other contexts' saves, on request or automatically.
//
// A context that advances shows the saves of other contexts (ContextCore+Advancing.swift). A merge
// advances the context. If those saves have changed an object with unsaved changes, it also rebases
// these changes, as `refresh(_:mergeChanges: true)` does.

internal import Dispatch
internal import PerdurePredicates

extension ManagedObjectContext {
  /// Whether the context automatically merges the saves of other contexts of the container.
  /// Initially false.
  ///
  /// A context on a queue or of the main actor merges soon after the save. Every context merges at
  /// its next fetch or `processPendingChanges()`. A context that is pinned to a state merges after
  /// it is no longer pinned. Setting the property to true also merges earlier saves. If many saves
  /// wait, the context merges all of them, and `didMerge` reports only the newest.
  public var automaticallyMergesChangesFromParent: Bool {
    get { core.eventHub.inbox != nil }
    set { core.mergeAutomatically(newValue) }
  }

  /// Advances to the newest state, which contains the saves of other contexts of the container. If
  /// these saves changed an object with unsaved changes, its changes are applied to the new values.
  /// So a later save does not conflict with those saves. A context that is pinned to a state
  /// advances too, and is then pinned to the newest state.
  ///
  /// - Parameter event: An event from another context's sequence; it must be a `didSave`.
  public func mergeChanges(fromContextDidSave event: ContextEvent) {
    precondition(event.kind == .didSave, "Merge events of the kind didSave only.")
    core.merge([event])
  }

  /// Makes the next save check an object that this context has not changed. If another context has
  /// changed it, the save throws, as for a changed object. The request ends when a save that writes
  /// has checked it, or when the context is rolled back or reset.
  ///
  /// The check compares with the version in the context's state. Objects without a row are not
  /// checked.
  public func detectConflicts(for object: ManagedObject) { core.detectConflicts(object) }
}

extension ContextCore {
  func mergeAutomatically(_ merges: Bool) {
    checkOwner()
    guard merges != (eventHub.inbox != nil) else { return }
    guard merges else { return eventHub.stopMerging() }
    let made = MergeInbox(wake: ownership.queue.map { wake(on: $0) })
    eventHub.inbox = made
    eventHub.saves.add(made)
    // Merges earlier saves too. A child reads its parent's state directly.
    if !viewState.isChild, store.view().sequence != viewState.view.sequence { made.putUnknown() }
  }

  private func wake(on queue: DispatchQueue) -> @Sendable () -> Void {
    let place = QueuedContext(eventHub.handle)
    return { queue.async { place.handle?.core.mergeWaiting() } }
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
    if viewState.isChild, store.view().sequence != viewState.view.sequence { merge([], isComplete: false) }
  }

  func detectConflicts(_ object: ManagedObject) {
    checkOwner()
    guard object.context === self, object.overlay?.isNew != true else { return }
    do {
      if let version = try viewState.view.version(of: object.reference) {
        viewState.watched[object.reference] = version
      }
    } catch {
      viewState.noteReadFailure(error, object.reference)
    }
  }

  /// - Parameter isComplete: Whether the events contain all saves of other contexts.
  func merge(_ events: [ContextEvent], isComplete: Bool = true) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    var news = saving.foreignSaves.folded(events)
    if !eventHub.observers.isEmpty {
      // Of removed objects, only those with an instance are reported.
      for reference in news.deleted { news.objects[reference] = registry.identityMap.object(reference) }
    }
    let before = viewState.view
    let known = eventHub.isObserved ? saving.foreignSaves.knownObjects(news, isComplete: isComplete) : []
    viewState.refreshStore()
    let newest = store.view()
    if saving.foreignSaves.concernsNoChanges(events, news, newest) {
      showUnder(newest)
    } else {
      move(to: newest)
    }
    let changes = saving.foreignSaves.newsOfMerge(known, Set(news.updated), since: before)
    // Changes of an object that was removed may end with the merge.
    let changed = Set(news.updated + news.deleted)
    let concerned =
      isComplete
      ? changed.sorted { $0.rawValue < $1.rawValue }.compactMap { pending[$0] }
      : pending.ordered.flatMap { $0 }
    for overlay in concerned where !overlay.isNew && pending[overlay.reference] === overlay {
      editing.recording.excludingFromUndo { refreshInView(registry.instance(of: overlay.reference)) }
    }
    guard eventHub.isObserved else { return }
    eventHub.tell(changes)
    eventHub.tell(news)
  }
}

/// A context that is used on its queue.
// Unchecked: the reference is read on the context's queue only, and is weak. While the queue uses
// the context, the handle stays retained.
private final class QueuedContext: @unchecked Sendable {
  weak var handle: ManagedObjectContext?

  init(_ handle: ManagedObjectContext?) { self.handle = handle }
}

extension ContextOwnership {
  /// The queue of the context; nil if the context can only be used by its owner.
  var queue: DispatchQueue? {
    switch self {
    case .local: nil
    case .main: .main
    case .queue(let mark): mark.queue
    }
  }
}
