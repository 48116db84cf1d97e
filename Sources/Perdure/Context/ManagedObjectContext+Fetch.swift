public import PerdurePredicates

extension ManagedObjectContext {
  /// The objects that a request asks for, unsaved changes of this context included.
  ///
  ///     let rich = try context.fetch(Worker.fetchRequest { $0.salary > 1000 })
  ///
  /// Objects whose rows were read for the fetch come loaded, others as faults. Objects that are
  /// registered already keep their unsaved changes. Delete rules that are pending are applied
  /// first.
  ///
  /// - Throws: `FetchError` when the request does not fit the model; `PredicateEvaluationError`
  ///   when its predicate has no answer for some object; `PerdureError` with code 134060 when the
  ///   store cannot be read.
  /// - Complexity: that of the plan; see `explain(_:)`.
  public func fetch<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [T] {
    let objects = try core.logged(.fetch, core.subject(request), count: \.count) {
      try core.fetch(ClassedRequest(request))
    }
    // Each of them was found to be of the class (`ClassedRequest.check`); a copy would be made by generic code.
    return unsafeBitCast(objects, to: [T].self)
  }

  /// All objects of a class's entity, unsaved changes of this context included.
  ///
  ///     let workers = try context.fetch(Worker.self)
  ///     let first = try context.fetch(Worker.self, order: [FetchOrder(\Worker.name)], limit: 10)
  ///
  /// - Parameters:
  ///   - type: The class of the objects. Objects of sub-entities are included.
  ///   - predicate: What the objects must satisfy; nil for all.
  ///   - order: The order, most significant criterion first; empty for no particular order.
  ///   - limit: The most objects wanted; 0 for all.
  /// - Throws: as `fetch(_:)` with a request.
  public func fetch<T: ManagedObject>(
    _ type: T.Type, predicate: FetchPredicate? = nil, order: [FetchOrder] = [], limit: Int = 0
  ) throws -> [T] {
    var request = FetchRequest<T>(predicate: predicate, sortDescriptors: order)
    request.fetchLimit = limit
    return try fetch(request)
  }

  /// The objects of a class's entity that a query holds for.
  ///
  ///     let rich = try context.fetch(Worker.self) { $0.salary > 1000 }
  ///     let first = try context.fetch(Worker.self, order: [FetchOrder(\Worker.name)], limit: 10) {
  ///       $0.company.name == "Acme"
  ///     }
  ///
  /// - Parameters:
  ///   - type: The class of the objects. Objects of sub-entities are included.
  ///   - order: The order, most significant criterion first; empty for no particular order.
  ///   - limit: The most objects wanted; 0 for all.
  ///   - query: Runs once, on a stand-in for the object; it may name properties, and nothing is
  ///     read.
  /// - Throws: what the query throws; as `fetch(_:)` with a request.
  public func fetch<T: ManagedObject>(
    _ type: T.Type, order: [FetchOrder] = [], limit: Int = 0,
    where query: (EntityRef<T>) throws -> FetchPredicate
  ) throws -> [T] {
    try fetch(type, predicate: FetchPredicate.query(type, query), order: order, limit: limit)
  }

  /// The objects of a class's entity of which a truth value is true:
  /// `context.fetch(Book.self) { $0.isLent }`.
  ///
  /// - Throws: as the other overload.
  @_disfavoredOverload
  public func fetch<T: ManagedObject>(
    _ type: T.Type, order: [FetchOrder] = [], limit: Int = 0,
    where query: (EntityRef<T>) throws -> PropertyRef<Bool>
  ) throws -> [T] {
    try fetch(type, predicate: FetchPredicate.query(type, query), order: order, limit: limit)
  }

  /// The identities of the objects that a request asks for; makes no instances.
  ///
  /// - Throws: as `fetch(_:)`.
  public func fetchIDs<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [ManagedObjectID] {
    try core.logged(.fetchIDs, core.subject(request), count: \.count) {
      try core.fetchIDs(ClassedRequest(request))
    }
  }

  /// How many objects match a request. Without predicate O(1), by an index O(log n).
  ///
  /// - Throws: as `fetch(_:)`.
  public func count<T: ManagedObject>(for request: FetchRequest<T>) throws -> Int {
    try core.logged(.count, core.subject(request), count: { $0 }) { try core.count(ClassedRequest(request)) }
  }

  /// The plan of a request, in words; over several stores, for each of them.
  ///
  /// Of an entity that several stores have, an index with a reference beside other components
  /// serves the store alone that the container has first.
  ///
  /// - Throws: `FetchError` when the request does not fit the model.
  public func explain<T: ManagedObject>(_ request: FetchRequest<T>) throws -> String {
    try core.explain(ClassedRequest(request))
  }
}

extension QueryableObject where Self: ManagedObject {
  /// A request for all objects of the class's entity.
  public static func fetchRequest() -> FetchRequest<Self> { FetchRequest<Self>() }

  /// A request for the objects of the class's entity that a query holds for.
  ///
  ///     let request = Worker.fetchRequest { $0.salary > 1000 && $0.company != nil }
  ///
  /// - Parameter query: Runs once, on a stand-in for the object; it may name properties, and nothing
  ///   is read.
  public static func fetchRequest(
    where query: (EntityRef<Self>) throws -> FetchPredicate
  ) rethrows -> FetchRequest<Self> {
    try FetchRequest<Self>(where: query)
  }

  /// A request for the objects of which a truth value is true: `Book.fetchRequest { $0.isLent }`.
  @_disfavoredOverload
  public static func fetchRequest(
    where query: (EntityRef<Self>) throws -> PropertyRef<Bool>
  ) rethrows -> FetchRequest<Self> {
    try FetchRequest<Self>(where: query)
  }
}
