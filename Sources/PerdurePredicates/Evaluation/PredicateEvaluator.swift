// The semantics of predicates, defined by evaluation on objects in memory. Every other
// implementation (on rows, with indexes) must agree with this one.
// Rules in addition to the comparison table (Value+Comparison.swift)
//   EV1. Logic has two values. An ordering or text comparison with null is false, so its NOT is
//        true.
//   EV2. ANY requires that at least one element of the flattened path matches. ALL requires that
//        every element matches, so it is true without elements. Null counts as no elements, and a
//        single value as one element.
//   EV3. A path through a missing to-one object gives null. If the path crosses a to-many
//        relationship later, it gives no elements.
//   EV4. Inside SUBQUERY, plain paths and SELF still mean the outer object. The variable hides an
//        outer variable with the same name.
//   EV5. AND and OR stop at the first part that decides the result. Errors in later parts do not
//        appear.
//   EV6. A collection can equal another one, contain an element, and be the right side of IN. A
//        comparison with a single value, including null, needs ANY, ALL, NONE or an aggregate;
//        otherwise it is an error.
//   EV7. Under ANY and ALL, a collection operator is applied to each group. If a path crosses
//        several to-many relationships, each object that has the last of these relationships gives
//        one group. For example, `ANY teams.members.@count > 1` has one group for each team. The
//        comparison is true if a team has at least two members.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A predicate that is prepared for evaluation on many objects.
///
/// It caches parsed regular expressions between evaluations, and `now()` has the same value in all
/// of them. It is not `Sendable`: make one for each task.
public final class PredicateEvaluator {
  private let predicate: FetchPredicate
  let now: Date
  private var regularExpressions: [PatternKey: RegularExpression] = [:]
  private let variables: [String: Operand]

  private struct PatternKey: Hashable {
    var pattern: String
    var options: StringOptions
  }

  /// Prepares a predicate with values for its variables. The function `now()` of the predicate
  /// returns the argument `now`.
  public init(
    _ predicate: FetchPredicate, variables: [String: any PredicateArgument] = [:], now: Date = Date()
  ) {
    self.predicate = predicate
    self.now = now
    self.variables = variables.mapValues { .value($0.argumentValue) }
  }

  /// Whether the predicate is true for an object.
  ///
  /// - Throws: `PredicateEvaluationError` in these cases: The predicate uses an unknown property, a
  ///   variable without a value or an unsupported function. An operator or a function cannot use an
  ///   operand. A regular expression is invalid or takes too many steps. The source fails.
  public func evaluate(with source: some PropertySource) throws(PredicateEvaluationError) -> Bool {
    try evaluate(predicate, in: Scope(root: .object(source), variables: variables))
  }

  /// Whether the predicate is true for a value, which is `SELF`.
  ///
  /// - Throws: as ``evaluate(with:)-(PropertySource)``.
  public func evaluate(with value: Value) throws(PredicateEvaluationError) -> Bool {
    try evaluate(predicate, in: Scope(root: .value(value), variables: variables))
  }

  /// The value of an expression for an object or value.
  func value(
    of expression: FetchExpression, with root: Operand
  ) throws(PredicateEvaluationError) -> Value {
    try operand(of: expression, in: Scope(root: root, variables: variables)).plain()
  }
}

/// The value of `SELF`, where paths start, and the values of the variables, at a position in the
/// tree.
struct Scope {
  var root: Operand
  var variables: [String: Operand]
}

// MARK: Logic

extension PredicateEvaluator {
  func evaluate(_ predicate: FetchPredicate, in scope: Scope) throws(PredicateEvaluationError) -> Bool {
    switch predicate {
    case .true: return true
    case .false: return false
    case .and(let parts):
      for part in parts where try !evaluate(part, in: scope) { return false }
      return true
    case .or(let parts):
      for part in parts where try evaluate(part, in: scope) { return true }
      return false
    case .not(let part): return try !evaluate(part.only, in: scope)
    case .comparison(let comparison): return try evaluate(comparison, in: scope)
    }
  }

  private func evaluate(
    _ comparison: FetchComparison, in scope: Scope
  ) throws(PredicateEvaluationError) -> Bool {
    if comparison.left.isConditional || comparison.right.isConditional {
      var chosen = comparison
      chosen.left = try self.chosen(comparison.left, in: scope)
      chosen.right = try self.chosen(comparison.right, in: scope)
      return try evaluate(chosen, in: scope)
    }
    if comparison.modifier == .direct {
      let left = try operand(of: comparison.left, in: scope)
      return try compareExactly(left, comparison, try operand(of: comparison.right, in: scope))
    }
    let elements = try elements(of: comparison.left, in: scope)
    let right = try operand(of: comparison.right, in: scope)
    let isAny = comparison.modifier == .any
    for element in elements where try compareExactly(element, comparison, right) == isAny { return isAny }
    return !isAny
  }

  /// The operands that ANY and ALL compare one by one (EV7).
  private func elements(
    of expression: FetchExpression, in scope: Scope
  ) throws(PredicateEvaluationError) -> [Operand] {
    if let groups = try groups(expression, in: scope) { return groups }
    return try operand(of: expression, in: scope).spread
  }

  /// Compares two operands. If one is a decimal, a long literal on the other side is read as a
  /// decimal.
  private func compareExactly(
    _ left: Operand, _ comparison: FetchComparison, _ right: Operand
  ) throws(PredicateEvaluationError) -> Bool {
    if left.isDecimal, let exact = comparison.right.longLiteral {
      return try compare(left, comparison, .value(.decimal(exact)))
    }
    if right.isDecimal, let exact = comparison.left.longLiteral {
      return try compare(.value(.decimal(exact)), comparison, right)
    }
    return try compare(left, comparison, right)
  }
}

