// Evaluates a predicate once. For many objects, make a `PredicateEvaluator`.

extension FetchPredicate {
  /// Whether the predicate is true for an object, with values for variables.
  ///
  /// - Throws: `PredicateEvaluationError` in these cases: A property or variable is unknown. A
  ///   function is not supported, or an operator or a function cannot use its operands. A regular
  ///   expression is invalid or takes too many steps. The predicate has more than 200 levels. The
  ///   source fails.
  public func evaluate(
    with source: some PropertySource, variables: [String: any PredicateArgument] = [:]
  ) throws(PredicateEvaluationError) -> Bool {
    try checkDepth()
    return try PredicateEvaluator(self, variables: variables).evaluate(with: source)
  }

  /// Whether the predicate is true for a value, which is `SELF`.
  ///
  /// - Throws: as ``evaluate(with:variables:)``.
  public func evaluate(
    with value: Value, variables: [String: any PredicateArgument] = [:]
  ) throws(PredicateEvaluationError) -> Bool {
    try checkDepth()
    return try PredicateEvaluator(self, variables: variables).evaluate(with: value)
  }

  private func checkDepth() throws(PredicateEvaluationError) { try Self.check(depth, of: "predicate") }

  fileprivate static func check(_ depth: Int, of kind: String) throws(PredicateEvaluationError) {
    if depth <= Self.levelMax { return }
    throw PredicateEvaluationError(
      .tooDeep,
      "The \(kind) is nested more than \(Self.levelMax) levels deep. Join alternatives in one OR, conditions in "
        + "one AND, or use IN with a list.")
  }
}

extension FetchExpression {
  /// The value of the expression for an object. Objects become references, and collections become
  /// lists.
  ///
  /// - Throws: as `FetchPredicate.evaluate(with:variables:)`.
  public func value(
    with source: some PropertySource, variables: [String: any PredicateArgument] = [:]
  ) throws(PredicateEvaluationError) -> Value {
    try FetchPredicate.check(FetchComparison(self, .equal, .constant(.null)).depth, of: "expression")
    return try PredicateEvaluator(.true, variables: variables).value(of: self, with: .object(source))
  }
}
