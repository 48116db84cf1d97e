// The state of a context before a save begins to merge, so that it can be restored (MG3 in
// SaveRun.swift).

internal import PerdurePredicates

/// All unsaved changes of a context, and its view.
struct PendingCopy {
  private let reading: ContextReading
  private let eventHub: EventHub
  private let stores: StoreAssignment
  private let view: any StoreView
  private let vanished: Set<ObjectReference>
  private let eventStarts: [ObjectReference: EventStart]
  private let watched: [ObjectReference: RowVersion]
  /// Overlays retain their instances.
  private let changes: [(overlay: ObjectOverlay, content: OverlayContent, transients: TransientsCopy)]

  /// - Complexity: O(unsaved changes).
  init(_ reading: ContextReading, _ eventHub: EventHub, _ stores: StoreAssignment) {
    (self.reading, self.eventHub, self.stores) = (reading, eventHub, stores)
    view = reading.viewState.view
    vanished = reading.viewState.vanished
    eventStarts = reading.pending.eventStarts
    watched = reading.viewState.watched
    changes = reading.pending.ordered.joined().map { ($0, $0.content, TransientsCopy($0)) }
  }

  /// Restores the context. If a hook has set a transient attribute meanwhile, the new value stays.
  ///
  /// - Returns: The event for observers that were notified of the merge.
  func restore() -> ContextNews {
    var news = ContextNews(kind: .objectsDidChange)
    let unheard = eventHub.goneReferences.union(takeBackInstances())
    var merged: [ObjectReference: ObjectOverlay] = [:]
    for overlay in reading.pending.removeAll().joined() {
      reading.registry.identityMap.object(overlay.reference)?.header.pointee.overlay = nil
      merged[overlay.reference] = overlay
    }
    for (overlay, content, transients) in changes {
      overlay.restore(content)
      if overlay.isNew, merged[overlay.reference] == nil, !unheard.contains(overlay.reference) {
        overlay.forgetTold()
      }
      if overlay.toldState != nil { news.refreshed.append(overlay.reference) }
      transients.restore(
        overlay, insteadOf: merged[overlay.reference], in: reading.transientState)
      merged[overlay.reference] = nil
      reading.pending.insert(overlay)
      if let object = overlay.object { bringBack(object, transients) }
      if let object = reading.registry.identityMap.object(overlay.reference) {
        reading.registry.attach(overlay, to: object)
      }
      if overlay.isDeleted, !overlay.isPropagated { reading.pending.propagateLater(overlay) }
    }
    for overlay in merged.values {
      reading.transientState.dropTransientsBefore(overlay)
      if overlay.toldState != nil, !overlay.isNew { news.refreshed.append(overlay.reference) }
    }
    eventHub.forgetGone { reading.pending[$0] != nil }
    reading.viewState.view = view
    reading.viewState.vanished = vanished
    reading.pending.eventStarts = eventStarts
    reading.viewState.watched = watched
    reading.pending.mergedObjects = [:]
    reading.viewState.beginEpoch()
    return news
  }

  /// Restores the identities of the instances of new objects that an upsert has renamed.
  ///
  /// - Returns: The references of these new objects.
  private func takeBackInstances() -> [ObjectReference] {
    changes.compactMap { overlay, _, _ in
      guard overlay.isNew, let object = overlay.object, object.reference != overlay.reference else {
        return nil
      }
      reading.pending[object.reference]?.object = nil
      stores.rename(object, overlay.reference)
      return overlay.reference
    }
  }

  /// Registers an object again that the merge has removed from the context.
  private func bringBack(_ object: ManagedObject, _ transients: TransientsCopy) {
    guard object.header.pointee.isGone else { return }
    // A hook may have created another instance meanwhile (CX1 in ObjectRegistry.swift).
    if let other = reading.registry.identityMap.object(object.reference) {
      reading.retirement.retire(other)
    }
    object.header.pointee.wakefulness.subtract([.gone, .vanished])
    // Drops the last row that the instance showed: the values of a new object are in its overlay.
    if transients.isNew { object.header.pointee.dropRow() }
    reading.registry.identityMap.insert(object, object.reference)
    reading.registry.retain(object)
    transients.restore(object)
  }

  /// Releases the changes that the merge has dropped, after the save.
  func forget() {
    for (overlay, _, _) in changes where reading.pending[overlay.reference] !== overlay {
      reading.transientState.dropTransientsBefore(overlay)
    }
  }
}

/// The transient values of an object, now and before its changes. Contains the tables themselves,
/// not copies. A merge removes them from the object and its overlay, but `TransientState.drop`
/// retains them until the end of the save (TV3 in TransientValues.swift).
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

  /// Restores the values before the changes. If no transient value was changed before the save,
  /// keeps those of `other`.
  ///
  /// - Parameter other: The overlay that the object has had since.
  func restore(_ overlay: ObjectOverlay, insteadOf other: ObjectOverlay?, in transientState: TransientState) {
    let (beforeSince, atEventSince) = (other?.transientsBefore, other?.transientsAtEvent)
    if let other { transientState.dropTransientsBefore(other) }
    overlay.transientsBefore = before ?? beforeSince
    overlay.transientsAtEvent = atEvent ?? atEventSince
  }

  /// Restores the current values, if the removal from the context has dropped them.
  func restore(_ object: ManagedObject) {
    guard let held else { return }
    object.header.pointee.transients = .passRetained(held)
  }
}
