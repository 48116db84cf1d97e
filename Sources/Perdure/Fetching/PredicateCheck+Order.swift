// Rejects order comparisons of values without an order: the bytes of transformable attributes. Such
// values can be tested only for equality and for nil. This also applies to values at the end of a
// path.

internal import PerdurePredicates

extension PredicateCheck {
  /// - Throws: `FetchError` if the operator compares the order of values without an order.
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

  /// Checks that the values of @min and @max have an order.
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
    let key = expression.shortDescription
    throw FetchError(
      .typeMismatch,
      "\(operation) needs values with an order; \(key) of \(entity.name) is transformable: its bytes can "
        + "only be compared for equality, and with nil.", entity: entity.name, key: key)
  }

  private mutating func isOpaque(
    _ expression: FetchExpression, _ variables: [String: PathType]
  ) throws(FetchError) -> Bool {
    switch expression {
    case .constant, .evaluatedObject: return false
    case .variable(let name): return opaqueVariables.contains(name)
    case .subquery(let collection, _, _): return try isOpaque(collection, variables)
    case .keyPath(let path): return schema.isOpaque(path, from: entity)
    case .member(let base, let path):
      if path.names.isEmpty { return path.aggregate == .count ? false : try isOpaque(base, variables) }
      return try type(base, variables).element.alternatives.contains { part in
        if case .object(let start) = part { schema.isOpaque(path, from: start) } else { false }
      }
    case .element(_, .size): return false
    case .element(let base, _): return try isOpaque(base, variables)
    case .function(let function, let arguments):
      return function.givesArguments ? try isAnyOpaque(arguments, variables) : false
    case .aggregate(let elements): return try isAnyOpaque(elements, variables)
    case .conditional(_, let first, let second), .set(_, let first, let second):
      return try isOpaque(first, variables) ? true : isOpaque(second, variables)
    }
  }

  private mutating func isAnyOpaque(
    _ expressions: [FetchExpression], _ variables: [String: PathType]
  ) throws(FetchError) -> Bool {
    for expression in expressions where try isOpaque(expression, variables) { return true }
    return false
  }

  /// Checks the predicate of a subquery. The values of its variable are the elements of
  /// `collection`.
  mutating func check(
    _ predicate: FetchPredicate, where variable: String, isIn collection: FetchExpression, _ type: PathType,
    _ variables: [String: PathType]
  ) throws(FetchError) {
    let outside = opaqueVariables
    if try isOpaque(collection, variables) {
      opaqueVariables.insert(variable)
    } else {
      opaqueVariables.remove(variable)
    }
    var inner = variables
    inner[variable] = type.spread
    try check(predicate, variables: inner)
    opaqueVariables = outside
  }
}

extension FetchFunction {
  /// Whether the function returns an argument or an element of an argument, and not a computed
  /// value.
  fileprivate var givesArguments: Bool {
    switch self {
    case .min, .max, .mode, .noIndex, .objectFrom: true
    default: false
    }
  }
}
