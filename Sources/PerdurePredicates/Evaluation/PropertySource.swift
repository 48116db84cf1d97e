// The source of property values. The evaluator requests one property at a time, and does not depend
// on the type that implements this protocol.

/// The result of reading a property.
public enum PropertyResult {
  /// A value; null if it is absent.
  case value(Value)
  /// The object at the end of a to-one relationship, or nil.
  case toOne((any PropertySource)?)
  /// The objects at the end of a to-many relationship.
  case toMany([any PropertySource])
  /// There is no property with this name.
  case unknown
}

/// A type whose properties a predicate can read.
public protocol PropertySource {
  /// The identity of the object, for comparisons of objects; nil if it has none.
  var reference: ObjectReference? { get }

  /// The value of a property.
  ///
  /// - Throws: an error, for example with code `sourceFailed`, that ends the evaluation.
  func value(of property: String) throws(PredicateEvaluationError) -> PropertyResult

  /// Whether a path from this object crosses a to-many relationship after its first step.
  ///
  /// The evaluator calls this method if the first step is a to-one relationship without an object.
  /// If the result is true, the path gives an empty collection instead of null. So
  /// `ANY company.employees.name == nil` is false for an object without a company.
  ///
  /// The evaluator also calls this method to find the groups of a path with a collection operator
  /// after ANY or ALL, such as `ANY teams.members.@count > 1`.
  ///
  /// - Parameters:
  ///   - relationship: The property of the first step.
  ///   - path: The names of the later steps.
  func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool
}

extension PropertySource {
  /// No path crosses a to-many relationship.
  public func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool { false }
}
