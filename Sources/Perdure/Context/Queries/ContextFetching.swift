// Fetches are planned and run on the view with the unsaved changes over it (LayeredView). So the
// condition, the order and the window apply to the objects as the context shows them. In contrast,
// Core Data first selects the window from the saved rows. A fetch first merges the saves of other
// contexts, if the context merges automatically.

internal import PerdurePredicates

/// Runs the fetches of a context.
final class ContextFetching {
  private let graph: GraphSchema
  private let registry: ObjectRegistry
  private let viewState: ViewState
  private let pending: PendingChanges
  @Shared private var reading: ContextReading
  private let hooks: ObjectHooks
  private let deleteRules: DeleteRules
  private let merging: ForeignMerging
  private let activity: ContextActivity
  // The exclusivity of accesses is not checked at run time: no access calls code of the program.
  @exclusivity(unchecked) private var uniqueKeys = UniqueKeys()

  init(
    _ reading: Shared<ContextReading>, hooks: ObjectHooks, deleteRules: DeleteRules,
    merging: ForeignMerging, activity: ContextActivity
  ) {
    graph = reading.graph
    registry = reading.registry
    viewState = reading.viewState
    pending = reading.pending
    _reading = reading
    self.hooks = hooks
    self.deleteRules = deleteRules
    self.merging = merging
    self.activity = activity
  }

  func fetch(_ wanted: ClassedRequest) throws -> [ManagedObject] {
    merging.mergeWaiting()
    return try fetchShown(wanted)
  }

  private func fetchShown(_ wanted: ClassedRequest) throws -> [ManagedObject] {
    let request = wanted.request
    let paths = try prefetchPaths(wanted)
    let objects = try found(wanted)
    let batchCount = request.fetchBatchSize == 0 ? SiblingGroup.blockCount : request.fetchBatchSize
    let siblings = reading.siblings.makeSiblings(
      objects, blockCount: batchCount, isPrefetching: !paths.isEmpty)
    if let siblings {
      for path in paths { reading.siblings.prefetch(path[...], of: siblings) }
    }
    if !request.returnsObjectsAsFaults {
      for object in objects where object.overlay?.isNew != true { _ = hooks.wake(object) }
    }
    try viewState.throwReadFailure()
    return objects
  }

  private func found(_ wanted: ClassedRequest) throws -> [ManagedObject] {
    let takesRows = wanted.request.includesPropertyValues && wanted.request.fetchBatchSize == 0
    return try reading {
      let (fetch, shown) = try compiled(wanted)
      var objects: [ManagedObject] = []
      let limit = wanted.request.fetchLimit
      objects.reserveCapacity(limit > 0 ? min(limit, 256) : 16)
      try shown.visit(fetch, needsRows: takesRows) { reference, row in
        objects.append(instance(of: reference, wanted, takesRows ? row : nil))
        return true
      }
      return objects
    }
  }

  func fetchIDs(_ wanted: ClassedRequest) throws -> [ManagedObjectID] {
    merging.mergeWaiting()
    return try reading {
      let (fetch, shown) = try compiled(wanted)
      var ids: [ManagedObjectID] = []
      try shown.visit(fetch, needsRows: false) { reference, _ in
        ids.append(pending.objectID(of: reference))
        return true
      }
      return ids
    }
  }

  func count(_ wanted: ClassedRequest) throws -> Int {
    merging.mergeWaiting()
    return try reading {
      let (fetch, shown) = try compiled(wanted)
      return try shown.count(fetch)
    }
  }

  func explain(_ wanted: ClassedRequest) throws -> String {
    merging.mergeWaiting()
    return try reading {
      let (fetch, shown) = try compiled(wanted)
      let plans = try FetchRun(fetch, shown).descriptions()
      if graph.stores.count == 1, wanted.request.affectedStores == nil { return plans[0] }
      if plans.isEmpty { return "no store" }
      return zip(fetch.entities, plans).map { entity, plan in
        "store \(graph.shape(numbered: entity).identity.storeIdentifier): \(plan)"
      }.joined(separator: "\n")
    }
  }

