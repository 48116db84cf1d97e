// Fetches: planned and run on the view with the unsaved changes laid over it (LayeredView). So
// membership, order and window are those of the objects as the context shows them. (Core Data cuts
// the window from the saved rows first.)

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
    let takesRows = wanted.request.includesPropertyValues && wanted.request.fetchBatchSize == 0
    return try reading {
      var objects: [ManagedObject] = []
      if asksJointly(wanted.request) {
        try joinedFetch(wanted).visit { reference, row in
          objects.append(instance(of: reference, wanted, takesRows ? row : nil))
        }
        return objects
      }
      let query = try checkedQuery(wanted)
      let shown = try shownView(wanted.request)
      if let found = try indexed(query, shown) {
        try visit(found, in: shown, takesRows: takesRows) { reference, row in
          objects.append(instance(of: reference, wanted, row))
        }
        return objects
      }
      try executor(query, shown).visit(needsRows: takesRows) { reference, row in
        objects.append(instance(of: reference, wanted, takesRows ? row : nil))
        return true
      }
      return objects
    }
  }

  func fetchIDs(_ wanted: ClassedRequest) throws -> [ManagedObjectID] {
    try reading {
      if asksJointly(wanted.request) {
        return try joinedFetch(wanted).references().map(objectID)
      }
      let query = try checkedQuery(wanted)
      let shown = try shownView(wanted.request)
      if let found = try indexed(query, shown) { return found.map(objectID) }
      return try executor(query, shown).references().map(objectID)
    }
  }

  func count(_ wanted: ClassedRequest) throws -> Int {
    try reading {
      if asksJointly(wanted.request) { return try joinedFetch(wanted).count() }
      let query = try checkedQuery(wanted)
      let shown = try shownView(wanted.request)
      if let count = try IndexedRange(query, graph.store)?.count(in: shown) { return count }
      return try executor(query, shown).count()
    }
  }

  func explain(_ wanted: ClassedRequest) throws -> String {
    try reading {
      try asksJointly(wanted.request)
        ? joinedFetch(wanted).description
        : executor(checkedQuery(wanted), shownView(wanted.request)).plan.description
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

  private func executor(_ query: FetchQuery, _ shown: any StoreView) throws -> FetchExecutor {
    let prepared = try prepared(query)
    let plan = FetchPlanner.plan(prepared, FetchStatistics(shown))
    return FetchExecutor(
      prepared, plan, view: shown, cancellation: FetchCancellation(flag: cancellation))
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
  private func indexed(_ query: FetchQuery, _ shown: any StoreView) throws -> [ObjectReference]? {
    try IndexedRange(query, graph.store)?.references(in: shown)
  }

  /// Hands out objects in turn, with their rows if these are wanted: then those without one are left out.
  private func visit(
    _ references: [ObjectReference], in shown: any StoreView, takesRows: Bool,
    _ body: (ObjectReference, StoredRow?) throws -> Void
  ) throws {
    if takesRows, references.count == 1 {
      if let row = try shown.row(references[0]) { try body(references[0], row) }
      return
    }
    var batch = RowBatch(shown, readsRows: takesRows, sizeMax: 256)
    func handOut(_ reference: ObjectReference, _ row: StoredRow?) throws -> Bool {
      if row != nil || !takesRows { try body(reference, row) }
      return true
    }
    for reference in references { _ = try batch.add(reference, handOut) }
    _ = try batch.flush(handOut)
  }

  private func joinedFetch(_ wanted: ClassedRequest) throws -> JoinedFetch {
    let query = try query(wanted)
    return try joinedFetch(wanted, query, shownView(wanted.request))
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

  private func shownView(_ request: FetchRequest<ManagedObject>) throws -> any StoreView {
    request.includesPendingChanges ? try shownView() : view
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

  /// The one instance of a reference, as the class that the request promises. A fault gets the row
  /// that the fetch has at hand.
  @inline(__always)
  private func instance(
    of reference: ObjectReference, _ wanted: ClassedRequest, _ row: StoredRow?
  ) -> ManagedObject {
    let object = instance(of: reference)
    wanted.check(object)
    if let row { adopt(row, object) }
    return object
  }

  /// Gives a fault the row that a fetch has at hand anyway. An object with unsaved changes has an
  /// overlay, so it gets no row of the layer.
  private func adopt(_ stored: StoredRow, _ object: ManagedObject) {
    guard object.header.pointee.row == nil, object.overlay == nil,
      let row = try? graph.store.rows.view(stored.bytes, of: object.reference)
    else { return }
    object.header.pointee.setRow(row, version: stored.version)
    object.header.pointee.rowArrived(epoch)
  }
}
