// What a context was before a save began to merge, so that it can be put back (M3).

internal import PerdurePredicates

/// Everything that is pending in a context, and what it sees.
struct PendingCopy {
  private let view: any StoreView
  private let vanished: Set<ObjectReference>
  private let eventStarts: [ObjectReference: EventStart]
  private let watched: [ObjectReference: RowVersion]
  /// Overlays keep their objects.
  private let changes: [(overlay: ObjectOverlay, content: OverlayContent)]

  /// - Complexity: O(pending changes).
  init(_ context: ContextCore) {
    view = context.view
    vanished = context.vanished
    eventStarts = context.eventStarts
    watched = context.watched
    changes = context.tracker.ordered.joined().map { ($0, $0.content) }
  }

  /// Puts the context back. What a hook has set a transient attribute to meanwhile stays.
  func restore(in context: ContextCore) {
    for overlay in context.tracker.removeAll().joined() {
      context.identityMap.object(overlay.reference)?.header.pointee.overlay = nil
    }
    for (overlay, content) in changes {
      overlay.restore(content)
      context.tracker.insert(overlay)
      if let object = overlay.object { bringBack(object, in: context) }
      if let object = context.identityMap.object(overlay.reference) { context.attach(overlay, to: object) }
      if overlay.isDeleted, !overlay.isPropagated { context.tracker.propagateLater(overlay) }
    }
    context.view = view
    context.vanished = vanished
    context.eventStarts = eventStarts
    context.watched = watched
    context.mergedObjects = [:]
    context.beginEpoch()
  }

  /// An object that the merging has taken out of the context.
  private func bringBack(_ object: ManagedObject, in context: ContextCore) {
    guard object.header.pointee.isGone else { return }
    object.header.pointee.wakefulness.subtract([.gone, .vanished])
    context.identityMap.insert(object, object.reference)
  }

  /// The save is done: changes that merging has dropped are let go of.
  func forget(in context: ContextCore) {
    for (overlay, _) in changes where context.tracker[overlay.reference] !== overlay {
      context.dropTransientsBefore(overlay)
    }
  }
}
