// Fetches: planned on the view, run on rows, with the unsaved changes laid over.

internal import PerdurePredicates

extension ContextCore {
  func fetch<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [T] {
    let paths = try prefetchPaths(request)
    let objects = try found(request)
    let batchCount = request.fetchBatchSize == 0 ? SiblingGroup.blockCount : request.fetchBatchSize
    let siblings = makeSiblings(objects, blockCount: batchCount, isPrefetching: !paths.isEmpty)
    if let siblings {
      for path in paths { prefetch(path[...], of: siblings) }
    }
    if !request.returnsObjectsAsFaults {
      for object in objects where object.overlay?.isNew != true { _ = wake(object) }
    }
    if let readFailure { throw readFailure }
    return objects
  }

  private func found<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [T] {
    let takesRows = request.includesPropertyValues && request.fetchBatchSize == 0
    return try reading {
      var objects: [T] = []
      if asksJointly(request) {
        try joinedFetch(request).visit { reference, row in
          let object = typedInstance(of: reference, T.self)
          if takesRows, let row { adopt(row, object) }
          objects.append(object)
        }
        return objects
      }
      let query = try checkedQuery(request)
      let pending = pending(request)
      if pending == nil, let key = uniqueKey(query) {
        try key.visit(view) { reference in
          let row = takesRows ? try view.row(reference) : nil
          if takesRows, row == nil { return }
          let object = typedInstance(of: reference, T.self)
          if let row { adopt(row, object) }
          objects.append(object)
        }
        return objects
      }
      try executor(query, pending).visit(needsRows: takesRows) { reference, row in
        let object = typedInstance(of: reference, T.self)
        if takesRows, let row { adopt(row, object) }
        objects.append(object)
        return true
      }
      return objects
    }
  }

  func fetchIDs<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [ManagedObjectID] {
    try reading {
      try (asksJointly(request) ? joinedFetch(request).references() : executor(request).references())
        .map(objectID)
    }
  }

  func count<T: ManagedObject>(_ request: FetchRequest<T>) throws -> Int {
    try reading { try asksJointly(request) ? joinedFetch(request).count() : executor(request).count() }
  }

  func explain<T: ManagedObject>(_ request: FetchRequest<T>) throws -> String {
    try reading {
      try asksJointly(request) ? joinedFetch(request).description : executor(request).plan.description
    }
  }

  /// Runs a fetch. What is wrong with the request is thrown as it is, everything else as a store that cannot
  /// be read.
  private func reading<R>(_ body: () throws -> R) throws -> R {
    statistics.fetchRequestCount += 1
    let result: R
    do {
      result = try body()
    } catch let error as PredicateEvaluationError where error.code == .sourceFailed {
      throw Self.failure(of: error.cause ?? error)
    } catch let error as PredicateEvaluationError {
      throw error
    } catch let error where error is FetchError || error is PerdureError {
      throw error
    } catch {
      throw Self.failure(of: error)
    }
    if let readFailure { throw readFailure }
    return result
  }

  private static func failure(of cause: any Error) -> any Error {
    if cause is FetchError { return cause }
    var failure = PerdureError(
      .readFailed,
      "The store could not be read. Fetch again, or verify the store and restore it from a backup.")
    failure.cause = cause
    return failure
  }

  private func executor<T: ManagedObject>(_ request: FetchRequest<T>) throws -> FetchExecutor {
    try executor(checkedQuery(request), pending(request))
  }

  private func executor(_ query: FetchQuery, _ pending: ContextChanges?) throws -> FetchExecutor {
    var query = query
    query.predicate = try query.predicate.map { try graph.resolvingObjectIDs(in: $0, asked: query.entity) }
    let prepared = try PreparedFetch(query, graph.store)
    let plan = FetchPlanner.plan(prepared, FetchStatistics(view))
    return FetchExecutor(prepared, plan, view: view, pending: pending)
  }

  private func checkedQuery<T: ManagedObject>(_ request: FetchRequest<T>) throws -> FetchQuery {
    let query = try query(request)
    try checkClass(T.self, of: query.entity)
    return query
  }

  /// The key that a query asks for; nil also where so few objects are there that a plan has them all looked at.
  private func uniqueKey(_ query: FetchQuery) -> UniqueKey? {
    guard let key = UniqueKey(query, graph.store) else { return nil }
    let concrete = graph.store.entity(query.entity).concrete
    return concrete.reduce(0) { $0 + view.rowCount(entity: $1) } > FetchPlanner.scannedMax ? key : nil
  }

  private func joinedFetch<T: ManagedObject>(_ request: FetchRequest<T>) throws -> JoinedFetch {
    let query = try query(request)
    return try joinedFetch(request, query, pending: pending(request))
  }

  /// Whether a fetch has to look which stores are asked.
  private func asksJointly<T: ManagedObject>(_ request: FetchRequest<T>) -> Bool {
    graph.isJoined || request.affectedStores != nil
  }

  private func query<T: ManagedObject>(_ request: FetchRequest<T>) throws -> FetchQuery {
    checkOwner()
    mergeWaiting()
    if !graph.isJoined { try throwRefreshFailure(ofPlace: 0) }
    if request.includesPendingChanges { propagateDeletes() }
    if let readFailure { throw readFailure }
    return try request.query(graph.store, entityOfClass: try entityName(of: request))
  }

  private func pending<T: ManagedObject>(_ request: FetchRequest<T>) -> ContextChanges? {
    request.includesPendingChanges && !tracker.isEmpty ? ContextChanges(self) : nil
  }

  /// The name of the entity that a request means when it names none.
  func entityName<T: ManagedObject>(of request: FetchRequest<T>) throws(FetchError) -> String {
    if let shape = graph.shape(of: T.self) { return shape.name }
    if request.entityName != nil { return "" }
    guard !T._entityName.isEmpty else { throw .noEntity }
    return T._entityName
  }

  /// Objects of other classes than the request's could not be handed out.
  func checkClass<T: ManagedObject>(_ type: T.Type, of entity: UInt16) throws(FetchError) {
    for number in graph.store.entity(entity).concrete {
      let shape = graph.shape(numbered: number)
      if shape.objectClass is T.Type { continue }
      throw FetchError.otherClass(shape.objectClass, than: T.self, entity: shape.name)
    }
  }

  /// Gives a fault the row that a fetch has at hand anyway.
  private func adopt(_ stored: StoredRow, _ object: ManagedObject) {
    guard object.header.pointee.row == nil, object.overlay == nil,
      let row = try? graph.store.rows.view(stored.bytes, of: object.reference)
    else { return }
    object.header.pointee.setRow(row, version: stored.version)
    object.header.pointee.rowArrived(epoch)
  }
}

/// The unsaved changes of a context, as a fetch asks for them.
final class ContextChanges: PendingChanges {
  private let core: ContextCore

  init(_ core: ContextCore) {
    self.core = core
  }

  func isTouched(_ reference: ObjectReference) -> Bool { core.tracker[reference] != nil }

  func touches(entity: UInt16) -> Bool { core.tracker.touches(entity: entity) }

  func changedObjects(of entity: UInt16) -> [ObjectReference] {
    core.tracker.overlays(ofEntity: entity)
      .filter { !$0.isDeleted && !core.hasVanished($0.reference) }.map(\.reference)
  }

  func touchedObjects(of entity: UInt16) -> [ObjectReference] {
    core.tracker.overlays(ofEntity: entity).map(\.reference)
  }

  func source(of reference: ObjectReference) -> any PropertySource {
    PendingSource(core, reference)
  }
}
