// Finds operands that a comparison rejects because they have several values (EV6 in
// PredicateEvaluator.swift). The evaluator and the check of requests use the same decision.

/// How many values an operand of a comparison has.
package enum OperandShape: Sendable {
  /// One value or null.
  case single
  /// Several values that may be compared like one value. This is a literal list, the result of
  /// `mode:`, or an element under ANY and ALL that is a list.
  case list
  /// The values at the end of a path.
  case path
}

/// One of the operands of a comparison.
package enum ComparisonSide: Sendable {
  case left, right
}

extension FetchComparison.Operator {
  /// The operand whose values the operator cannot compare; nil if it can compare both operands.
  package func sideWithTooManyValues(
    _ left: OperandShape, _ right: OperandShape
  ) -> ComparisonSide? {
    switch self {
    case .in, .between: return left == .path ? .left : nil
    case .contains: return right == .path ? .right : nil
    case .equal, .notEqual:
      if left != .single, right != .single { return nil }
      return left == .path ? .left : right == .path ? .right : nil
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .beginsWith, .endsWith, .like,
      .matches:
      return left == .path ? .left : right == .path ? .right : nil
    }
  }
}

extension FetchExpression {
  /// Whether the expression can give values of several objects. A literal list may be compared like
  /// a value.
  package var isPath: Bool {
    switch self {
    case .keyPath, .member, .subquery: true
    default: false
    }
  }
}
