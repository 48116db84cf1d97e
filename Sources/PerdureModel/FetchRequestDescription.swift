/// The kind of results of a fetch. The raw values are stored, and are those of Core Data.
public enum FetchResultType: UInt8, Sendable, Hashable, CaseIterable {
  /// Objects.
  case managedObjects = 0
  /// The ids of the objects.
  case managedObjectIDs = 1
  /// Values of properties, by name.
  case dictionaries = 2
  /// The number of objects.
  case count = 4
}

/// The description of a fetch request in a model: the request of a ``FetchRequestTemplate`` or of a
/// ``FetchedPropertyDescription``.
///
/// A description is a plain value. The model checks it, and lists every error in it.
public struct FetchRequestDescription: Sendable, Hashable {
  /// The name of the fetched entity.
  public var entityName: String
  /// The condition as a format string without arguments, such as `salary > $least`; nil for all
  /// objects. `$name` is a variable.
  public var predicateFormat: String?
  /// The order, most significant criterion first; empty for no particular order.
  public var sortDescriptors: [FetchOrder]
  /// The maximum number of objects; 0 for all. Not negative.
  public var fetchLimit: Int
  /// The number of objects to skip at the front. Not negative.
  public var fetchOffset = 0
  /// The number of rows that are read together when the program accesses a fault among the objects;
  /// 0 for the default. Not negative.
  public var fetchBatchSize = 0
  /// The kind of results.
  public var resultType = FetchResultType.managedObjects
  /// Whether the fetch also returns objects of subentities.
  public var includesSubentities = true
  /// Whether the results include unsaved changes of the context.
  public var includesPendingChanges = true
  /// Whether the returned objects contain the property values that the fetch reads. If not, they
  /// are faults.
  public var includesPropertyValues = true
  /// Whether the fetch may return objects as faults.
  public var returnsObjectsAsFaults = true
  /// Whether equal dictionaries are returned once. It has no effect on other kinds of results.
  public var returnsDistinctResults = false
  /// The relationships to prefetch, as paths such as `company` or `workers.projects`.
  public var relationshipKeyPathsForPrefetching: [String] = []

  /// Makes a description. `ManagedObjectModel.init` checks it later.
  ///
  /// - Parameters:
  ///   - entityName: The name of the fetched entity.
  ///   - predicateFormat: The condition as a format string without arguments; nil for all objects.
  ///   - sortDescriptors: The order, most significant criterion first.
  ///   - fetchLimit: The maximum number of objects; 0 for all.
  public init(
    _ entityName: String, _ predicateFormat: String? = nil, sortDescriptors: [FetchOrder] = [],
    fetchLimit: Int = 0
  ) {
    self.entityName = entityName
    self.predicateFormat = predicateFormat
    self.sortDescriptors = sortDescriptors
    self.fetchLimit = fetchLimit
  }
}
