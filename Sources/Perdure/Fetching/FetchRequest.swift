public import PerdurePredicates

/// Describes the objects to fetch: the condition, the order, and the window (offset and limit).
///
///     var request = Worker.fetchRequest { $0.salary > 1000 && $0.company.name == "Acme" }
///     request.sortDescriptors = [FetchOrder(\Worker.name)]
///     request.fetchLimit = 20
///
/// or, with a format string:
///
///     let request = FetchRequest<Worker>(
///       predicate: try FetchPredicate(format: "name BEGINSWITH[cd] %@", "li"))
///
/// A request is a value. It reads nothing, belongs to no context, and may be sent to any isolation.
/// The fetch checks whether the request fits the model. `ManagedObjectContext.explain(_:)` shows
/// the index that the fetch uses.
///
/// In a query, attributes, to-one paths and numbers of objects are compared with values and with
/// each other:
///
///     let query = Worker.fetchRequest {
///       $0.company.name.hasPrefix("a", .caseInsensitive) && $0.salary.in(1000..<2000)
///         || $0.projects.any { $0.title == "Moon" }
///         || $0.company.workers.count > 10 && $0.born == nil
///     }
public struct FetchRequest<Root> {
  /// The name of the entity, or nil for the entity of the class.
  public var entityName: String?
  /// The condition for the objects; nil for all.
  public var predicate: FetchPredicate?
  /// The order, most significant criterion first; empty for no particular order.
  public var sortDescriptors: [FetchOrder] = []
  /// The maximum number of objects; 0 for all. Not negative.
  public var fetchLimit = 0
  /// The number of objects to skip at the beginning. Not negative.
  public var fetchOffset = 0
  /// Whether the result includes objects of subentities.
  public var includesSubentities = true
  /// Whether the result includes unsaved changes of the context. If so, limit and offset apply to
  /// the objects as the context shows them.
  public var includesPendingChanges = true
  /// The stores to search; nil for all stores of the context. For any other store, the fetch throws
  /// `FetchError`.
  public var affectedStores: [LoadedStore]?
  /// The relationships to prefetch, as paths such as `company` or `workers.projects`. The fetch
  /// makes one request for each relationship and one for the rows at its other end. The result is
  /// cached while any of the objects is retained and the context does not advance. The fetch throws
  /// `FetchError` for a path that the entity does not have. `prefetch(_:)` adds a path by
  /// properties.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// Whether the objects get the rows that the fetch reads. If false, all objects are faults, and
  /// their rows are read together at the first access. Set it to false if the program rarely
  /// accesses the objects.
  public var includesPropertyValues = true
  /// Whether objects may be faults: objects whose rows the fetch has not read. If false, all
  /// objects are loaded when the fetch returns, and `awakeFromFetch()` has been called.
  public var returnsObjectsAsFaults = true
  /// The number of rows that are read together when a fault fires. If it is not 0, all objects are
  /// faults, unless `returnsObjectsAsFaults` is false. If it is 0, the objects get the rows that
  /// the fetch reads, and other rows are read 64 at a time. Not negative.
  public var fetchBatchSize = 0

  /// A request for the objects of the named entity, or of the class's entity if the name is nil.
  public init(
    entityName: String? = nil, predicate: FetchPredicate? = nil, sortDescriptors: [FetchOrder] = []
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sortDescriptors = sortDescriptors
  }
}

extension FetchRequest: Sendable {}

extension FetchRequest where Root: QueryableObject {
  /// A request for the objects for which a query holds.
  public init(where query: (EntityRef<Root>) throws -> FetchPredicate) rethrows {
    self.init()
    predicate = try FetchPredicate.query(Root.self, query)
  }

  /// A request for the objects whose Boolean property is true: `FetchRequest<Book> { $0.isLent }`.
  @_disfavoredOverload
  public init(where query: (EntityRef<Root>) throws -> PropertyRef<Bool>) rethrows {
    self.init()
    predicate = try FetchPredicate.query(Root.self, query)
  }
}

extension FetchRequest {
  /// The same request without the class of its objects.
  func anyRoot() -> FetchRequest<ManagedObject> {
    var copy = FetchRequest<ManagedObject>(
      entityName: entityName, predicate: predicate, sortDescriptors: sortDescriptors)
    copy.fetchLimit = fetchLimit
    copy.fetchOffset = fetchOffset
    copy.includesSubentities = includesSubentities
    copy.includesPendingChanges = includesPendingChanges
    copy.affectedStores = affectedStores
    copy.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching
    copy.includesPropertyValues = includesPropertyValues
    copy.returnsObjectsAsFaults = returnsObjectsAsFaults
    copy.fetchBatchSize = fetchBatchSize
    return copy
  }

  /// The request as a query of a store schema.
  ///
  /// - Parameter className: The name of the entity if the request has none.
  /// - Throws: `FetchError` with code `unknownEntity`.
  package func query(_ schema: StoreSchema, entityOfClass className: String) throws(FetchError) -> FetchQuery
  {
    let name = entityName ?? className
    guard let entity = schema.entity(named: name) else {
      let near = NearMisses.of(name, in: schema.entities.compactMap { $0?.name })
      throw FetchError(
        .unknownEntity, "The model has no entity \(name.shortened).\(NearMisses.question(near))",
        entity: name,
        suggestions: near)
    }
    var query = FetchQuery(entity: entity.number)
    query.includesSubentities = includesSubentities
    query.predicate = predicate
    query.order = sortDescriptors
    query.limit = fetchLimit == 0 ? nil : fetchLimit
    query.offset = fetchOffset
    return query
  }
}
