// From a reference to an instance, and from an instance to its row.

internal import PerdurePredicates

extension ContextCore {
  func object(with id: ManagedObjectID) -> ManagedObject {
    checkOwner()
    guard let reference = graph.reference(of: id) else {
      stop("\("\(id)".shortened) \(Self.isUnknown) existingObject(with:) throws instead.")
    }
    // The first read of an object that the state lacks removes its instance for good. So merges the
    // save that inserted it before the program gets an instance to read.
    if let inbox, !inbox.isEmpty || isChild && identityMap.object(reference) == nil {
      mergeIfUnknown(reference)
    }
    return instance(of: reference)
  }

  func existingObject(with id: ManagedObjectID) throws(PerdureError) -> ManagedObject {
    checkOwner()
    guard let reference = graph.reference(of: id) else {
      throw PerdureError(.unknownObjectID, "\("\(id)".shortened) \(Self.isUnknown)")
    }
    mergeIfUnknown(reference)
    let object = instance(of: reference)
    isLooking = true
    defer { isLooking = false }
    if object.overlay?.isNew != true, !wake(object) {
      // What has no row is gone now. What is not could not be read, whether or not it is the first.
      if !object.header.pointee.isGone, let readFailure { throw readFailure }
      throw PerdureError(
        .objectNotFound,
        "The state that this context reads has no object \(id). If another context has saved it since, call "
          + "refreshAllObjects() and ask again.")
    }
    return object
  }

  /// Merges waiting saves, in a context that merges automatically, if the context does not see an
  /// object.
  private func mergeIfUnknown(_ reference: ObjectReference) {
    if inbox == nil || tracker[reference] != nil || viewVersion(of: reference) != nil { return }
    mergeWaiting()
  }

  private static let isUnknown =
    "belongs to another store, or to an entity that this store does not have. Use ids of this container's stores."

