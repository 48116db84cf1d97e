// The meaning of predicates, on objects in memory. Everything else that runs predicates (on rows,
// by indexes) must agree with this.
//
// Rules beside the comparison table (Value+Comparison.swift)
//   EV1. Logic has two values. An ordering or text comparison with null is false, so NOT of it is
//        true.
//   EV2. ANY holds for at least one element, ALL for every one (so for none at all), over the
//        flattened path. Null counts as no elements, a single value as one.
//   EV3. A path through a missing to-one object gives null, or no elements if it crosses a to-many
//        behind it.
//   EV4. Inside SUBQUERY plain paths and SELF still mean the outer object; the variable hides an
//        outer one of the same name.
//   EV5. AND and OR stop at the first part that decides; an error in a later part does not show.
//   EV6. A collection can equal another one, contain an element, and be the right side of IN. A
//        comparison with a single value, null included, needs ANY, ALL, NONE or an aggregate;
//        otherwise it is an error.
//   EV7. Under ANY and ALL, a collection operator applies to each group: a path over several
//        to-many relationships has one group for each object before the last of them. So `ANY
//        teams.members.@count > 1` asks for a team with two members.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A predicate made ready to be asked about many objects.
///
/// It keeps data from one evaluation for the next, such as parsed regular expressions, and the time
/// of `now()`. Not `Sendable`: make one for each task.
public final class PredicateEvaluator {
  private let predicate: FetchPredicate
  let now: Date
  private var regularExpressions: [PatternKey: RegularExpression] = [:]
  private let variables: [String: Operand]

  private struct PatternKey: Hashable {
    var pattern: String
    var options: StringOptions
  }

  /// Makes a predicate ready, with values for its variables; `now()` means the moment given.
  public init(
    _ predicate: FetchPredicate, variables: [String: any PredicateArgument] = [:], now: Date = Date()
  ) {
    self.predicate = predicate
    self.now = now
    self.variables = variables.mapValues { .value($0.argumentValue) }
  }

  /// Whether the predicate holds for an object.
  ///
  /// - Throws: when a property or variable is unknown, a function has operands it cannot take or is
  ///   not supported, a regular expression cannot be read, or the source fails.
  public func evaluate(with source: some PropertySource) throws(PredicateEvaluationError) -> Bool {
    try evaluate(predicate, in: Scope(root: .object(source), variables: variables))
  }

  /// Whether the predicate holds for a value, which is `SELF`.
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

/// The meaning of names at a position in the tree.
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

  /// The operands that ANY and ALL compare (EV7).
  private func elements(
    of expression: FetchExpression, in scope: Scope
  ) throws(PredicateEvaluationError) -> [Operand] {
    if let groups = try groups(expression, in: scope) { return groups }
    return try operand(of: expression, in: scope).spread
  }

  /// Compares, with a long literal as a decimal beside a decimal.
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

  /// The chosen operand of a TERNARY: it decides whether the result is many values (EV6).
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

  /// A path can give many values, and those are neither equal to, nor in order with, a single one
  /// (EV6).
  private static func checkManyValues(
    _ left: Operand, _ comparison: FetchComparison, _ right: Operand
  ) throws(PredicateEvaluationError) {
    let isLeftMany = left.isCollection && comparison.left.isPath && comparison.modifier == .direct
    let isRightMany = right.isCollection && comparison.right.isPath
    guard isLeftMany || isRightMany else { return }
    let asked: FetchExpression
    switch comparison.op {
    case .in, .between:
      guard isLeftMany else { return }
      asked = comparison.left
    case .contains:
      guard isRightMany else { return }
      asked = comparison.right
    case .equal, .notEqual:
      if left.elements != nil, right.elements != nil { return }
      asked = isLeftMany ? comparison.left : comparison.right
    default: asked = isLeftMany ? comparison.left : comparison.right
    }
    throw PredicateEvaluationError(
      .invalidOperand,
      "\(asked.shortDescription) has any number of values, and \(comparison.op.rawValue) compares one. Write ANY, ALL or NONE "
        + "before the comparison, or ask for one value: @count, @min, @max, @sum or @avg.")
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

  /// Membership in a collection, or a part of a text.
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

  fileprivate var isCollection: Bool {
    if case .collection = self { true } else { false }
  }
}

extension FetchExpression {
  fileprivate var isConditional: Bool {
    if case .conditional = self { true } else { false }
  }

  /// Whether the path leads to values of objects; a literal list may be used in place of a value.
  fileprivate var isPath: Bool {
    switch self {
    case .keyPath, .member, .subquery: true
    default: false
    }
  }
}
