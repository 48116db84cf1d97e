// What other contexts have saved: merged by hand, or by itself.
//
// A context that moves on shows what others have saved (ContextCore+Advancing.swift); merging does that, and puts
// unsaved changes of objects that the others have changed on top of the new rows, as `refresh(_:mergeChanges: true)` does.

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

  /// Advances to the newest state, which has the saves of other contexts of the container. If these
  /// saves changed an object with unsaved changes, its changes are applied to the new values. So a
  /// later save does not conflict with those saves. A context that is pinned to a state advances
  /// too, and is then pinned to the newest state.
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

  /// Merges what has come, unless the context is pinned or in the midst of something.
  func mergeWaiting() {
    guard let inbox = eventHub.inbox, !viewState.isPinned, activity.isIdle else { return }
    let waiting = inbox.take()
    if !waiting.isEmpty { merge(waiting.events, isComplete: waiting.isComplete) }
    mergeParent()
  }

  /// - Parameter isComplete: Whether others have saved nothing besides.
  func merge(_ events: [ContextEvent], isComplete: Bool = true) {
    transientState.keepDropped()
    defer { transientState.releaseDropped() }
    checkOwner()
    var news = folded(events)
    if !eventHub.observers.isEmpty {
      // Of what is removed, only who was there is told of.
      for reference in news.deleted { news.objects[reference] = registry.identityMap.object(reference) }
    }
    let before = viewState.view
    let known = eventHub.isObserved ? knownObjects(news, isComplete: isComplete) : []
    viewState.refreshStore()
    let newest = store.view()
    if concernsNoChanges(events, news, newest) { showUnder(newest) } else { move(to: newest) }
    let changes = newsOfMerge(known, Set(news.updated), since: before)
    // What is put on top of a row that is gone may be over with that.
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

  /// Whether a newer state differs from the view only by objects without unsaved changes here, to
  /// which nothing here leads. Then unsaved changes on top of it are what they are.
  ///
  /// - Complexity: O(m) for m objects that others have saved.
  private func concernsNoChanges(
    _ events: [ContextEvent], _ news: ContextNews, _ newest: any StoreView
  ) -> Bool {
    guard newest.sequence > viewState.view.sequence, !pending.isEmpty, newest.countsCommits,
      newest.sequence - viewState.view.sequence <= UInt64(events.count), !mayLinkUnseen(news)
    else { return false }
    let commits = Set(events.compactMap(\.commitSequence))
    return (viewState.view.sequence + 1...newest.sequence).allSatisfy(commits.contains)
      && !(news.inserted + news.updated + news.deleted).contains {
        pending[$0] != nil || viewState.hasVanished($0)
      }
  }

  /// Whether a link may lead from what others have saved to what is deleted here, or from here to
  /// what others have removed, without a change of its target here.
  ///
  /// That needs a relationship without inverse, or one that leaves references to what is deleted.
  private func mayLinkUnseen(_ news: ContextNews) -> Bool {
    if pending.mayHaveDeletions, pending.containsEntity(where: { !$0.incoming.isEmpty }) { return true }
    return Set(news.deleted.map(\.entityNumber)).contains { removed in
      graph.shape(numbered: removed).relationships.contains { $0.deleteRule == .noAction }
        || pending.containsEntity { shape in
          shape.relationships.contains {
            $0.inverseSlot == nil && graph.isKind(removed, of: $0.destination)
          }
        }
    }
  }

  /// The instances whose values a merge may change: all instances if the changes are not known.
  private func knownObjects(_ news: ContextNews, isComplete: Bool) -> [ManagedObject] {
    let objects =
      isComplete
      ? (news.updated + news.deleted).compactMap(registry.identityMap.object)
      : Array(registry.identityMap.objects)
    return objects.filter { $0.overlay?.isNew != true }.sorted {
      $0.reference.rawValue < $1.reference.rawValue
    }
  }

  /// The instances whose values differ between two states, for observers.
  ///
  /// - Parameter updated: The objects whose attributes or links other contexts have changed.
  private func newsOfMerge(
    _ known: [ManagedObject], _ updated: Set<ObjectReference>, since before: any StoreView
  ) -> ContextNews {
    var news = ContextNews(kind: .objectsDidChange)
    for object in known {
      let reference = object.reference
      do {
        let (old, new) = (try before.version(of: reference), try viewState.view.version(of: reference))
        if new == nil {
          if old != nil { news.deleted.append(reference) }
        } else if old != new || updated.contains(reference) {
          news.refreshed.append(reference)
        }
        news.objects[reference] = object
      } catch {
        viewState.noteReadFailure(error, reference)
      }
    }
    return news
  }

  /// What all saves together have done, each object in one way: what one has inserted and another deleted in none.
  private func folded(_ events: [ContextEvent]) -> ContextNews {
    var inserted: Set<ManagedObjectID> = []
    var updated = inserted
    var deleted = inserted
    for event in events {
      inserted.formUnion(event.insertedObjectIDs)
      updated.formUnion(event.updatedObjectIDs)
      deleted.formUnion(event.deletedObjectIDs)
    }
    func references(_ ids: Set<ManagedObjectID>) -> [ObjectReference] {
      ids.compactMap(graph.reference).sorted { $0.rawValue < $1.rawValue }
    }
    var news = ContextNews(kind: .didMerge)
    news.inserted = references(inserted.subtracting(deleted))
    news.updated = references(updated.subtracting(inserted).subtracting(deleted))
    news.deleted = references(deleted.subtracting(inserted))
    return news
  }

  // MARK: Conflicts of what is not changed here

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

  /// What a save has to ask for objects that it does not write.
  var watchedPreconditions: [Precondition] {
    viewState.watched.sorted { $0.key.rawValue < $1.key.rawValue }.filter {
      pending[$0.key]?.baseVersion == nil
    }
    .map { .rowUnchanged($0.key, $0.value) }
  }
}

/// A context that is reached on its queue.
// Unchecked: the reference is followed on the context's queue only, where nobody else is, and keeps the handle, so that
// the context is not given up meanwhile.
private final class QueuedContext: @unchecked Sendable {
  weak var handle: ManagedObjectContext?

  init(_ handle: ManagedObjectContext?) { self.handle = handle }
}

extension ContextOwnership {
  /// Where the context can be reached; nil for one whose owner has to come by.
  var queue: DispatchQueue? {
    switch self {
    case .local: nil
    case .main: .main
    case .queue(let mark): mark.queue
    }
  }
}
