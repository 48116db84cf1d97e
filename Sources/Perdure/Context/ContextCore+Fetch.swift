// Fetches: planned on the view, run on rows, with the unsaved changes laid over.

internal import PerdurePredicates

extension ContextCore {
  func fetch(_ wanted: ClassedRequest) throws -> [ManagedObject] {
    let request = wanted.request
    let paths = try prefetchPaths(wanted)
    let objects = try found(wanted)
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

  private func found(_ wanted: ClassedRequest) throws -> [ManagedObject] {
    let request = wanted.request
    let takesRows = request.includesPropertyValues && request.fetchBatchSize == 0
    return try reading {
      var objects: [ManagedObject] = []
      if asksJointly(request) {
        try joinedFetch(wanted).visit { reference, row in
          let object = instance(of: reference, wanted)
          if takesRows, let row { adopt(row, object) }
          objects.append(object)
        }
        return objects
      }
      let query = try checkedQuery(wanted)
      let pending = pending(request)
      if pending == nil, let found = try indexed(query) {
        try visit(found, takesRows: takesRows) { reference, row in
          let object = instance(of: reference, wanted)
          if let row { adopt(row, object) }
          objects.append(object)
        }
        return objects
      }
      try executor(query, pending).visit(needsRows: takesRows) { reference, row in
        let object = instance(of: reference, wanted)
        if takesRows, let row { adopt(row, object) }
        objects.append(object)
        return true
      }
      return objects
    }
  }

  func fetchIDs(_ wanted: ClassedRequest) throws -> [ManagedObjectID] {
    try reading {
      if asksJointly(wanted.request) { return try joinedFetch(wanted).references().map(objectID) }
      let query = try checkedQuery(wanted)
      let pending = pending(wanted.request)
      if pending == nil, let found = try indexed(query) { return found.map(objectID) }
      return try executor(query, pending).references().map(objectID)
    }
  }

  func count(_ wanted: ClassedRequest) throws -> Int {
    try reading {
      if asksJointly(wanted.request) { return try joinedFetch(wanted).count() }
      let query = try checkedQuery(wanted)
      let pending = pending(wanted.request)
      if pending == nil, let count = try IndexedRange(query, graph.store)?.count(in: view) { return count }
      return try executor(query, pending).count()
    }
  }

  func explain(_ wanted: ClassedRequest) throws -> String {
    try reading {
      try asksJointly(wanted.request)
        ? joinedFetch(wanted).description : executor(wanted).plan.description
    }
  }

  /// Runs a fetch. What is wrong with the request is thrown as it is, everything else as a store that cannot
  /// be read.
  private func reading<R>(_ body: () throws -> R) throws -> R {
    statistics.fetchRequestCount += 1
    return try translatingErrors(body)
  }

  /// Runs an evaluation of a predicate for objects in hand, with the checks and errors of a fetch.
  func answering<R>(_ body: () throws -> R) throws -> R {
    checkOwner()
    propagateDeletes()
    return try translatingErrors {
      try view.checkIsOpen()
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

  private func executor(_ wanted: ClassedRequest) throws -> FetchExecutor {
    try executor(checkedQuery(wanted), pending(wanted.request))
  }

  private func executor(_ query: FetchQuery, _ pending: ContextChanges?) throws -> FetchExecutor {
    let prepared = try prepared(query)
    let plan = FetchPlanner.plan(prepared, FetchStatistics(view))
    return FetchExecutor(
      prepared, plan, view: view, pending: pending, cancellation: FetchCancellation(flag: cancellation))
  }

  /// Checks a query and fits it to the schema. Measures the depth of the predicate first.
  ///
  /// - Throws: `FetchError`.
  func prepared(_ query: FetchQuery) throws -> PreparedFetch {
    var query = query
    if let predicate = query.predicate {
      guard let flat = predicate.flattened() else {
        throw FetchError.tooDeep(entity: graph.shape(numbered: query.entity).name)
      }
      query.predicate = try graph.resolvingObjectIDs(in: flat, asked: query.entity)
    }
    return try PreparedFetch(query, graph.store)
  }

  private func checkedQuery(_ wanted: ClassedRequest) throws -> FetchQuery {
    let query = try query(wanted)
    try checkClass(wanted, of: query.entity)
    return query
  }

  /// What a query finds by a range of an index; nil where it takes a plan.
  private func indexed(_ query: FetchQuery) throws -> [ObjectReference]? {
    try IndexedRange(query, graph.store)?.references(in: view)
  }

  /// Hands out objects in turn, with their rows if these are wanted: then those without one are left out.
  private func visit(
    _ references: [ObjectReference], takesRows: Bool, _ body: (ObjectReference, StoredRow?) throws -> Void
  ) throws {
    if takesRows, references.count == 1 {
      if let row = try view.row(references[0]) { try body(references[0], row) }
      return
    }
    var batch = RowBatch(view, readsRows: takesRows, sizeMax: 256)
    func handOut(_ reference: ObjectReference, _ row: StoredRow?) throws -> Bool {
      if row != nil || !takesRows { try body(reference, row) }
      return true
    }
    for reference in references { _ = try batch.add(reference, handOut) }
    _ = try batch.flush(handOut)
  }

  private func joinedFetch(_ wanted: ClassedRequest) throws -> JoinedFetch {
    let query = try query(wanted)
    return try joinedFetch(wanted, query, pending: pending(wanted.request))
  }

  /// Whether a fetch has to look which stores are asked.
  private func asksJointly(_ request: FetchRequest<ManagedObject>) -> Bool {
    graph.isJoined || request.affectedStores != nil
  }

  private func query(_ wanted: ClassedRequest) throws -> FetchQuery {
    let request = wanted.request
    checkOwner()
    mergeWaiting()
    if !graph.isJoined { try throwRefreshFailure(ofPlace: 0) }
    if request.includesPendingChanges { propagateDeletes() }
    // A rollback does not help where the store is closed, so this is reported first.
    try view.checkIsOpen()
    if let readFailure { throw readFailure }
    return try request.query(graph.store, entityOfClass: try entityName(of: wanted))
  }

  private func pending(_ request: FetchRequest<ManagedObject>) -> ContextChanges? {
    request.includesPendingChanges && !tracker.isEmpty ? ContextChanges(self) : nil
  }

  /// The name of the entity that a request means when it names none.
  func entityName(of wanted: ClassedRequest) throws(FetchError) -> String {
    if let shape = graph.shape(of: wanted.objectClass) { return shape.name }
    if wanted.request.entityName != nil { return "" }
    guard !wanted.objectClass._entityName.isEmpty else { throw .noEntity }
    return wanted.objectClass._entityName
  }

  /// Objects of other classes than the request's could not be handed out.
  func checkClass(_ wanted: ClassedRequest, of entity: UInt16) throws(FetchError) {
    for number in graph.store.entity(entity).concrete {
      let shape = graph.shape(numbered: number)
      if wanted.accepts(shape.objectClass) { continue }
      throw FetchError.otherClass(shape.objectClass, than: wanted.objectClass, entity: shape.name)
    }
  }

  /// The one instance of a reference, as the class that the request promises.
  @inline(__always)
  private func instance(of reference: ObjectReference, _ wanted: ClassedRequest) -> ManagedObject {
    let object = instance(of: reference)
    wanted.check(object)
    return object
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
