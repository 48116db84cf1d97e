// Where the values come from. The query language asks for one property at a time and knows nothing else of
// whatever stands behind this.

/// What a property of an object turned out to be.
public enum PropertyResult {
  /// A value; null when there is none.
  case value(Value)
  /// The object at the end of a to-one relationship, or nil.
  case toOne((any PropertySource)?)
  /// The objects at the end of a to-many relationship.
  case toMany([any PropertySource])
  /// There is no property of that name.
  case unknown
}

/// Something whose properties a predicate can ask for.
public protocol PropertySource {
  /// Who this is, for comparing objects; nil when it has no identity.
  var reference: ObjectReference? { get }

  /// What a property holds.
  ///
  /// - Throws: an error, for example with code `sourceFailed`, that ends the evaluation.
  func value(of property: String) throws(PredicateEvaluationError) -> PropertyResult

  /// Whether a path that begins with a to-one relationship of this object crosses a to-many relationship
  /// later.
  ///
  /// Asked only when the relationship leads nowhere. Then the path gives an empty collection instead
  /// of null, so that `ANY company.employees.name == nil` does not hold for who has no company.
  func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool
}

extension PropertySource {
  /// No path crosses a to-many relationship.
  public func reachesMany(through relationship: String, then path: ArraySlice<String>) -> Bool { false }
}
