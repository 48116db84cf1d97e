// A copy of the state of a context, so that the state can be restored. It is made before a save
// merges, before an undo or a redo, and before the save of a child (MG3 in SaveRun.swift, VR1 in
// EditReversal.swift).

internal import PerdurePredicates

/// A copy of the view, of the undo groups, and of the unsaved changes that an operation changes.
struct PendingCopy {
  private let reading: ContextReading
  private let eventHub: EventHub
  private let stores: StoreAssignment
  private let view: any StoreView
  private let vanished: Set<ObjectReference>
  private let eventStarts: [ObjectReference: EventStart]
  private let watched: [ObjectReference: RowVersion]
  private let mergedObjects: [ObjectReference: ObjectReference]
  private let refusedChanges: RefusedChanges
  private let readFailure: PerdureError?
  /// The generation at the time of the copy. A later generation means that all changes were removed
  /// at once (`isRestorable`).
  private let generation: UInt64
  private let undo: (manager: ContextUndoManager, groups: ContextUndoManager.Copy)?
  /// Overlays retain their instances.
  private let copies: OverlayCopies

  /// Begins a copy for an operation. Call `forget` or `restore` when the operation is over.
  ///
  /// - Complexity: O(1). During the operation, unsaved changes are copied before they are modified.
  init(
    _ reading: ContextReading, _ eventHub: EventHub, _ stores: StoreAssignment, undo: ContextUndoManager?
  ) {
    (self.reading, self.eventHub, self.stores) = (reading, eventHub, stores)
    view = reading.viewState.view
    vanished = reading.viewState.vanished
    eventStarts = reading.pending.eventStarts
    watched = reading.viewState.watched
    mergedObjects = reading.pending.mergedObjects
    refusedChanges = reading.pending.refusedChanges
    readFailure = reading.viewState.readFailure
    generation = reading.pending.generation
    self.undo = undo.map { ($0, $0.copy) }
    let pending = reading.pending
    copies = OverlayCopies(reading.registry.memory) { pending[$0.reference] === $0 }
  }

  /// False if a hook has saved, rolled back or reset the context after the copy was made.
  var isRestorable: Bool { reading.pending.generation == generation }

  /// Restores the context, except its undo groups.
  ///
  /// - Returns: The event that notifies observers of the restored values.
  func restore() -> ContextNews {
    copies.end()
    var news = ContextNews(kind: .objectsDidChange)
    let changed = copies.changed
    let unreported = eventHub.goneReferences.union(restoreIdentities(changed))
    var merged: [ObjectReference: ObjectOverlay] = [:]
    for (reference, _) in changed {
      guard let overlay = reading.pending.remove(reference) else { continue }
      reading.registry.identityMap.object(reference)?.header.pointee.overlay = nil
      merged[reference] = overlay
    }
    for original in changed.compactMap(\.original) {
      let (overlay, content, transients) = (original.overlay, original.content, original.transients)
      overlay.restore(content)
      if overlay.isNew, merged[overlay.reference] == nil, !unreported.contains(overlay.reference) {
        overlay.clearReportedState()
      }
      if overlay.reportedState != nil { news.refreshed.append(overlay.reference) }
      let other = merged.removeValue(forKey: overlay.reference)
      reading.pending.insert(overlay)
      if let object = overlay.object { registerAgain(object, transients) }
      transients.restore(overlay, insteadOf: other, in: reading.transientState)
      if let object = reading.registry.identityMap.object(overlay.reference) {
        reading.registry.attach(overlay, to: object)
      }
      if overlay.isDeleted, !overlay.isPropagated { reading.pending.propagateLater(overlay) }
    }
    for overlay in merged.values {
      remove(overlay)
      if overlay.reportedState != nil, !overlay.isNew { news.refreshed.append(overlay.reference) }
    }
    reading.layerFollower.dropLayer()
    eventHub.forgetGone { reading.pending[$0] != nil }
    reading.viewState.view = view
    reading.viewState.vanished = vanished
    reading.pending.eventStarts = eventStarts
    reading.viewState.watched = watched
    reading.pending.mergedObjects = mergedObjects
    reading.pending.refusedChanges = refusedChanges
    reading.viewState.readFailure = readFailure
    reading.viewState.beginEpoch()
    return news
  }

  /// Restores the undo groups. Must be called after `restore`. Does nothing if a hook has set
  /// another manager.
  func restoreUndoGroups(of manager: ContextUndoManager?) {
    if let undo, undo.manager === manager { undo.manager.restore(undo.groups) }
  }

  /// Reverts the changes of an object that had no unsaved changes at the time of the copy.
  /// `pending` no longer contains these changes.
  private func remove(_ overlay: ObjectOverlay) {
    if !overlay.isNew { overlay.object?.restoreTransients(overlay) }
    reading.transientState.dropTransientsBefore(overlay)
    guard overlay.isNew, overlay.object != nil else { return }
    // An undo may insert the object again, with the same instance.
    reading.retirement.retireNew(overlay, reading.layerFollower.lastRow(of: overlay))
  }

  /// Restores the references of instances of new objects that were merged into other objects.
  ///
  /// - Returns: The references of these new objects.
  private func restoreIdentities(
    _ changed: [(reference: ObjectReference, original: OverlayCopies.Original?)]
  ) -> [ObjectReference] {
    changed.compactMap { _, original in
      guard let overlay = original?.overlay, overlay.isNew, let object = overlay.object,
        object.reference != overlay.reference
      else { return nil }
      reading.pending[object.reference]?.object = nil
      stores.rename(object, overlay.reference)
      return overlay.reference
    }
  }

  /// Registers an object again that the operation has removed from the context.
  private func registerAgain(_ object: ManagedObject, _ transients: TransientsCopy) {
    guard object.header.pointee.isGone else { return }
    // A hook may have created another instance meanwhile (CX1 in ObjectRegistry.swift).
    if let other = reading.registry.identityMap.object(object.reference) {
      reading.retirement.retire(other)
    }
    object.header.pointee.wakefulness.subtract([.gone, .vanished])
    // Drops the last row that the instance showed: the values of a new object are in its overlay.
    if transients.isNew { object.header.pointee.dropRow() }
    reading.registry.forgetRemoved(object)
    reading.registry.identityMap.insert(object, object.reference)
    reading.registry.retain(object)
  }

  /// Releases the changes that the operation has dropped, after it has succeeded.
  func forget() {
    copies.end()
    for original in copies.changed.compactMap(\.original) {
      original.transients.forget(in: reading.transientState)
      if reading.pending[original.overlay.reference] !== original.overlay {
        reading.transientState.dropTransientsBefore(original.overlay)
      }
    }
  }
}
