// Assigns new objects to stores, in contexts with several stores, and refuses changes of read-only
// stores.

internal import PerdureModel
internal import PerdurePredicates

/// Decides to which store objects belong, and whether they can be saved there.
final class StoreAssignment {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let recording: EditRecording

  init(_ reading: Shared<ContextReading>, _ recording: EditRecording) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.recording = recording
  }

  func isWrittenToReadOnlyStore(_ overlay: ObjectOverlay) -> Bool {
    overlay.isToBeWritten && graph.stores[graph.place(ofEntity: overlay.reference.entityNumber)].isReadOnly
  }

  /// The error for changed objects of read-only stores.
  func refusalToWrite() -> PerdureError {
    refusal(of: isWrittenToReadOnlyStore) {
      "\($0) belong to a store that was opened for reading only. Nothing was saved. Discard their changes, or open the "
        + "store for writing."
    }
  }

  /// Refuses objects that were inserted when their store could not reserve ids or was closed.
  /// Reports the objects of one store, because the cause concerns that store.
  func checkIDs() throws(PerdureError) {
    guard pending.allocator.hasFailed else { return }
    guard let first = pending.ordered.joined().first(where: isWithoutID) else {
      return pending.allocator.forgetFailures()
    }
    let place = graph.place(ofEntity: first.reference.entityNumber)
    let isRefused = { overlay in
      self.isWithoutID(overlay) && self.graph.place(ofEntity: overlay.reference.entityNumber) == place
    }
    var error = refusal(of: isRefused) {
      "The store had no ids for new objects when \($0) were inserted, so they can never be saved. Delete them, or roll "
        + "back or reset the context."
    }
    error.cause = pending.allocator.failure(of: first.reference)
    throw error
  }

  /// Whether an object is new and not deleted, and its store had no id for it.
  private func isWithoutID(_ overlay: ObjectOverlay) -> Bool {
    overlay.isNew && !overlay.isDeleted && pending.allocator.failure(of: overlay.reference) != nil
  }

  private func refusal(
    of isRefused: (ObjectOverlay) -> Bool, _ message: (_ named: String) -> String
  ) -> PerdureError {
    let refused = pending.ordered.joined().filter(isRefused).map { pending.objectID(of: $0.reference) }
    let named = refused.prefix(3).map(\.uri).joined(separator: ", ") + (refused.count > 3 ? ", …" : "")
    var error = PerdureError(.saveFailed, message(named))
    error.objectIDs = refused
    return error
  }

  func assign(_ object: ManagedObject, toStore identifier: String) throws(PerdureError) {
    guard registry.has(object), let overlay = object.overlay, overlay.isNew, !overlay.isDeleted else {
      throw PerdureError(
        .storeOperation,
        "\(object.objectID) stays in its store. Only a new, unsaved object of this context can be assigned."
      )
    }
    let target = try shape(of: overlay.shape, inStore: identifier)
    if target === overlay.shape { return }
    if overlay.hasPermanentID {
      throw PerdureError(
        .storeOperation,
        "\(object.objectID) is permanent, and names the store of the object. Assign the object before obtainPermanentIDs."
      )
    }
    if isLinked(overlay) {
      throw PerdureError(
        .storeOperation,
        "\(object.objectID) is connected with other objects. Assign an object to a store before connecting it."
      )
    }
    let reference: ObjectReference
    do { reference = try pending.allocator.next(target.number, from: viewState.store) } catch {
      var failure = PerdureError(
        .storeOperation, "The store \(identifier) has no id for a new object. The cause says why.")
      failure.cause = error
      throw failure
    }
    move(object, overlay, to: reference, target)
  }

  /// Whether there are links from or to a new object.
  private func isLinked(_ overlay: ObjectOverlay) -> Bool {
    if overlay.hasDeltas || overlay.shape.columnSlots.contains(where: { overlay.reference($0) != nil }) {
      return true
    }
    // The overlay of a target does not record one-way links to it. Only unsaved links can refer to
    // a new object.
    return pending.oneWaySources(of: [overlay.reference]).contains { $0.links(to: overlay.reference) }
  }

  /// The same entity in another store.
  private func shape(
    of shape: EntityShape, inStore identifier: String
  ) throws(PerdureError) -> EntityShape {
    guard let place = graph.stores.firstIndex(where: { $0.identifier == identifier }) else {
      throw PerdureError(
        .storeOperation,
        "The context has no store \(identifier). Its stores are "
          + "\(graph.stores.map(\.identifier).joined(separator: ", ")).")
    }
    let numbers = graph.stores[place].entityNumbers
    guard let target = graph.shapes(named: shape.name).first(where: { numbers.contains(Int($0.number)) })
    else {
      throw PerdureError(
        .incompatibleSchema,
        "The store \(identifier) was opened with a configuration that has no entity \(shape.name). Choose another store, "
          + "or add the entity to the configuration.")
    }
    if graph.stores[place].isReadOnly {
      throw PerdureError(
        .storeOperation, "The store \(identifier) was opened for reading only. Choose another store.")
    }
    return target
  }

  private func move(
    _ object: ManagedObject, _ old: ObjectOverlay, to reference: ObjectReference, _ shape: EntityShape
  ) {
    let overlay = ObjectOverlay(reference, shape, isNew: true, in: registry.memory)
    recording.excludingFromUndo {
      old.withColumns { values, _ in
        for slot in values.indices { overlay.setValue(values[slot], slot) }
      }
    }
    overlay.isTouched = old.isTouched
    overlay.takeOver(from: old)
    (overlay.transientsBefore, overlay.transientsAtEvent) = (old.transientsBefore, old.transientsAtEvent)
    (old.transientsBefore, old.transientsAtEvent) = (nil, nil)
    recording.rename(old.reference, reference)
    pending.remove(old.reference)
    old.object = nil
    registry.identityMap.remove(old.reference)
    object.header.pointee.move(to: reference, shape)
    registry.identityMap.insert(object, reference)
    pending.insert(overlay)
    registry.attach(overlay, to: object)
    viewState.linksChanged()
  }

  func obtainPermanentIDs(_ objects: [ManagedObject]) throws(PerdureError) {
    let strangers = objects.filter { !registry.has($0) }
    guard strangers.isEmpty else {
      throw .about(
        strangers.map(\.objectID), .unknownObjectID,
        "This context does not have these objects: they belong to another context, or were removed. Use objects of this context."
      )
    }
    let new = objects.filter { $0.overlay?.isNew == true }
    let refused = new.filter { pending.allocator.failure(of: $0.reference) != nil }
    if let first = refused.first {
      try viewState.checkIsOpen()
      var error = PerdureError.about(
        refused.map(\.objectID), .saveFailed,
        "The store had no ids for these objects when they were inserted.")
      error.cause = pending.allocator.failure(of: first.reference)
      throw error
    }
    for object in new { object.overlay?.hasPermanentID = true }
  }

  /// Changes the reference of an instance to another one of the same entity. No other instance may
  /// have the new reference. Drops the loaded row.
  func rename(_ object: ManagedObject, _ reference: ObjectReference) {
    registry.identityMap.remove(object.reference)
    object.header.pointee.overlay = nil
    object.header.pointee.dropRow()
    object.header.pointee.move(to: reference, graph.shape(of: reference))
    registry.identityMap.insert(object, reference)
    if let overlay = pending[reference] { registry.attach(overlay, to: object) }
    viewState.linksChanged()
  }
}

extension ManagedObjectContext {
  /// Chooses the store of a new object. The default is the first writable store of the container
  /// that has the object's entity.
  ///
  /// The object gets its id in that store: the id that `objectID` returned before becomes invalid.
  /// Call this method before the object is connected with other objects, because connected objects
  /// must be in one store. The object's initializer and `awakeFromInsert` must not connect it
  /// either.
  ///
  /// - Throws: `PerdureError` with code 134070 if the object is not a new object of this context,
  ///   is deleted, is already connected, or has a permanent id (`obtainPermanentIDs(for:)`). 134070
  ///   also if the store is not in this context, is open only for reading, or has no id for the
  ///   object. (For example, a store that was removed from the container has no id.) 134020 if the
  ///   store's configuration does not have the entity. If the call throws, nothing has changed.
  /// - Complexity: O(1); O(unsaved changes) if the entity is the destination of a relationship
  ///   without inverse. With an undo manager, also O(changes in its groups).
  public func assign(_ object: ManagedObject, to store: LoadedStore) throws(PerdureError) {
    core.checkOwner()
    try core.saving.stores.assign(object, toStore: store.identifier)
  }
}
