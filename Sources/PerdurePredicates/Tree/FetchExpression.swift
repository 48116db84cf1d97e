// The operands of comparisons.
//
// Normal form, which the parser produces and the printer expects:
//   FE1. a list whose elements are all constants is `.constant(.list)`, not `.aggregate` (see
//        `list(_:)`);
//   FE2. a path from the evaluated object is `.keyPath`, not `.member(of: .evaluatedObject, …)`;
//   FE3. a negative number is a constant, not `.negate` of one, unless the text had parentheses.

/// An operand: an expression that has a value for a given object.
public indirect enum FetchExpression: Hashable, Sendable {
  /// A value.
  case constant(Value)
  /// A path from the evaluated object: `company.name`.
  case keyPath(PropertyPath)
  /// `$name`: a variable. A value replaces it before the evaluation or during it, or an enclosing
  /// subquery binds it.
  case variable(String)
  /// `SELF`: the evaluated object.
  case evaluatedObject
  /// A path from the value of another expression: `$x.name`, `SUBQUERY(…).@count`.
  case member(of: FetchExpression, PropertyPath)
  /// One element of a collection, or its size: `list[0]`, `list[LAST]`.
  case element(of: FetchExpression, ElementIndex)
  /// A function call. Arithmetic operators are functions too.
  case function(FetchFunction, [FetchExpression])
  /// `{a, b, 3}`: a list with at least one element that is not constant.
  case aggregate([FetchExpression])
  /// The elements of a collection that satisfy a predicate. Inside the predicate, only the variable
  /// refers to the element. Plain paths and `SELF` still refer to the outer object.
  case subquery(collection: FetchExpression, variable: String, predicate: FetchPredicate)
  /// `TERNARY(p, a, b)`: one of two expressions.
  case conditional(FetchPredicate, FetchExpression, FetchExpression)
  /// `a UNION b`, `a INTERSECT b`, `a MINUS b` of two collections.
  case set(SetOperation, FetchExpression, FetchExpression)

  /// An element of a collection, or its size.
  public indirect enum ElementIndex: Hashable, Sendable {
    /// The element at a position counted from 0; null if there is none.
    case at(FetchExpression)
    /// The first element; null if there is none.
    case first
    /// The last element; null if there is none.
    case last
    /// The number of elements.
    case size
  }

  /// A set operation. Each value is in the result once, in the order of first appearance.
  public enum SetOperation: String, Hashable, Sendable, CaseIterable {
    /// The elements of either.
    case union = "UNION"
    /// The elements of both.
    case intersect = "INTERSECT"
    /// The elements of the left but not of the right.
    case minus = "MINUS"
  }

  /// A list of expressions in normal form: a constant if all elements are constants.
  public static func list(_ elements: [FetchExpression]) -> FetchExpression {
    var values: [Value] = []
    for element in elements {
      guard case .constant(let value) = element else { return .aggregate(elements) }
      values.append(value)
    }
    return .constant(.list(values))
  }
}

extension FetchExpression {
  /// A path in normal form. If `base` is the evaluated object or a path without an operator, the
  /// two are combined.
  package static func path(from base: FetchExpression, _ path: PropertyPath) -> FetchExpression {
    if path.names.isEmpty, path.aggregate == nil { return base }
    switch base {
    case .evaluatedObject where !path.names.isEmpty:
      return .keyPath(path)
    case .keyPath(let start) where start.aggregate == nil:
      return .keyPath(PropertyPath(start.names + path.names, aggregate: path.aggregate))
    case .member(let root, let start) where start.aggregate == nil:
      return .member(of: root, PropertyPath(start.names + path.names, aggregate: path.aggregate))
    default:
      return .member(of: base, path)
    }
  }
}
