// The instances that a context retains, permanent ids, and faults without a row.

internal import PerdurePredicates

extension ManagedObjectContext {
  /// Whether the context retains every registered object until the context is reset or released, or
  /// this property becomes false. Initially false: the context then retains only objects with
  /// unsaved changes, and other objects are freed when they are released.
  public var retainsRegisteredObjects: Bool {
    get { core.registry.retainsInstances }
    set {
      core.checkOwner()
      core.registry.retainObjects(newValue)
    }
  }

  /// Whether a fault counts as deleted if another context has removed its row. If true, the initial
  /// value, such a fault reads as having no values. If false, it does not count as deleted. After
  /// an access to it, all fetches and saves of the context throw
  /// `PerdureError.Code.objectNotFound`, 133000, until the context is rolled back or reset.
  public var shouldDeleteInaccessibleFaults: Bool {
    get { core.reading.rows.deletesInaccessibleFaults }
    set {
      core.checkOwner()
      core.reading.rows.deletesInaccessibleFaults = newValue
    }
  }

  /// Makes the ids of new objects permanent before they are saved: `ManagedObjectID.isTemporaryID`
  /// of later ids is false, and the objects can no longer be assigned to another store. The numbers
  /// in the ids do not change: they are final from the insertion on, and never reused. Objects that
  /// have rows are skipped.
  ///
  /// - Throws: `PerdureError`, and nothing has changed. 134030 with `objectIDs`: a store had no ids
  ///   for these objects. 134060: the container is closed. 133010 with `objectIDs`: these objects
  ///   do not belong to this context.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws(PerdureError) {
    core.checkOwner()
    try core.saving.stores.obtainPermanentIDs(objects)
  }
}

extension PerdureError {
  static func about(_ objects: [ManagedObjectID], _ code: Code, _ message: String) -> PerdureError {
    var error = PerdureError(code, message)
    error.objectIDs = objects
    return error
  }
}
