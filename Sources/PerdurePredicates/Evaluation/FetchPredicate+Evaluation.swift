// Asking once. For many objects, make a PredicateEvaluator.

extension FetchPredicate {
  /// Whether the predicate holds for an object, with values for variables.
  ///
  /// - Throws: when a property or variable is unknown, a function cannot take its operands or is not
  ///   supported, a regular expression cannot be read, or the source fails.
  public func evaluate(
    with source: some PropertySource, variables: [String: any PredicateArgument] = [:]
  ) throws(PredicateEvaluationError) -> Bool {
    try PredicateEvaluator(self, variables: variables).evaluate(with: source)
  }

  /// Whether the predicate holds for a value, which `SELF` means.
  ///
  /// - Throws: as ``evaluate(with:variables:)``.
  public func evaluate(
    with value: Value, variables: [String: any PredicateArgument] = [:]
  ) throws(PredicateEvaluationError) -> Bool {
    try PredicateEvaluator(self, variables: variables).evaluate(with: value)
  }
}

extension FetchExpression {
  /// The value of the expression for an object; objects in it become references, collections lists.
  ///
  /// - Throws: as ``FetchPredicate/evaluate(with:variables:)``.
  public func value(
    with source: some PropertySource, variables: [String: any PredicateArgument] = [:]
  ) throws(PredicateEvaluationError) -> Value {
    try PredicateEvaluator(.true, variables: variables).value(of: self, with: .object(source))
  }
}
