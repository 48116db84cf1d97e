public import PerdureModel

/// Makes a variable of an `@Entity` class a fetched property: a named request, whose objects are
/// found at each read.
///
///     @Entity final class Author: ManagedObject {
///       var lastSeen: Date?
///       @Fetched(
///         "author == $FETCH_SOURCE AND date > $FETCH_SOURCE.lastSeen",
///         order: [FetchOrder("date", ascending: false)], limit: 10)
///       var recent: [Message]
///     }
///
/// The type of the variable names the class of the objects. The variable is read-only. Each read
/// fetches, and includes unsaved changes. With `.cached`, an object keeps the result of the first
/// read until the object is refreshed, or its context is rolled back or reset. See
/// `ManagedObject.fetchedObjects(forKey:as:)` for errors.
///
/// In the predicate, `$FETCH_SOURCE` is the object with the property, and `$FETCH_SOURCE.path` is a
/// value of that object. `$FETCHED_PROPERTY.userInfo.key` is a text of `userInfo`; if the other
/// operand is not a text, write `CAST($FETCHED_PROPERTY.userInfo.key, 'NSNumber')`. The predicate
/// is checked when the model is made.
///
/// - Parameters:
///   - predicate: The condition as a format string without arguments; nil for all objects.
///   - options: Whether an object keeps the result.
///   - order: The order, most significant criterion first.
///   - limit: The maximum number of objects; 0 for all.
///   - userInfo: The program's own data about the property; stored with the model.
@attached(accessor)
public macro Fetched(
  _ predicate: String? = nil, _ options: FetchedOption..., order: [FetchOrder] = [], limit: Int = 0,
  userInfo: [String: String] = [:]
) = #externalMacro(module: "PerdureMacroPlugin", type: "FetchedMacro")

/// The options of `@Fetched`.
public enum FetchedOption: Sendable, Hashable {
  /// An object keeps the result of the first read until the object is refreshed, or its context is
  /// rolled back or reset.
  case cached
}

extension _EntityAssembly {
  /// Adds a fetched property.
  public mutating func addFetched<Object: ManagedObject>(
    _ name: String, of type: [Object].Type, _ predicate: String? = nil, _ options: FetchedOption...,
    order: [FetchOrder] = [], limit: Int = 0, userInfo: [String: String] = [:]
  ) {
    fetchedProperties.append(
      FetchedPropertyDescription(
        name, Object._entityName, predicate, sortDescriptors: order, fetchLimit: limit,
        isCached: options.contains(.cached), userInfo: userInfo))
  }
}
