// The state of a context before a save begins to merge, before an undo and before the save of a
// child, so that it can be restored (MG3 in SaveRun.swift, RV1 in EditReversal.swift).

internal import PerdurePredicates

/// All unsaved changes of a context, its view, and its undo groups.
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
  /// Tells whether all changes were removed at once since (`isRestorable`).
  private let generation: UInt64
  private let undo: (manager: ContextUndoManager, groups: ContextUndoManager.Copy)?
  /// Overlays retain their instances.
  private let changes: [(overlay: ObjectOverlay, content: OverlayContent, transients: TransientsCopy)]

  /// - Complexity: O(unsaved changes).
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
    changes = reading.pending.ordered.joined().map { ($0, $0.content, TransientsCopy($0)) }
  }

  /// False if the program has saved, rolled back or reset the context since, in a hook.
  var isRestorable: Bool { reading.pending.generation == generation }

  /// Restores the context, except its undo groups.
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
      let other = merged.removeValue(forKey: overlay.reference)
      reading.pending.insert(overlay)
      if let object = overlay.object { bringBack(object, transients) }
      transients.restore(overlay, insteadOf: other, in: reading.transientState)
      if let object = reading.registry.identityMap.object(overlay.reference) {
        reading.registry.attach(overlay, to: object)
      }
      if overlay.isDeleted, !overlay.isPropagated { reading.pending.propagateLater(overlay) }
    }
    for overlay in merged.values {
      remove(overlay)
      if overlay.toldState != nil, !overlay.isNew { news.refreshed.append(overlay.reference) }
    }
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

  /// Restores the undo groups, after the changes. Does nothing if a hook has set another manager.
  func restoreUndoGroups(of manager: ContextUndoManager?) {
    if let undo, undo.manager === manager { undo.manager.restore(undo.groups) }
  }

  /// Reverts the changes of an object that had none. `pending` no longer has them.
  private func remove(_ overlay: ObjectOverlay) {
    if !overlay.isNew { overlay.object?.restoreTransients(overlay) }
    reading.transientState.dropTransientsBefore(overlay)
    guard overlay.isNew, overlay.object != nil else { return }
    // An undo may insert the object again, with the same instance.
    reading.retirement.retireNew(overlay, reading.layerFollower.lastRow(of: overlay))
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
    reading.registry.forgetRemoved(object)
    reading.registry.identityMap.insert(object, object.reference)
    reading.registry.retain(object)
  }

  /// Releases the changes that the operation has dropped, after it has succeeded.
  func forget() {
    for (overlay, _, transients) in changes {
      transients.forget(in: reading.transientState)
      if reading.pending[overlay.reference] !== overlay {
        reading.transientState.dropTransientsBefore(overlay)
      }
    }
  }
}

/// The transient values of an object, now and before its changes. `TransientState.drop` defers the
/// release of all values until the end of the operation (TV3 in TransientValues.swift).
private struct TransientsCopy {
  let isNew: Bool
  private let held: TransientValues?
  private let before: TransientValues?
  private let atEvent: TransientValues?
  private let values: [Int: TransientValues.Held]
  private let (setBefore, setInEvent): (Set<Int>, Set<Int>)

  init(_ overlay: ObjectOverlay) {
    isNew = overlay.isNew
    held = overlay.object?.header.pointee.transients?.takeUnretainedValue()
    (before, atEvent) = (overlay.transientsBefore, overlay.transientsAtEvent)
    values = held?.bySlot ?? [:]
    (setBefore, setInEvent) = (before?.setSince ?? [], atEvent?.setSince ?? [])
  }

  /// Restores the values.
  ///
  /// - Parameter other: The overlay that the object has had since.
  func restore(_ overlay: ObjectOverlay, insteadOf other: ObjectOverlay?, in transientState: TransientState) {
    transientState.dropTransientsBefore(overlay)
    if let other { transientState.dropTransientsBefore(other) }
    before?.setSince = setBefore
    atEvent?.setSince = setInEvent
    (overlay.transientsBefore, overlay.transientsAtEvent) = (before, atEvent)
    guard let object = overlay.object else { return }
    if object.header.pointee.transients?.takeUnretainedValue() !== held {
      object.dropTransients()
      if let held { object.header.pointee.transients = .passRetained(held) }
    }
    guard let held else { return }
    let since = TransientValues(held.bySlot)
    held.bySlot = values
    transientState.drop(since)
  }

  /// Releases the copied values.
  func forget(in transientState: TransientState) {
    if !values.isEmpty { transientState.drop(TransientValues(values)) }
  }
}