  func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    checkOwner()
    return graph.reference(of: id).flatMap { identityMap.object($0) }
  }

  /// The reference by which this context knows an object, which may be another context's; nil where it cannot be
  /// at the other end of a relationship: it is of another store, or of an entity that does not belong there.
  func reference(of object: ManagedObject, in relationship: RelationshipShape) -> ObjectReference? {
    // Contexts that were made with other stores number the same objects in another way.
    guard object.core === self else { return reference(of: object.objectID, in: relationship) }
    return graph.isKind(object.reference.entityNumber, of: relationship.destination) ? object.reference : nil
  }

  /// As above, of an id.
  func reference(of id: ManagedObjectID, in relationship: RelationshipShape) -> ObjectReference? {
    guard let reference = graph.reference(of: id),
      graph.isKind(reference.entityNumber, of: relationship.destination)
    else { return nil }
    return reference
  }

  /// The one instance of a reference.
  func instance(of reference: ObjectReference) -> ManagedObject {
    if let object = identityMap.object(reference) { return object }
    return makeInstance(of: reference)
  }

  /// The first instance of a reference.
  func makeInstance(of reference: ObjectReference) -> ManagedObject {
    graph.uncountedShape(of: reference)._withUnsafeGuaranteedRef { shape in
      shape.objectClass.init(ObjectSeed(core: self, shape: shape, reference: reference))
    }
  }

  func objectID(of reference: ObjectReference) -> ManagedObjectID {
    graph.id(of: reference, isTemporary: tracker[reference]?.hasTemporaryID ?? false)
  }

  // MARK: Registration, called by instances

  /// Called by every instance: the first one keeps the context alive for all.
  func didMake(_ object: ManagedObject) {
    instanceCount &+= 1
    if instanceCount == 1 { _ = Unmanaged.passRetained(self) }
    let reference = object.header.pointee.reference
    identityMap.insert(object, reference)
    if object.uncountedShape._withUnsafeGuaranteedRef({ $0.followsRow }) { sleep(object.header) }
    if !tracker.isEmpty, let overlay = tracker[reference] { attach(overlay, to: object) }
    retain(object)
  }

  /// Called by every instance as the last thing it does: with the last one the context may go.
  func willFree(_ object: ManagedObject) {
    let header = object.header
    if header.pointee.isKept { linksChanged() }
    if header.pointee.kept != nil { header.pointee.dropKept() }
    if !header.pointee.isGone {
      identityMap.remove(header.pointee.reference)
      forgetFetched(of: header.pointee.reference)
    } else if !removedInstances.isEmpty {
      forgetRemoved(object)
    }
    // The header may be kept for the next instance.
    let isLasting = header.pointee.groupNumber & SiblingGroup.lastingMark != 0
    if !isLasting || !leaveSiblings(header) { header.free() }
    instanceCount &-= 1
    guard instanceCount == 0 else { return }
    // Nobody is there to fire together with: their memory can go.
    siblingGroups.removeAll()
    Unmanaged.passUnretained(self).release()
  }

  func attach(_ overlay: ObjectOverlay, to object: ManagedObject) {
    if !isAbandoned { overlay.object = object }
    object.header.pointee.overlay = .passUnretained(overlay)
    if overlay.changesRow { object.header.pointee.shut() }
  }

  /// Takes an instance out of the context, because the object is no more or the context is reset. What it has
  /// loaded stays readable; transient values are gone (T4 in TransientValues.swift).
  func retire(_ object: ManagedObject) {
    identityMap.remove(object.reference)
    forgetFetched(of: object.reference)
    linksChanged()
    object.header.pointee.epoch = 0
    object.header.pointee.overlay = nil
    object.header.pointee.savedState = nil
    object.header.pointee.wakefulness.insert(.gone)
    object.dropTransients()
    release(object)
  }

  // MARK: Faults

  /// Makes sure that an object's row is there and is the view's; false when the object has none.
  func loadRow(of object: ManagedObject) -> Bool {
    let header = object.header
    if header.pointee.isGone || object.overlay?.isNew == true { return false }
    dropStaleRow(of: object)
    if header.pointee.isGone { return false }
    if header.pointee.row != nil { return true }
    return fireFault(object)
  }

  /// Forgets a loaded row that is not the view's, also under unsaved changes: what is not changed here is shown
  /// as the store has it, or the ends of a relationship would not agree. The overlay knows the version that its
  /// changes were made to, so the save finds out about the conflict.
  func dropStaleRow(of object: ManagedObject) {
    let header = object.header
    guard header.pointee.row != nil, !header.pointee.isReady else { return }
    if header.pointee.isCurrent { return markCurrent(object) }
    let newest: RowVersion?
    do { newest = try view.version(of: object.reference) } catch {
      return noteReadFailure(error, object.reference)
    }
    if newest == nil, object.overlay == nil, deletesInaccessibleFaults || isLooking {
      vanish(object)
    } else if newest != header.pointee.version {
      if newest == nil { keepLastRow(of: object) }
      header.pointee.dropRow()
    } else {
      markCurrent(object)
    }
  }

  /// Notes that an object's row is the view's. Accessors read it at once, unless the object has
  /// unsaved changes or has to be told of the row first.
  private func markCurrent(_ object: ManagedObject) {
    object.header.pointee.epoch = epoch
    if object.overlay?.changesRow == true || object.header.pointee.wakefulness.contains(.drowsy) {
      object.header.pointee.shut()
    }
  }

  private func fireFault(_ object: ManagedObject) -> Bool {
    if fireBlock(of: object) { return true }
    statistics.rowRequestCount += 1
    do {
      var isFound = false
      try view.row(object.reference) { stored in
        let row = try graph.store.rows.view(stored.bytes, of: object.reference)
        object.header.pointee.setRow(row, version: stored.version)
        isFound = true
      }
      guard isFound else {
        inaccessible(object)
        return false
      }
      statistics.rowCount += 1
      object.header.pointee.rowArrived(epoch)
      if object.overlay?.changesRow == true { object.header.pointee.shut() }
      return true
    } catch {
      noteReadFailure(error, object.reference)
      return false
    }
  }

  /// Removes an object from the context because the store no longer has its row. Its loaded row
  /// stays readable. Does nothing for an object with unsaved changes: the save reports it.
  ///
  /// - Parameter lastRow: The row to show if none was loaded.
  func vanish(_ object: ManagedObject, _ lastRow: KeptRow? = nil) {
    guard object.overlay == nil, !object.header.pointee.isGone else { return }
    object.header.pointee.hasVanished = true
    retire(object)
    removedInstances[object.reference] = .passUnretained(object)
    if object.header.pointee.row == nil, let lastRow { showLastRow(lastRow.bytes, lastRow.version, object) }
  }

  /// Keeps an error that an accessor cannot throw.
  func noteReadFailure(_ error: any Error, _ reference: ObjectReference) {
    guard readFailure == nil else { return }
    let reason =
      error is StoreViewExpired ? ", because the store no longer has the state that the context shows" : ""
    var failure = PerdureError(
      .readFailed,
      "\(graph.id(of: reference)) could not be read\(reason). "
        + "The context cannot save until it is rolled back or reset.")
    failure.cause = error
    readFailure = failure
  }

  /// The row of an object whether it has an instance or not, without making one.
  func withRow<R>(_ reference: ObjectReference, _ body: (RowView, RowVersion) -> R) -> R? {
    if let object = identityMap.object(reference) {
      guard loadRow(of: object), let row = object.header.pointee.loadedRow else { return nil }
      return body(row, object.header.pointee.version)
    }
    statistics.uninstantiatedRowCount += 1
    do {
      return try view.withRow(reference) { stored in
        guard let stored else { return nil }
        return body(try graph.store.rows.view(stored.bytes, of: reference), stored.version)
      }
    } catch {
      noteReadFailure(error, reference)
      return nil
    }
  }

  /// The row of an object in the state that the context sees, whatever row its instance has.
  func withStoredRow<R>(_ reference: ObjectReference, _ body: (RowView) -> R) -> R? {
    do {
      return try view.withRow(reference) { stored in
        guard let stored else { return nil }
        return body(try graph.store.rows.view(stored.bytes, of: reference))
      }
    } catch {
      noteReadFailure(error, reference)
      return nil
    }
  }
}
