// What a context was before a save began to merge, so that it can be put back (M3).

internal import PerdurePredicates

/// Everything that is pending in a context, and what it sees.
struct PendingCopy {
  private let view: any StoreView
  private let vanished: Set<ObjectReference>
  private let eventStarts: [ObjectReference: EventStart]
  private let watched: [ObjectReference: RowVersion]
  /// Overlays keep their objects.
  private let changes: [(overlay: ObjectOverlay, content: OverlayContent, transients: TransientsCopy)]

  /// - Complexity: O(pending changes).
  init(_ context: ContextCore) {
    view = context.view
    vanished = context.vanished
    eventStarts = context.eventStarts
    watched = context.watched
    changes = context.tracker.ordered.joined().map { ($0, $0.content, TransientsCopy($0)) }
  }

  /// Puts the context back. What a hook has set a transient attribute to meanwhile stays.
  ///
  /// - Returns: What there is to tell who has heard of the merging.
  func restore(in context: ContextCore) -> ContextNews {
    var news = ContextNews(kind: .objectsDidChange)
    let unheard = Set(context.goneInserts.map(\.reference)).union(takeBackInstances(in: context))
    var merged: [ObjectReference: ObjectOverlay] = [:]
    for overlay in context.tracker.removeAll().joined() {
      context.identityMap.object(overlay.reference)?.header.pointee.overlay = nil
      merged[overlay.reference] = overlay
    }
    for (overlay, content, transients) in changes {
      overlay.restore(content)
      if overlay.isNew, merged[overlay.reference] == nil, !unheard.contains(overlay.reference) {
        overlay.forgetTold()
      }
      if overlay.toldState != nil { news.refreshed.append(overlay.reference) }
      transients.restore(overlay, insteadOf: merged[overlay.reference], in: context)
      merged[overlay.reference] = nil
      context.tracker.insert(overlay)
      if let object = overlay.object { bringBack(object, transients, in: context) }
      if let object = context.identityMap.object(overlay.reference) { context.attach(overlay, to: object) }
      if overlay.isDeleted, !overlay.isPropagated { context.tracker.propagateLater(overlay) }
    }
    for overlay in merged.values {
      context.dropTransientsBefore(overlay)
      if overlay.toldState != nil, !overlay.isNew { news.refreshed.append(overlay.reference) }
    }
    context.goneInserts.removeAll { context.tracker[$0.reference] != nil }
    context.view = view
    context.vanished = vanished
    context.eventStarts = eventStarts
    context.watched = watched
    context.mergedObjects = [:]
    context.beginEpoch()
    return news
  }

  /// Restores the identities of the instances of new objects that an upsert has renamed.
  ///
  /// - Returns: The references of these new objects.
  private func takeBackInstances(in context: ContextCore) -> [ObjectReference] {
    changes.compactMap { overlay, _, _ in
      guard overlay.isNew, let object = overlay.object, object.reference != overlay.reference else {
        return nil
      }
      context.tracker[object.reference]?.object = nil
      context.rename(object, overlay.reference)
      return overlay.reference
    }
  }

  /// An object that the merging has taken out of the context.
  private func bringBack(_ object: ManagedObject, _ transients: TransientsCopy, in context: ContextCore) {
    guard object.header.pointee.isGone else { return }
    // A hook may have asked for the object meanwhile (C1).
    if let other = context.identityMap.object(object.reference) { context.retire(other) }
    object.header.pointee.wakefulness.subtract([.gone, .vanished])
    // Drops the last row that the instance showed: the values of a new object are in its overlay.
    if transients.isNew { object.header.pointee.dropRow() }
    context.identityMap.insert(object, object.reference)
    context.retain(object)
    transients.restore(object)
  }

  /// The save is done: changes that merging has dropped are let go of.
  func forget(in context: ContextCore) {
    for (overlay, _, _) in changes where context.tracker[overlay.reference] !== overlay {
      context.dropTransientsBefore(overlay)
    }
  }
}

/// What the transient attributes of an object hold, and held before. These are the tables themselves: merging takes them
/// away from the object and its overlay, and `ContextCore.drop` keeps them until the save is done (T3).
private struct TransientsCopy {
  let isNew: Bool
  private let held: TransientValues?
  private let before: TransientValues?
  private let atEvent: TransientValues?

  init(_ overlay: ObjectOverlay) {
    isNew = overlay.isNew
    held = overlay.object?.header.pointee.transients?.takeUnretainedValue()
    (before, atEvent) = (overlay.transientsBefore, overlay.transientsAtEvent)
  }

  /// What was held before: as it was; by an object of which nothing had been set, as a hook has left it.
  ///
  /// - Parameter other: The overlay that the object has had since.
  func restore(_ overlay: ObjectOverlay, insteadOf other: ObjectOverlay?, in context: ContextCore) {
    let (beforeSince, atEventSince) = (other?.transientsBefore, other?.transientsAtEvent)
    if let other { context.dropTransientsBefore(other) }
    overlay.transientsBefore = before ?? beforeSince
    overlay.transientsAtEvent = atEvent ?? atEventSince
  }

  /// What is held, where being taken out of the context has lost it.
  func restore(_ object: ManagedObject) {
    guard let held else { return }
    object.header.pointee.transients = .passRetained(held)
  }
}
