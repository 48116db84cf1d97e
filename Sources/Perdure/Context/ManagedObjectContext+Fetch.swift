public import PerdurePredicates

extension ManagedObjectContext {
  /// Fetches the objects of a request. The result includes unsaved changes of this context, unless
  /// the request's `includesPendingChanges` is false.
  ///
  ///     let rich = try context.fetch(Worker.fetchRequest { $0.salary > 1000 })
  ///
  /// Objects whose rows the fetch has read are loaded; others are faults. Registered objects keep
  /// their unsaved changes. If the request includes unsaved changes, pending delete rules are
  /// applied first.
  ///
  /// - Throws: `FetchError` if the request does not match the model; `PredicateEvaluationError` if
  ///   its predicate cannot be evaluated for an object; `PerdureError` with code 134060 if the
  ///   store cannot be read. In a `perform` whose task is cancelled, `CancellationError`.
  /// - Complexity: That of the plan; see `explain(_:)`.
  public func fetch<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [T] {
    core.checkOwner()
    let objects = try logged(.fetch, subject(request), count: \.count) {
      try core.queries.fetching.fetch(ClassedRequest(request))
    }
    // Casts without a copy, because a copy runs slow generic code (ClassedRequest.swift).
    // `ClassedRequest.check` has checked the class of each object.
    return unsafeBitCast(objects, to: [T].self)
  }

  /// Fetches the objects of a class's entity. The result includes unsaved changes of this context.
  ///
  ///     let workers = try context.fetch(Worker.self)
  ///     let first = try context.fetch(Worker.self, order: [FetchOrder(\Worker.name)], limit: 10)
  ///
  /// - Parameters:
  ///   - type: The class of the objects. Objects of subentities are included.
  ///   - predicate: The condition for the objects; nil for all.
  ///   - order: The order, most significant criterion first; empty for no particular order.
  ///   - limit: The maximum number of objects; 0 for all.
  /// - Throws: The errors of `fetch(_:)` with a request.
  public func fetch<T: ManagedObject>(
    _ type: T.Type, predicate: FetchPredicate? = nil, order: [FetchOrder] = [], limit: Int = 0
  ) throws -> [T] {
    var request = FetchRequest<T>(predicate: predicate, sortDescriptors: order)
    request.fetchLimit = limit
    return try fetch(request)
  }

  /// Fetches the objects of a class's entity for which a query holds.
  ///
  ///     let rich = try context.fetch(Worker.self) { $0.salary > 1000 }
  ///     let first = try context.fetch(Worker.self, order: [FetchOrder(\Worker.name)], limit: 10) {
  ///       $0.company.name == "Acme"
  ///     }
  ///
  /// - Parameters:
  ///   - type: The class of the objects. Objects of subentities are included.
  ///   - order: The order, most significant criterion first; empty for no particular order.
  ///   - limit: The maximum number of objects; 0 for all.
  ///   - query: Runs once, on a stand-in for the object. It may name properties, and reads nothing.
  /// - Throws: The errors of the query, and those of `fetch(_:)` with a request.
  public func fetch<T: ManagedObject>(
    _ type: T.Type, order: [FetchOrder] = [], limit: Int = 0,
    where query: (EntityRef<T>) throws -> FetchPredicate
  ) throws -> [T] {
    try fetch(type, predicate: FetchPredicate.query(type, query), order: order, limit: limit)
  }

  /// Fetches the objects whose Boolean property is true: `context.fetch(Book.self) { $0.isLent }`.
  ///
  /// - Throws: The errors of the other overload.
  @_disfavoredOverload
  public func fetch<T: ManagedObject>(
    _ type: T.Type, order: [FetchOrder] = [], limit: Int = 0,
    where query: (EntityRef<T>) throws -> PropertyRef<Bool>
  ) throws -> [T] {
    try fetch(type, predicate: FetchPredicate.query(type, query), order: order, limit: limit)
  }

  /// Fetches the ids of the objects of a request. Creates no instances.
  ///
  /// - Throws: as `fetch(_:)`.
  public func fetchIDs<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [ManagedObjectID] {
    core.checkOwner()
    return try logged(.fetchIDs, subject(request), count: \.count) {
      try core.queries.fetching.fetchIDs(ClassedRequest(request))
    }
  }

  /// Counts the objects that match a request. O(1) without a predicate, O(log n) with an index.
  ///
  /// - Throws: as `fetch(_:)`.
  public func count<T: ManagedObject>(for request: FetchRequest<T>) throws -> Int {
    core.checkOwner()
    return try logged(.count, subject(request), count: { $0 }) {
      try core.queries.fetching.count(ClassedRequest(request))
    }
  }

  /// Describes the plan of a request in words, for each of the stores.
  ///
  /// If several stores have the entity, an index with a reference and other components is used only
  /// for the first store of the container.
  ///
  /// - Throws: `FetchError` if the request does not match the model; `PerdureError` with code
  ///   134060 if the store cannot be read.
  public func explain<T: ManagedObject>(_ request: FetchRequest<T>) throws -> String {
    core.checkOwner()
    return try core.queries.fetching.explain(ClassedRequest(request))
  }
}

extension QueryableObject where Self: ManagedObject {
  /// A request for all objects of the class's entity.
  public static func fetchRequest() -> FetchRequest<Self> { FetchRequest<Self>() }

  /// A request for the objects of the class's entity for which a query holds.
  ///
  ///     let request = Worker.fetchRequest { $0.salary > 1000 && $0.company != nil }
  ///
  /// - Parameter query: Runs once, on a stand-in for the object. It may name properties, and reads
  ///   nothing.
  public static func fetchRequest(
    where query: (EntityRef<Self>) throws -> FetchPredicate
  ) rethrows -> FetchRequest<Self> {
    try FetchRequest<Self>(where: query)
  }

  /// A request for the objects whose Boolean property is true: `Book.fetchRequest { $0.isLent }`.
  @_disfavoredOverload
  public static func fetchRequest(
    where query: (EntityRef<Self>) throws -> PropertyRef<Bool>
  ) rethrows -> FetchRequest<Self> {
    try FetchRequest<Self>(where: query)
  }
}
