// The allowed predicates of a partial index.
//
//   PP1. Whether a row is in the index follows from the row alone. The predicate has comparisons of
//        the entity's own stored attributes, or of functions of their text, with constants, joined
//        by AND, OR and NOT.
//   PP2. It is the same on every system and in every version: no regular expressions, no time, no
//        chance.
//   PP3. It has an answer for every row: constants are of the attribute's kind, and text operators
//        have text.

internal import PerdurePredicates

/// The reason why a predicate cannot make an index partial, and the remedy.
struct PartialPredicateFlaw: Hashable {
  let message: String
  let remedy: String
}

/// Looks through the predicate of a partial index.
struct PartialPredicate {
  /// The target of a name from an object of the entity.
  enum Column {
    case attribute(AttributeType)
    /// A to-one relationship whose object is named in the row.
    case reference
  }

  /// The column with a name; nil for everything that is none.
  let column: (String) -> Column?

  /// The first thing that the predicate may not ask; nil when it may ask all of it.
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
        message: "\(comparison) asks other objects.", remedy: "Ask about the object's own attributes.")
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
        message: "\(side) is no stored attribute and no to-one relationship that objects are in.",
        remedy: "Ask about stored attributes of the entity itself.")
    }
    switch column {
    case .reference:
      if value.isNull, op == .equal || op == .notEqual { return nil }
      return PartialPredicateFlaw(
        message: "\(comparison) asks which object it is.",
        remedy: "Ask whether there is one: \(side) != nil.")
    case .attribute(let type):
      if isFunction, type != .string {
        return PartialPredicateFlaw(
          message: "\(side) needs text.", remedy: "Ask about the attribute as it is.")
      }
      if fits(op, value, type) { return nil }
      return PartialPredicateFlaw(
        message: "\(comparison) compares \(type) with something that it never equals, or in a way that no "
          + "index knows.",
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
  /// Whether the operands may be exchanged.
  fileprivate var isSymmetric: Bool {
    switch self {
    case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: true
    default: false
    }
  }
}

extension Value {
  /// Whether a value of an attribute's type may be equal to this one.
  fileprivate func compares(with type: AttributeType) -> Bool {
    switch (type, self) {
    case (.boolean, .bool), (.boolean, .integer): true
    case (.int16, _), (.int32, _), (.int64, _), (.float, _), (.double, _), (.decimal, _): isNumber
    case (.string, .string), (.date, .date), (.uuid, .uuid), (.binary, .data), (.uri, .url): true
    default: false
    }
  }

  private var isNumber: Bool {
    switch self {
    case .bool, .integer, .double, .decimal: true
    default: false
    }
  }
}
