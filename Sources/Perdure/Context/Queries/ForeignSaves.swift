// The saves of other contexts, before they are merged.

internal import PerdurePredicates

/// Computes the effects of other contexts' saves.
final class ForeignSaves {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges

  init(_ reading: Shared<ContextReading>) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
  }

  /// Makes the next save check the version of an object.
  func watch(_ object: ManagedObject) {
    guard registry.has(object), object.overlay?.isNew != true else { return }
    do {
      if let version = try viewState.view.version(of: object.reference) {
        viewState.watched[object.reference] = version
      }
    } catch {
      viewState.noteReadFailure(error, object.reference)
    }
  }

  /// The combined changes of several saves, with each object in at most one set. An object that was
  /// both inserted and deleted is in none.
  func folded(_ events: [ContextEvent]) -> ContextNews {
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

  /// Whether a rebase onto a newer state certainly changes nothing, because the changed objects
  /// have no unsaved changes and are not targets of unsaved changes. False also if there are no
  /// unsaved changes, if `newest` is not newer than the view, or if the events do not include all
  /// commits between the two.
  ///
  /// - Complexity: O(m) for m objects that other contexts have saved.
  func concernsNoChanges(
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

  /// Whether a rebase may be needed although the changed objects have no unsaved changes. A saved
  /// object may link to an object that is deleted in this context, or an unsaved change may link to
  /// a removed object. Both are possible with a relationship without inverse, or with a delete rule
  /// that leaves references to deleted objects.
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
  /// Excludes new objects.
  func knownObjects(_ news: ContextNews, isComplete: Bool) -> [ManagedObject] {
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
  func newsOfMerge(
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

  // MARK: Conflicts of objects without changes

  /// The preconditions of a save for objects that it does not write.
  var watchedPreconditions: [Precondition] {
    viewState.watched.sorted { $0.key.rawValue < $1.key.rawValue }.filter {
      pending[$0.key]?.baseVersion == nil
    }
    .map { .rowUnchanged($0.key, $0.value) }
  }
}
