// Which instances a context keeps, which ids are final, and what a fault without a row is.

internal import PerdurePredicates

extension ManagedObjectContext {
  /// Whether the context retains every registered object until it is reset, this property changes,
  /// or the context is released. Initially false: the context then retains only objects with
  /// unsaved changes, and other objects are freed when they are released.
  public var retainsRegisteredObjects: Bool {
    get { core.retained != nil }
    set { core.retainObjects(newValue) }
  }

  /// Whether a fault whose row another context has removed counts as deleted and reads as having no
  /// values. If false, such a fault does not count as deleted. When it is touched, the next fetch
  /// or save of the context throws `PerdureError.Code.objectNotFound`, 133000, and so do later ones
  /// until the context is rolled back or reset. Initially true.
  public var shouldDeleteInaccessibleFaults: Bool {
    get { core.deletesInaccessibleFaults }
    set { core.deletesInaccessibleFaults = newValue }
  }

  /// Makes the ids of new objects permanent before they are saved: `ManagedObjectID.isTemporaryID`
  /// of later ids is false, and the objects can no longer be assigned to another store. The numbers
  /// do not change: they are final from the insertion on, and never reused. Objects that have rows
  /// are skipped.
  ///
  /// - Throws: `PerdureError`, and nothing has changed: 134030 with `objectIDs` if a store had no
  ///   ids for them; 133010 with `objectIDs` for objects that do not belong to this context.
  public func obtainPermanentIDs(for objects: [ManagedObject]) throws(PerdureError) {
    try core.obtainPermanentIDs(objects)
  }
}

extension ContextCore {
  func obtainPermanentIDs(_ objects: [ManagedObject]) throws(PerdureError) {
    checkOwner()
    let strangers = objects.filter { $0.context !== self }
    guard strangers.isEmpty else {
      throw .about(
        strangers.map(\.objectID), .unknownObjectID,
        "These objects belong to another context. Use objects of this one.")
    }
    let new = objects.filter { $0.overlay?.isNew == true }
    let refused = new.filter { allocator.failure(of: $0.reference) != nil }
    if let first = refused.first {
      var error = PerdureError.about(
        refused.map(\.objectID), .saveFailed,
        "The store had no ids for these objects when they were inserted.")
      error.cause = allocator.failure(of: first.reference)
      throw error
    }
    for object in new { object.overlay?.hasPermanentID = true }
  }

  func retainObjects(_ retains: Bool) {
    checkOwner()
    guard retains != (retained != nil) else { return }
    guard retains else { return releaseRetained() }
    var all: [ObjectIdentifier: ManagedObject] = [:]
    for object in identityMap.objects { all[ObjectIdentifier(object)] = object }
    retained = all
  }

  /// Lets go of all instances.
  func releaseRetained() {
    let released = retained
    retained = nil
    // Their ends come back here.
    withExtendedLifetime(released) {}
  }

  /// Keeps an instance that is registered, where those are to be kept.
  @inline(__always)
  func retain(_ object: ManagedObject) {
    if retained != nil { retained?[ObjectIdentifier(object)] = object }
  }

  /// Lets go of an instance that is registered no more.
  func release(_ object: ManagedObject) {
    guard retained != nil else { return }
    let released = retained?.removeValue(forKey: ObjectIdentifier(object))
    withExtendedLifetime(released) {}
  }

  /// The row of an object is gone, and somebody has touched it.
  func inaccessible(_ object: ManagedObject) {
    if deletesInaccessibleFaults || isLooking { return vanish(object) }
    guard object.overlay == nil, readFailure == nil else { return }
    readFailure = .about(
      [object.objectID], .objectNotFound,
      "\(object.objectID) was touched, and another context has removed it. The context cannot fetch or save until it is "
        + "rolled back or reset.")
  }
}

extension PerdureError {
  static func about(_ objects: [ManagedObjectID], _ code: Code, _ message: String) -> PerdureError {
    var error = PerdureError(code, message)
    error.objectIDs = objects
    return error
  }
}
