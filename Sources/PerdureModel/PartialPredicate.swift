// The predicates that a partial index can have.
//
//   PP1. The row alone determines whether its object is in the index. The predicate compares the
//        entity's own stored attributes, or functions of their text, with constants, and to-one
//        relationships with nil. AND, OR and NOT can combine comparisons.
//   PP2. The result is the same on every system and in every version: no regular expressions, time
//        or random numbers.
//   PP3. The predicate can be evaluated for every row: a constant has the attribute's kind, and the
//        operands of text operators are text.

internal import PerdurePredicates

/// The reason why a predicate cannot make an index partial, and the remedy.
struct PartialPredicateFlaw: Hashable {
  let message: String
  let remedy: String
}

/// Checks the predicate of a partial index.
struct PartialPredicate {
  /// The meaning of a property name in the predicate.
  enum Column {
    case attribute(AttributeType)
    /// A to-one relationship whose object id the row stores.
    case reference
  }

  /// Returns the column with a name; nil if there is none.
  let column: (String) -> Column?

  /// The flaw of the first part of the predicate that is not allowed; nil if all parts are allowed.
  func flaw(in predicate: FetchPredicate) -> PartialPredicateFlaw? {
    switch predicate {
    case .true, .false: nil
    case .and(let parts), .or(let parts): parts.lazy.compactMap { flaw(in: $0) }.first
    case .not(let part): flaw(in: part.only)
    case .comparison(let comparison): flaw(in: comparison)
    }
  }

  private func flaw(in comparison: FetchComparison) -> PartialPredicateFlaw? {
    guard comparison.modifier == .direct else {
      return PartialPredicateFlaw(
        message: "\(comparison) refers to other objects.", remedy: "Use the object's own attributes.")
    }
    switch (comparison.left.withExactLiteral, comparison.right.withExactLiteral) {
    case (let left, .constant(let value)):
      return flaw(in: comparison, left, comparison.op, value)
    case (.constant(let value), let right) where comparison.op.isSymmetric:
      return flaw(in: comparison, right, comparison.op, value)
    default:
      return PartialPredicateFlaw(
        message: "\(comparison) does not compare an attribute with a value.",
        remedy: "Compare stored attributes of the entity, or canonical:, lowercase: or uppercase: of them, "
          + "with values.")
    }
  }

  private func flaw(
    in comparison: FetchComparison, _ side: FetchExpression, _ op: FetchComparison.Operator, _ value: Value
  ) -> PartialPredicateFlaw? {
    guard let (column, isFunction) = find(side) else {
      return PartialPredicateFlaw(
        message: "\(side) is neither a stored attribute nor a stored to-one relationship of the entity.",
        remedy: "Use stored attributes of the entity itself.")
    }
    switch column {
    case .reference:
      if value.isNull, op == .equal || op == .notEqual { return nil }
      return PartialPredicateFlaw(
        message: "\(comparison) compares with one object.",
        remedy: "Test only whether there is an object: \(side) != nil.")
    case .attribute(let type):
      if isFunction, type != .string {
        return PartialPredicateFlaw(
          message: "\(side) needs text.", remedy: "Use the attribute without the function.")
      }
      if fits(op, value, type) { return nil }
      return PartialPredicateFlaw(
        message:
          "\(comparison) compares \(type) with a value that it never equals, or with an operator that no "
          + "index supports.",
        remedy: op == .matches ? "Use LIKE or BEGINSWITH." : "Compare with a value of the attribute's type.")
    }
  }

  private func find(_ side: FetchExpression) -> (Column, isFunction: Bool)? {
    switch side {
    case .keyPath(let path) where path.aggregate == nil:
      column(path.names.joined(separator: ".")).map { ($0, false) }
    case .function(let function, let arguments)
    where TextFunction(function) != nil && arguments.count == 1:
      if case .keyPath = arguments[0] { find(arguments[0]).map { ($0.0, true) } } else { nil }
    default: nil
    }
  }

  private func fits(_ op: FetchComparison.Operator, _ value: Value, _ type: AttributeType) -> Bool {
    switch (op, value) {
    case (.equal, .null), (.notEqual, .null): true
    case (_, .null), (.matches, _): false
    case (.in, .list(let list)): list.allSatisfy { $0.isNull || $0.compares(with: type) }
    case (.between, .list(let list)): list.count == 2 && list.allSatisfy { $0.compares(with: type) }
    case (.in, _), (.between, _): false
    case (.like, _), (.beginsWith, _), (.endsWith, _), (.contains, _):
      type == .string && value.compares(with: type)
    default: value.compares(with: type)
    }
  }
}

extension FetchComparison.Operator {
  /// Whether the constant may be the left operand.
  fileprivate var isSymmetric: Bool {
    switch self {
    case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: true
    default: false
    }
  }
}

extension Value {
  /// Whether an attribute of the type can have a value that equals this one.
  fileprivate func compares(with type: AttributeType) -> Bool {
    switch (type, self) {
    case (.boolean, .bool), (.boolean, .integer): true
    case (.int16, _), (.int32, _), (.int64, _), (.float, _), (.double, _), (.decimal, _): isNumber
    case (.string, .string), (.date, .date), (.uuid, .uuid), (.binary, .data), (.uri, .url): true
    default: false
    }
  }
}
