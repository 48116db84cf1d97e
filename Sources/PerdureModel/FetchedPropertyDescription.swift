/// The description of a fetched property: a named request of an entity, whose results are read like
/// the objects of a to-many relationship.
///
///     EntityDescription("Author", properties: […], fetchedProperties: [
///       FetchedPropertyDescription("recent", "Message", "author == $FETCH_SOURCE",
///         sortDescriptors: [FetchOrder("date", ascending: false)], fetchLimit: 10)
///     ])
///
/// The property is read-only. It has no slot in objects, no values in rows, and no inverse. It is
/// not part of the version hash. A store accepts any change of it.
///
/// In the predicate, `$FETCH_SOURCE` is the object with the property, and `$FETCH_SOURCE.path` is a
/// value of that object. `$FETCHED_PROPERTY.userInfo.key` is the text in ``userInfo`` under a key;
/// if the other operand is not a text, write `CAST($FETCHED_PROPERTY.userInfo.key, 'NSNumber')`.
/// The predicate has no other variables, except those that its subqueries bind.
///
/// A result is cached, as in Core Data: an object keeps it until the object is refreshed, or its
/// context is rolled back or reset. With `isCached: false`, every read fetches.
public struct FetchedPropertyDescription: Sendable, Hashable {
  /// The name, unique among all properties of the entity and its superentities.
  public var name: String
  /// The request. Its results are objects.
  public var fetchRequest: FetchRequestDescription
  /// Whether an object caches the result of the first read. If not, every read fetches.
  public var isCached: Bool
  /// The program's own data about the property, stored with the model.
  public var userInfo: [String: String]

  /// The variable for the object with the property.
  package static let sourceVariable = "FETCH_SOURCE"
  /// The variable for the description.
  package static let propertyVariable = "FETCHED_PROPERTY"

  /// Makes a description of a request.
  public init(
    _ name: String, _ fetchRequest: FetchRequestDescription, isCached: Bool = true,
    userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.fetchRequest = fetchRequest
    self.isCached = isCached
    self.userInfo = userInfo
  }

  /// Makes a description with the most common settings of a request.
  ///
  /// - Parameters:
  ///   - name: The property's name.
  ///   - entityName: The name of the fetched entity.
  ///   - predicateFormat: The condition as a format string without arguments; nil for all objects.
  ///   - sortDescriptors: The order, most significant criterion first.
  ///   - fetchLimit: The maximum number of objects; 0 for all.
  ///   - isCached: Whether an object caches the result of the first read.
  ///   - userInfo: The program's own data about the property.
  public init(
    _ name: String, _ entityName: String, _ predicateFormat: String? = nil,
    sortDescriptors: [FetchOrder] = [], fetchLimit: Int = 0, isCached: Bool = true,
    userInfo: [String: String] = [:]
  ) {
    self.init(
      name,
      FetchRequestDescription(
        entityName, predicateFormat, sortDescriptors: sortDescriptors, fetchLimit: fetchLimit),
      isCached: isCached, userInfo: userInfo)
  }
}
