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
    if let inbox = eventHub.inbox,
      !inbox.isEmpty || viewState.isChild && registry.identityMap.object(reference) == nil
    {
      mergeIfUnknown(reference)
    }
    return registry.instance(of: reference)
  }

  func existingObject(with id: ManagedObjectID) throws(PerdureError) -> ManagedObject {
    if let object = try objectIfExists(with: id) { return object }
    throw PerdureError(
      .objectNotFound,
      "The state that this context reads has no object \(id). If another context has saved it since, call "
        + "refreshAllObjects() and ask again.")
  }

  /// The object with an identity, with its row loaded; nil if the state has no such object.
  func objectIfExists(with id: ManagedObjectID) throws(PerdureError) -> ManagedObject? {
    checkOwner()
    guard let reference = graph.reference(of: id) else {
      throw PerdureError(.unknownObjectID, "\("\(id)".shortened) \(Self.isUnknown)")
    }
    mergeIfUnknown(reference)
    let object = registry.instance(of: reference)
    reading.rows.isLooking = true
    defer { reading.rows.isLooking = false }
    if object.overlay?.isNew != true, !editing.hooks.wake(object) {
      // What has no row is gone now. What is not could not be read, whether or not it is the first.
      if !object.header.pointee.isGone { try viewState.throwReadFailure() }
      return nil
    }
    return object
  }

  /// Merges waiting saves, in a context that merges automatically, if the context does not see an
  /// object.
  private func mergeIfUnknown(_ reference: ObjectReference) {
    if eventHub.inbox == nil || pending[reference] != nil || reading.rows.viewVersion(of: reference) != nil {
      return
    }
    mergeWaiting()
  }

  private static let isUnknown =
    "belongs to another store, or to an entity that this store does not have. Use ids of this container's stores."

  func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    checkOwner()
    return graph.reference(of: id).flatMap { registry.identityMap.object($0) }
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

  // MARK: Registration, called by instances

  /// Called by every instance: the first one keeps the context alive for all.
  func didMake(_ object: ManagedObject) {
    registry.instanceCount &+= 1
    if registry.instanceCount == 1 { _ = Unmanaged.passRetained(self) }
    let reference = object.header.pointee.reference
    registry.identityMap.insert(object, reference)
    if object.uncountedShape._withUnsafeGuaranteedRef({ $0.followsRow }) {
      editing.hooks.sleep(object.header)
    }
    if !pending.isEmpty, let overlay = pending[reference] { registry.attach(overlay, to: object) }
    registry.retain(object)
  }

  /// Called by every instance as the last thing it does: with the last one the context may go.
  func willFree(_ object: ManagedObject) {
    let header = object.header
    if header.pointee.isKept { viewState.linksChanged() }
    if header.pointee.kept != nil { header.pointee.dropKept() }
    if !header.pointee.isGone {
      registry.identityMap.remove(header.pointee.reference)
      registry.forgetFetched(of: header.pointee.reference)
    } else if !registry.removedInstances.isEmpty {
      registry.forgetRemoved(object)
    }
    // The header may be kept for the next instance.
    let isLasting = header.pointee.groupNumber & SiblingGroup.lastingMark != 0
    if !isLasting || !registry.leaveSiblings(header) { header.free() }
    registry.instanceCount &-= 1
    guard registry.instanceCount == 0 else { return }
    // Nobody is there to fire together with: their memory can go.
    registry.siblingGroups.removeAll()
    Unmanaged.passUnretained(self).release()
  }

  // MARK: Faults
}
