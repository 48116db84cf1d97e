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
  /// - Parameter query: Runs once, with a placeholder for the object; it may name properties, and
  ///   nothing is read.
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
