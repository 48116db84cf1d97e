// A path through properties, with at most one collection operator.
//
// `employees.@sum.salary` and `employees.salary.@sum` mean the same. The operator is applied to the
// values at the end of the whole path, with to-many steps flattened. So a path consists of its
// property names and an operator; the operator's position in the text is not stored. Names after an
// operator's result (`a.@distinctUnionOfObjects.b.@count`) are a separate path that is applied to
// that result (`FetchExpression.member`).

/// The operation on the collection of values at the end of a path.
public enum CollectionOperator: String, Hashable, Sendable, CaseIterable {
  /// The number of elements, nulls included; 0 for a missing collection.
  case count
  /// The sum of the numbers, nulls ignored; 0 for an empty collection.
  case sum
  /// The mean of the numbers, nulls ignored; null if there is no number.
  case avg
  /// The least value, nulls ignored; null if there is no value.
  case min
  /// The greatest value, nulls ignored; null if there is no value.
  case max
  /// All elements as a list.
  case unionOfObjects
  /// All different elements as a list, in order of first appearance.
  case distinctUnionOfObjects

  /// Whether the operator gives one value for a collection.
  package var givesOneValue: Bool { self != .unionOfObjects && self != .distinctUnionOfObjects }

  /// The operator with this name, which has no `@`; nil if there is none. Unions of arrays and of
  /// sets are read as unions of objects, because a path gives one flat collection.
  package init?(spelling: String) {
    switch spelling {
    case "unionOfArrays", "unionOfSets": self = .unionOfObjects
    case "distinctUnionOfArrays", "distinctUnionOfSets": self = .distinctUnionOfObjects
    default: self.init(rawValue: spelling)
    }
  }
}

/// A path of property names, for example `company.name`, and the collection operator at its end, if
/// any.
public struct PropertyPath: Hashable, Sendable {
  /// The names of the properties to follow, in order. The list is empty only if an operator is
  /// applied to an expression that is already a collection (`SUBQUERY(…).@count`).
  public var names: [String]
  /// The operator on the values at the end; nil for the values themselves.
  public var aggregate: CollectionOperator?

  /// A path over the given names. No name may be empty.
  public init(_ names: [String], aggregate: CollectionOperator? = nil) {
    self.names = names
    self.aggregate = aggregate
  }

  /// A path over the given names. No name may be empty.
  public init(_ names: String..., aggregate: CollectionOperator? = nil) {
    self.init(names, aggregate: aggregate)
  }
}
