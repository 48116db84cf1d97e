// What can be worked out before any row is seen: expressions of constants, and logic with known parts.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Brings a predicate into the form that is planned and compiled: constants evaluated and on the right, nested AND
/// and OR flat, known parts gone. The meaning stays the same.
struct PredicateFolding {
  /// What `now()` means throughout the fetch.
  let now: Date

  func fold(_ predicate: FetchPredicate) throws -> FetchPredicate {
    switch predicate {
    case .true, .false: return predicate
    case .and(let parts): return Self.join(try parts.map(fold), isAnd: true)
    case .or(let parts): return Self.join(try parts.map(fold), isAnd: false)
    case .not(let part):
      switch try fold(part) {
      case .true: return .false
      case .false: return .true
      case .not(let inner): return inner
      case let folded: return .not(folded)
      }
    case .comparison(let comparison): return try fold(comparison)
    }
  }

  /// The AND or OR of folded parts.
  static func join(_ parts: [FetchPredicate], isAnd: Bool) -> FetchPredicate {
    var kept: [FetchPredicate] = []
    for part in parts {
      switch (part, isAnd) {
      case (.true, true), (.false, false): continue
      case (.false, true): return .false
      case (.true, false): return .true
      case (.and(let inner), true), (.or(let inner), false): kept += inner
      default: kept.append(part)
      }
    }
    if kept.count == 1 { return kept[0] }
    if kept.isEmpty { return isAnd ? .true : .false }
    return isAnd ? .and(kept) : .or(kept)
  }

  private func fold(_ comparison: FetchComparison) throws -> FetchPredicate {
    var comparison = comparison
    comparison.left = try fold(comparison.left)
    comparison.right = try fold(comparison.right)
    if comparison.left.isConstant {
      if comparison.right.isConstant {
        let evaluator = PredicateEvaluator(.comparison(comparison), now: now)
        return try evaluator.evaluate(with: Value.null) ? .true : .false
      }
      if let mirrored = comparison.op.mirrored, comparison.modifier == .direct {
        swap(&comparison.left, &comparison.right)
        comparison.op = mirrored
      }
    }
    return .comparison(comparison)
  }

  private func fold(_ expression: FetchExpression) throws -> FetchExpression {
    switch expression {
    case .constant, .keyPath, .variable, .evaluatedObject: return expression
    case .subquery(let collection, let variable, let predicate):
      return .subquery(
        collection: try fold(collection), variable: variable, predicate: try fold(predicate))
    case .member(let base, let path): return .member(of: try fold(base), path)
    default:
      guard expression.needsNothing else { return expression }
      return .constant(try replacingNow(expression).value(with: NothingSource()))
    }
  }

  private func replacingNow(_ expression: FetchExpression) -> FetchExpression {
    switch expression {
    case .function(.now, _): .constant(.date(now))
    case .function(let function, let arguments): .function(function, arguments.map(replacingNow))
    case .aggregate(let elements): .list(elements.map(replacingNow))
    case .set(let operation, let left, let right):
      .set(operation, replacingNow(left), replacingNow(right))
    case .member(let base, let path): .member(of: replacingNow(base), path)
    default: expression
    }
  }
}

private struct NothingSource: PropertySource {
  var reference: ObjectReference? { nil }

  func value(of property: String) throws(PredicateEvaluationError) -> PropertyResult { .unknown }
}

extension FetchExpression {
  var isConstant: Bool {
    if case .constant = self { true } else { false }
  }

  /// Whether the value is the same for every object of the fetch.
  fileprivate var needsNothing: Bool {
    switch self {
    case .constant: true
    case .keyPath, .evaluatedObject, .variable, .subquery, .conditional, .element: false
    case .member(let base, _): base.needsNothing
    case .function(let function, let arguments):
      (function.isPure || function == .now) && arguments.allSatisfy(\.needsNothing)
    case .aggregate(let elements): elements.allSatisfy(\.needsNothing)
    case .set(_, let left, let right): left.needsNothing && right.needsNothing
    }
  }
}

extension FetchComparison.Operator {
  /// The operator that asks the same with the operands exchanged.
  var mirrored: FetchComparison.Operator? {
    switch self {
    case .equal, .notEqual: self
    case .lessThan: .greaterThan
    case .lessThanOrEqual: .greaterThanOrEqual
    case .greaterThan: .lessThan
    case .greaterThanOrEqual: .lessThanOrEqual
    default: nil
    }
  }
}