  /// Runs a fetch. Throws errors of the request, cancellations and every `PerdureError` unchanged.
  /// Throws any other error as the cause of a `readFailed` error.
  private func reading<R>(_ body: () throws -> R) throws -> R {
    viewState.statistics.fetchRequestCount += 1
    return try translatingErrors(body)
  }

  /// Evaluates a predicate for objects of the program, with the checks and errors of a fetch.
  func evaluating<R>(_ body: () throws -> R) throws -> R {
    deleteRules.propagateDeletes()
    return try translatingErrors {
      try viewState.view.checkIsOpen()
      return try body()
    }
  }

  private func translatingErrors<R>(_ body: () throws -> R) throws -> R {
    let result: R
    do {
      result = try body()
    } catch let error as PredicateEvaluationError where error.code == .sourceFailed {
      throw Self.failure(of: error.cause ?? error)
    } catch let error as PredicateEvaluationError {
      throw error
    } catch let error where error is FetchError || error is PerdureError || error is CancellationError {
      throw error
    } catch {
      throw Self.failure(of: error)
    }
    try viewState.throwReadFailure()
    return result
  }

  private static func failure(of cause: any Error) -> any Error {
    if cause is FetchError { return cause }
    var failure = PerdureError(
      .readFailed,
      cause is StoreViewExpired
        ? "The store no longer has the state that the context shows. Refresh the context and fetch again."
        : "The store could not be read. Fetch again, or verify the store and restore it from a backup.")
    failure.cause = cause
    return failure
  }

  /// Compiles the fetch of a request. Also returns the state to read: the view, or the view with
  /// the unsaved changes if the request includes them.
  private func compiled(_ wanted: ClassedRequest) throws -> (fetch: CompiledFetch, shown: any StateReader) {
    let request = wanted.request
    try prepareReading(includesPendingChanges: request.includesPendingChanges)
    var query = try request.query(graph.store, entityOfClass: try entityName(of: wanted))
    let entities = try entities(query.entity, in: request.affectedStores)
    for entity in entities {
      try viewState.throwRefreshFailure(ofPlace: graph.place(ofEntity: entity))
      try checkClass(wanted, of: entity)
    }
    if let first = entities.first { query.entity = first }
    let cancellation = FetchCancellation(flag: activity.cancellation)
    let fetch = CompiledFetch(query, entities: entities, graph, cancellation)
    return (fetch, request.includesPendingChanges ? try reading.layerFollower.shownView() : viewState.view)
  }

  /// The numbers of an entity in the stores of a request.
  private func entities(_ entity: UInt16, in affected: [LoadedStore]?) throws(FetchError) -> [UInt16] {
    let entities = graph.entities(like: entity)
    guard let affected else { return entities }
    for store in affected where !graph.stores.contains(where: { $0.identifier == store.identifier }) {
      throw FetchError(
        .unknownStore,
        "affectedStores names the store \(store.identifier), which this context does not have. Name stores of its "
          + "container.", entity: graph.shape(numbered: entity).name)
    }
    let identifiers = Set(affected.map(\.identifier))
    return entities.filter { identifiers.contains(graph.shape(numbered: $0).identity.storeIdentifier) }
  }

  private func prepareReading(includesPendingChanges: Bool) throws {
    if includesPendingChanges { deleteRules.propagateDeletes() }
    // A closed store is reported before a failed read: a rollback clears only a failed read.
    try viewState.view.checkIsOpen()
    try viewState.throwReadFailure()
  }

  /// The name of the context's entity for the request's class. If there is none, returns an empty
  /// name for a request that names an entity. For any other request, returns the name that the
  /// class declares; throws if it declares none.
  func entityName(of wanted: ClassedRequest) throws(FetchError) -> String {
    if let shape = graph.shape(of: wanted.objectClass) { return shape.name }
    if wanted.request.entityName != nil { return "" }
    guard !wanted.objectClass._entityName.isEmpty else { throw .noEntity }
    return wanted.objectClass._entityName
  }

  /// Throws if objects of the entity can have a class that the request cannot return.
  func checkClass(_ wanted: ClassedRequest, of entity: UInt16) throws(FetchError) {
    for number in graph.store.entity(entity).concrete {
      let shape = graph.shape(numbered: number)
      if wanted.accepts(shape.objectClass) { continue }
      throw FetchError.otherClass(shape.objectClass, than: wanted.objectClass, entity: shape.name)
    }
  }