// MARK: Comparisons

extension PredicateEvaluator {
  /// The result of a collection operator for each group of a path (EV7); nil for expressions
  /// without groups.
  private func groups(
    _ expression: FetchExpression, in scope: Scope
  ) throws(PredicateEvaluationError) -> [Operand]? {
    switch expression {
    case .keyPath(let path): return try Self.groups(path, from: scope.root)
    case .member(let base, let path) where path.aggregate != nil && path.names.count > 1:
      return try Self.groups(path, from: try operand(of: base, in: scope))
    default: return nil
    }
  }

  /// The operand that a TERNARY selects. It determines whether the result is a collection (EV6).
  private func chosen(
    _ expression: FetchExpression, in scope: Scope
  ) throws(PredicateEvaluationError) -> FetchExpression {
    guard case .conditional(let predicate, let first, let second) = expression else { return expression }
    return try chosen(try evaluate(predicate, in: scope) ? first : second, in: scope)
  }

  private func compare(
    _ left: Operand, _ comparison: FetchComparison, _ right: Operand
  ) throws(PredicateEvaluationError) -> Bool {
    try Self.checkManyValues(left, comparison, right)
    let a = try left.plain()
    let b = try right.plain()
    let options = comparison.options
    switch comparison.op {
    case .equal: return a.equals(b, options: options)
    case .notEqual: return !a.equals(b, options: options)
    case .lessThan: return a.order(b, options: options) == .ascending
    case .lessThanOrEqual: return Self.isAtMost(a, b, options)
    case .greaterThan: return a.order(b, options: options) == .descending
    case .greaterThanOrEqual: return Self.isAtMost(b, a, options)
    case .between: return try Self.isBetween(a, b, options)
    case .in: return Self.holds(b, a, options)
    case .contains: return Self.holds(a, b, options)
    case .beginsWith, .endsWith, .like, .matches:
      guard case .string(let text) = a, case .string(let pattern) = b else { return false }
      return try compare(text, comparison.op, pattern, options)
    }
  }

  /// Throws if a path gives a collection where the operator compares a single value (EV6).
  private static func checkManyValues(
    _ left: Operand, _ comparison: FetchComparison, _ right: Operand
  ) throws(PredicateEvaluationError) {
    let isLeftPath = comparison.left.isPath && comparison.modifier == .direct
    guard
      let side = comparison.op.sideWithTooManyValues(
        left.shape(isPath: isLeftPath), right.shape(isPath: comparison.right.isPath))
    else { return }
    let asked = side == .left ? comparison.left : comparison.right
    throw PredicateEvaluationError(
      .invalidOperand,
      "\(asked.shortDescription) can have several values, but \(comparison.op.rawValue) compares a single value. Write "
        + "ANY, ALL or NONE before the comparison, or reduce the values with @count, @min, @max, @sum or @avg."
    )
  }

  private static func isAtMost(_ left: Value, _ right: Value, _ options: StringOptions) -> Bool {
    let order = left.order(right, options: options)
    return order == .ascending || order == .same
  }

  private static func isBetween(
    _ value: Value, _ bounds: Value, _ options: StringOptions
  ) throws(PredicateEvaluationError) -> Bool {
    if bounds.isNull { return false }
    guard case .list(let list) = bounds, list.count == 2 else {
      throw PredicateEvaluationError(
        .invalidOperand,
        "BETWEEN needs a list of two values on the right, as in {1, 5}, not \(bounds.kindName).")
    }
    return isAtMost(list[0], value, options) && isAtMost(value, list[1], options)
  }

  /// Whether a collection contains a value, or a text contains another one.
  private static func holds(_ whole: Value, _ part: Value, _ options: StringOptions) -> Bool {
    switch (whole, part) {
    case (.list(let list), _): list.contains { $0.equals(part, options: options) }
    case (.string(let text), .string(let part)): StringFolding.contains(text, part, options)
    default: false
    }
  }

  private func compare(
    _ text: String, _ op: FetchComparison.Operator, _ pattern: String, _ options: StringOptions
  ) throws(PredicateEvaluationError) -> Bool {
    switch op {
    case .beginsWith: return StringFolding.hasPrefix(text, pattern, options)
    case .endsWith: return StringFolding.hasSuffix(text, pattern, options)
    case .like: return StringFolding.like(text, pattern, options)
    default: return try regularExpression(pattern, options).matches(text)
    }
  }

  private func regularExpression(
    _ pattern: String, _ options: StringOptions
  ) throws(PredicateEvaluationError) -> RegularExpression {
    let key = PatternKey(pattern: pattern, options: options)
    if let known = regularExpressions[key] { return known }
    let expression = try RegularExpression(pattern, options: options)
    regularExpressions[key] = expression
    return expression
  }
}

extension Operand {
  fileprivate var isDecimal: Bool {
    if case .value(.decimal) = self { true } else { false }
  }

  /// - Parameter isPath: Whether a path gives the operand.
  fileprivate func shape(isPath: Bool) -> OperandShape {
    switch self {
    case .collection: isPath ? .path : .list
    case .value(.list): .list
    case .value, .object: .single
    }
  }
}

extension FetchExpression {
  fileprivate var isConditional: Bool {
    if case .conditional = self { true } else { false }
  }
}
