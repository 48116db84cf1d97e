public import PerdurePredicates

/// A description of the objects wanted: which, in which order, and which part of them.
///
///     var request = Employee.fetchRequest { $0.salary > 1000 && $0.company.name == "Acme" }
///     request.sortDescriptors = [FetchOrder(\Employee.name)]
///     request.fetchLimit = 20
///
/// or, with a format string:
///
///     let request = FetchRequest<Employee>(
///       predicate: try FetchPredicate(format: "name BEGINSWITH[cd] %@", "li"))
///
/// A request is a value: it reads nothing and knows no context until it is fetched.
public struct FetchRequest<Root> {
  /// The name of the entity, or nil for the entity of the class.
  public var entityName: String?
  /// What the objects must satisfy; nil for all.
  public var predicate: FetchPredicate?
  /// The order, most significant criterion first; empty for no particular order.
  public var sortDescriptors: [FetchOrder] = []
  /// The most objects wanted; 0 for all. Not negative.
  public var fetchLimit = 0
  /// How many objects to leave out at the front. Not negative.
  public var fetchOffset = 0
  /// Whether objects of sub-entities are wanted too.
  public var includesSubentities = true
  /// Whether unsaved changes of the context count. When they do, limit and offset are of the objects as the
  /// context shows them.
  public var includesPendingChanges = true

  /// A request for the objects of the class's entity, or of the entity with a name.
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
  /// A request for the objects that a query holds for.
  public init(where query: (EntityRef<Root>) throws -> FetchPredicate) rethrows {
    self.init()
    predicate = try FetchPredicate.query(Root.self, query)
  }
}

extension FetchRequest {
  /// The request against a store schema.
  ///
  /// - Parameter className: The entity's name where the request gives none.
  /// - Throws: `FetchError` with code `unknownEntity`.
  package func query(_ schema: StoreSchema, entityOfClass className: String) throws(FetchError) -> FetchQuery
  {
    let name = entityName ?? className
    guard let entity = schema.entity(named: name) else {
      let near = NearMisses.of(name, in: schema.entities.compactMap { $0?.name })
      let hint = near.isEmpty ? "" : " Did you mean \(near.joined(separator: " or "))?"
      throw FetchError(
        .unknownEntity, "The model has no entity \(name).\(hint)", entity: name, suggestions: near)
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