  /// The instance of a reference, checked against the class of the request. A fault gets the row
  /// that the fetch has read.
  @inline(__always)
  private func instance(
    of reference: ObjectReference, _ wanted: ClassedRequest, _ row: StoredRow?
  ) -> ManagedObject {
    let object = registry.instance(of: reference)
    wanted.check(object)
    if let row { reading.rows.adopt(row, object) }
    return object
  }

  /// The paths that a request prefetches.
  ///
  /// - Throws: `FetchError` if a path does not fit the model, or the batch size is negative.
  func prefetchPaths(_ wanted: ClassedRequest) throws -> [[String]] {
    let request = wanted.request
    guard request.fetchBatchSize >= 0 else {
      throw FetchError(
        .invalidWindow, "fetchBatchSize is \(request.fetchBatchSize). Use 0, or a positive number.",
        entity: request.entityName ?? wanted.objectClass._entityName)
    }
    if request.relationshipKeyPathsForPrefetching.isEmpty { return [] }
    let query = try request.query(graph.store, entityOfClass: try entityName(of: wanted))
    let entity = graph.store.entity(query.entity)
    return try request.relationshipKeyPathsForPrefetching.map {
      try graph.store.relationshipNames($0, from: entity)
    }
  }

  /// The evaluator of a predicate for an entity, after the checks and transformations of a fetch.
  func evaluator(
    _ predicate: FetchPredicate, ofEntity number: UInt16
  ) throws -> PredicateEvaluator {
    var query = FetchQuery(entity: number)
    query.predicate = predicate
    let fetch = try graph.prepared(query, viewState.view.schema)
    return PredicateEvaluator(fetch.predicate, now: fetch.now)
  }
}

// MARK: - Lookups by a unique key

extension ContextFetching {
  /// The object of a class's entity with a unique key; nil if there is none.
  ///
  /// - Throws: The errors of a fetch. `FetchError` with the code `notUnique` if no uniqueness
  ///   constraint consists of this attribute alone.
  func object<T: ManagedObject>(
    _ type: T.Type, _ keyPath: PartialKeyPath<T>, _ key: Value
  ) throws -> ManagedObject? {
    merging.mergeWaiting()
    let unique: UniqueKey
    if let known = uniqueKeys.key(type, keyPath) {
      unique = known
    } else {
      // Runs accessors of the program, which can use this context.
      let name = T.propertyName(of: keyPath)
      unique = try uniqueKey(ClassedRequest(FetchRequest<T>()), name)
      uniqueKeys.note(unique, type, keyPath)
    }
    guard let (index, range) = unique.range(key) else {
      return try fetchShown(ClassedRequest(FetchRequest<T>(predicate: unique.predicate(key)))).first
    }
    return try reading { try object(of: unique.entity, index, range) }
  }

  private func uniqueKey(_ wanted: ClassedRequest, _ name: String) throws(FetchError) -> UniqueKey {
    let query = try wanted.request.query(graph.store, entityOfClass: try entityName(of: wanted))
    for entity in graph.entities(like: query.entity) { try checkClass(wanted, of: entity) }
    return try UniqueKey(graph.shape(numbered: query.entity), name, in: graph)
  }

  private func object(
    of entity: EntityShape, _ index: StoreIndex, _ range: KeyRange
  ) throws -> ManagedObject? {
    try prepareReading(includesPendingChanges: true)
    try viewState.throwRefreshFailure(ofPlace: graph.place(ofEntity: entity.number))
    let shown = try reading.layerFollower.shownView()
    var found: ObjectReference?
    try shown.visitEntries(index, range, descending: false) { _, reference in
      found = reference
      return false
    }
    guard let found else { return nil }
    let object = registry.instance(of: found)
    if object.header.pointee.row != nil || object.overlay != nil { return object }
    // The instance is created first, and is released if the index names a row that does not exist.
    var exists = false
    try shown.row(found) { row in
      exists = true
      reading.rows.adopt(row, object)
    }
    return exists ? object : nil
  }
}
