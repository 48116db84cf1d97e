// The instances of ids and references, and their registration.

internal import PerdurePredicates

extension ContextCore {
  func object(with id: ManagedObjectID) -> ManagedObject {
    checkOwner()
    guard let reference = graph.reference(of: id) else {
      stop("\("\(id)".shortened) \(Self.isUnknown) existingObject(with:) throws instead.")
    }
    // The first read of an object that is not in the view removes its instance for good. Therefore
    // the save that inserted the object is merged before the program gets an instance.
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
      // An object without a row is now removed. Any other object could not be read, even if an
      // earlier read had failed.
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

  // MARK: Registration, called by instances

  /// Called by every instance when it is created. The first one retains the context for all.
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

  /// Called by every instance in its deinitializer. The last one releases the context.
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
    // Without instances, no group is needed any more.
    registry.siblingGroups.removeAll()
    Unmanaged.passUnretained(self).release()
  }
}
