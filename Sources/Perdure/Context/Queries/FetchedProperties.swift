// The results of fetched properties.
//
//   FP1. A cached result is stored under the reference of its owner, until the owner's instance is
//        refreshed or no longer registered. A rollback, a reset and `refreshAllObjects()` discard
//        all results.
//   FP2. A result is kept as references, so it keeps no instances in memory. Objects that the
//        context sees as deleted are omitted when the result is read.

internal import PerdurePredicates

/// Fetches the objects of fetched properties, and caches them.
struct FetchedProperties {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  private let rows: RowLoader
  private let retirement: ObjectRetirement
  private let fetching: ContextFetching

  init(_ reading: Shared<ContextReading>, _ fetching: ContextFetching) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    rows = reading.rows
    retirement = reading.retirement
    self.fetching = fetching
  }

  /// The objects of a fetched property. If the fetch fails, there are none, and the next fetch or
  /// save throws the error.
  ///
  /// - Parameter classed: Makes the request for objects of the class that the caller expects.
  func objects(
    _ name: String, of owner: ManagedObject,
    _ classed: (FetchRequest<ManagedObject>) -> ClassedRequest
  ) -> [ManagedObject] {
    guard let property = owner.shape.fetchedProperties[name] else { stop(owner.shape.complaint(about: name)) }
    // A probe only finds out which attribute an accessor reads. A removed object has no results.
    if retirement.probedReads != nil || owner.header.pointee.isGone { return [] }
    do {
      if let flaw = property.flaw { throw FetchError.unusable(flaw, name, of: owner.shape.name) }
      let wanted = classed(try property.request(for: owner))
      if property.isCached, let kept = registry.cachedFetches[owner.reference]?[name] {
        return try kept.compactMap { try presentInstance(of: $0, wanted) }
      }
      let objects = try fetching.fetch(wanted)
      if property.isCached {
        registry.cachedFetches[owner.reference, default: [:]][name] = objects.map(\.reference)
      }
      return objects
    } catch {
      noteFetchFailure(error, name, owner)
      return []
    }
  }

  private func presentInstance(
    of reference: ObjectReference, _ wanted: ClassedRequest
  ) throws(FetchError) -> ManagedObject? {
    let isPresent = pending[reference].map { !$0.isDeleted && !viewState.hasVanished(reference) }
    guard isPresent ?? (rows.viewVersion(of: reference) != nil) else { return nil }
    let shape = graph.shape(numbered: reference.entityNumber)
    guard wanted.accepts(shape.objectClass) else {
      throw .otherClass(shape.objectClass, than: wanted.objectClass, entity: shape.name)
    }
    return registry.instance(of: reference)
  }

  private func noteFetchFailure(_ error: any Error, _ name: String, _ owner: ManagedObject) {
    guard viewState.readFailure == nil else { return }
    var failure = PerdureError(
      .readFailed,
      "The fetched property \(name) of \(owner.objectID) could not be fetched, and was read as empty. The "
        + "context cannot fetch or save until it is rolled back or reset. Correct the property.")
    failure.cause = error
    viewState.readFailure = failure
  }
}

extension FetchError {
  fileprivate static func unusable(
    _ flaw: FetchRequestFlaw, _ name: String, of entity: String
  ) -> FetchError {
    FetchError(
      .fetchedProperty,
      "The fetched property \(entity).\(name) cannot be used. \(flaw.message) \(flaw.remedy)",
      entity: entity, key: name)
  }
}
