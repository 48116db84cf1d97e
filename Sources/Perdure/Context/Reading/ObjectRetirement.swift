// The removal of instances from the context when their objects no longer exist, and the last values
// that they show afterwards.

internal import PerdurePredicates

/// Removes instances from a context.
final class ObjectRetirement {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let eventHub: EventHub
  // The exclusivity of accesses is not checked at run time: no access calls code that accesses the
  // property.
  /// The reads of a key path that is being probed (KeyPathProbe.swift); nil in other contexts.
  @exclusivity(unchecked) var probedReads: ProbedReads?

  init(viewState: ViewState, registry: ObjectRegistry, pending: PendingChanges, eventHub: EventHub) {
    graph = viewState.graph
    self.registry = registry
    self.viewState = viewState
    self.pending = pending
    self.eventHub = eventHub
  }

  /// Removes an instance from the context, because its object no longer exists or the context is
  /// reset. Its loaded values stay readable. Its transient values are dropped (TV4 in
  /// TransientValues.swift).
  func retire(_ object: ManagedObject) {
    registry.identityMap.remove(object.reference)
    registry.forgetFetched(of: object.reference)
    viewState.linksChanged()
    object.header.pointee.epoch = 0
    object.header.pointee.overlay = nil
    object.header.pointee.savedState = nil
    object.header.pointee.wakefulness.insert(.gone)
    object.dropTransients()
    registry.release(object)
  }

  /// Removes an object from the context because the store no longer has its row. Its loaded row
  /// stays readable. Does nothing for an object with unsaved changes: the save reports it.
  ///
  /// - Parameter lastRow: The row to show if none was loaded.
  func vanish(_ object: ManagedObject, _ lastRow: KeptRow? = nil) {
    guard object.overlay == nil, !object.header.pointee.isGone else { return }
    object.header.pointee.hasVanished = true
    retire(object)
    registry.noteRemoved(object)
    if object.header.pointee.row == nil, let lastRow { showLastRow(lastRow, object) }
  }

  /// Removes a new object from the context after it was deleted or merged into another object.
  ///
  /// - Parameter row: The values that its instance shows afterwards.
  func retireNew(_ overlay: ObjectOverlay, _ row: KeptRow?) {
    eventHub.noteGone(overlay)
    pending.remove(overlay.reference)
    viewState.linksChanged()
    guard let object = registry.identityMap.object(overlay.reference) else { return }
    object.header.pointee.hasVanished = true
    retire(object)
    registry.noteRemoved(object)
    if let row { showLastRow(row, object) }
  }

  /// Removes a deleted object from the context. Its attributes show their values before the save.
  /// Its relationships show only the targets in its row, because delete rules have removed the
  /// others.
  func retireDeleted(_ object: ManagedObject, _ overlay: ObjectOverlay) {
    let row = lastRow(of: object, overlay)
    retire(object)
    registry.noteRemoved(object)
    if let row { showLastRow(row, object) }
  }

  /// Sets the row from which the instance of a removed object reads its values.
  private func showLastRow(_ kept: KeptRow, _ object: ManagedObject) {
    kept.withRow { object.header.pointee.setRow($0, version: kept.version) }
  }

  /// Keeps the loaded row of an object that has unsaved changes and that another context has
  /// removed.
  func keepLastRow(of object: ManagedObject) {
    guard let overlay = object.overlay, overlay.keptBase == nil, let row = object.header.pointee.loadedRow
    else {
      return
    }
    overlay.keptBase = KeptRow(row, version: object.header.pointee.version)
  }

  /// The row of a deleted object with its changed attributes. Nil if the loaded row needs no
  /// change, or if there is neither a row nor a change. The other attributes are from the loaded
  /// row or the kept row. Without either row, they have no values.
  private func lastRow(of object: ManagedObject, _ overlay: ObjectOverlay) -> KeptRow? {
    let loaded = object.header.pointee.loadedRow
    guard let layouts = overlay.shape.storage.layouts, overlay.changesRow || loaded == nil else { return nil }
    func row(base: RowView?) -> KeptRow {
      let bytes = RowWriter(layouts).row(base: base) { slot in
        let value = overlay.shape.isRelationship(slot) ? nil : overlay.value(slot)
        if let value { return .value(viewState.fitting(value, overlay.shape, slot)) }
        return base == nil ? .value(.null) : .copied
      }
      return layouts.withRow(bytes) { KeptRow($0, version: .unknown) }
    }
    if let loaded { return row(base: loaded) }
    guard let kept = overlay.keptBase else { return overlay.changesRow ? row(base: nil) : nil }
    return kept.withRow { row(base: $0) }
  }

  // MARK: Last values

  /// The value of a column in the kept row of an object with unsaved changes. Null if there is no
  /// such row, or if the object is neither deleted nor removed by another context.
  func lastValue(_ slot: Int, of object: ManagedObject) -> Value {
    if let probedReads { return probedReads.value(slot, of: object) }
    guard let overlay = object.overlay, let kept = overlay.keptBase,
      overlay.isDeleted || viewState.hasVanished(object.reference)
    else { return .null }
    return kept.value(slot)
  }

  /// The target of a required to-one relationship without an object: the last object that it had,
  /// or a deleted object without values. Nil if the destination has no entity with instances.
  func lastTarget(of owner: ManagedObject, _ relationship: RelationshipShape) -> ManagedObject? {
    if relationship.form == .column, case .reference(let target) = owner.heldColumnValue(relationship.slot) {
      return registry.lastInstance(of: target)
    }
    return absentInstance(of: relationship.destination)
  }

  /// A deleted instance without values, in place of an object that does not exist. Nil if the
  /// entity and its subentities are abstract.
  func absentInstance(of entity: UInt16) -> ManagedObject? {
    guard let number = graph.store.entity(entity).concrete.first else { return nil }
    let shape = graph.shape(numbered: number)
    let reference = ObjectReference(entity: number, id: 0)
    let object =
      registry.identityMap.object(reference)
      ?? shape.objectClass.init(
        ObjectSeed(header: .make(reference, shape, in: registry.memory)))
    vanish(object)
    return object
  }
}
