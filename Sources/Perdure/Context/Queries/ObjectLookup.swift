// Lookups of objects by their ids.

internal import PerdurePredicates

/// Finds the object with a given id.
final class ObjectLookup {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader
  private let eventHub: EventHub
  private let hooks: ObjectHooks
  private let merging: ForeignMerging

  init(
    _ reading: Shared<ContextReading>, _ eventHub: EventHub, hooks: ObjectHooks, merging: ForeignMerging
  ) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    rows = reading.rows
    self.eventHub = eventHub
    self.hooks = hooks
    self.merging = merging
  }

  func object(with id: ManagedObjectID) -> ManagedObject {
    guard let reference = graph.reference(of: id) else {
      stop("\("\(id)".shortened) \(Self.isUnknown) existingObject(with:) throws instead.")
    }
    // The first read of an object that is not in the view removes its instance permanently.
    // Therefore waiting saves are merged first, because one of them may have inserted the object.
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

  /// The object with an id, and with its row loaded; nil if the context's state has no such object.
  func objectIfExists(with id: ManagedObjectID) throws(PerdureError) -> ManagedObject? {
    guard let reference = graph.reference(of: id) else {
      throw PerdureError(.unknownObjectID, "\("\(id)".shortened) \(Self.isUnknown)")
    }
    mergeIfUnknown(reference)
    let object = registry.instance(of: reference)
    rows.isLooking = true
    defer { rows.isLooking = false }
    if object.overlay?.isNew != true, !hooks.wake(object) {
      // If the row does not exist, `wake` has marked the object as gone. Otherwise the row could
      // not be read, and the recorded failure is thrown. It may be the failure of an earlier read.
      if !object.header.pointee.isGone { try viewState.throwReadFailure() }
      return nil
    }
    return object
  }

  /// Merges the waiting saves if the context merges automatically and does not contain the object.
  private func mergeIfUnknown(_ reference: ObjectReference) {
    if eventHub.inbox == nil || pending[reference] != nil || rows.viewVersion(of: reference) != nil {
      return
    }
    merging.mergeWaiting()
  }

  private static let isUnknown =
    "belongs to another store, or to an entity that this store does not have. Use ids of this container's stores."

  func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    graph.reference(of: id).flatMap { registry.identityMap.object($0) }
  }
}
