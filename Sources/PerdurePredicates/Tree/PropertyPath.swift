// A path through properties, with at most one collection operator.
//
// `employees.@sum.salary` and `employees.salary.@sum` mean the same: the operator works on the
// values reached by the whole path, to-many steps flattened. So a path is its property names plus
// an operator; the operator's position in the text is not kept. The part after an operator's result
// (`a.@distinctUnionOfObjects.b.@count`) is a separate path applied to that result
// (`FetchExpression.member`).

/// What a path does with the collection of values it reaches.
public enum CollectionOperator: String, Hashable, Sendable, CaseIterable {
  /// The number of elements, nulls included; 0 for a missing collection.
  case count
  /// The sum of the numbers, nulls ignored; 0 for an empty collection.
  case sum
  /// The mean of the numbers, nulls ignored; null for an empty collection.
  case avg
  /// The least value, nulls ignored; null for an empty collection.
  case min
  /// The greatest value, nulls ignored; null for an empty collection.
  case max
  /// All elements as a list.
  case unionOfObjects
  /// All different elements as a list, in order of first appearance.
  case distinctUnionOfObjects

  /// Whether the operator gives one value for a collection.
  package var givesOneValue: Bool { self != .unionOfObjects && self != .distinctUnionOfObjects }

  /// The operator spelt `@name`, or nil. Unions of arrays and sets are unions of objects, since
  /// paths flatten.
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
  /// The properties to follow in turn. Empty only together with an operator, on an expression that
  /// is a collection already (`SUBQUERY(…).@count`).
  public var names: [String]
  /// The operator on the values reached, or nil for the values themselves.
  public var aggregate: CollectionOperator?

  /// A path over the given names. None may be empty.
  public init(_ names: [String], aggregate: CollectionOperator? = nil) {
    self.names = names
    self.aggregate = aggregate
  }

  /// A path over the given names. None may be empty.
  public init(_ names: String..., aggregate: CollectionOperator? = nil) {
    self.init(names, aggregate: aggregate)
  }
}
