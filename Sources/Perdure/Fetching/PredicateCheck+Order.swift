// Values that have no order: bytes that stand for something else, those of transformable attributes. They are equal or not,
// or there are none, however they are reached.

internal import PerdurePredicates

extension PredicateCheck {
  /// - Throws: `FetchError` where the operator asks for the order of what has none.
  mutating func checkOrder(
    _ comparison: FetchComparison, _ variables: [String: PathType]
  ) throws(FetchError) {
    switch comparison.op {
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .between: break
    default: return
    }
    try checkOrder(comparison.left, comparison.op.rawValue, variables)
    try checkOrder(comparison.right, comparison.op.rawValue, variables)
  }

  /// The least and the greatest of values are by their order.
  mutating func checkLeast(
    _ expression: FetchExpression, _ path: PropertyPath, _ variables: [String: PathType]
  ) throws(FetchError) {
    guard let aggregate = path.aggregate, aggregate == .min || aggregate == .max else { return }
    try checkOrder(expression, "@\(aggregate.rawValue)", variables)
  }

  mutating func checkOrder(
    _ expression: FetchExpression, _ operation: String, _ variables: [String: PathType]
  ) throws(FetchError) {
    guard try isOpaque(expression, variables) else { return }
    let key = expression.description
    throw FetchError(
      .typeMismatch,
      "\(operation) needs values with an order; \(key) of \(entity.name) is transformable: its bytes are "
        + "equal or not, or there are none.", entity: entity.name, key: key)
  }

  private mutating func isOpaque(
    _ expression: FetchExpression, _ variables: [String: PathType]
  ) throws(FetchError) -> Bool {
    switch expression {
    case .constant, .evaluatedObject, .variable, .subquery: return false
    case .keyPath(let path): return schema.isOpaque(path, from: entity)
    case .member(let base, let path):
      if path.names.isEmpty { return path.aggregate == .count ? false : try isOpaque(base, variables) }
      guard case .object(let start) = try type(base, variables).element else { return false }
      return schema.isOpaque(path, from: start)
    case .element(_, .size): return false
    case .element(let base, _): return try isOpaque(base, variables)
    case .function(_, let expressions), .aggregate(let expressions):
      for inner in expressions where try isOpaque(inner, variables) { return true }
      return false
    case .conditional(_, let first, let second), .set(_, let first, let second):
      return try isOpaque(first, variables) ? true : isOpaque(second, variables)
    }
  }
}
