// Variables: which are free, and values for them. A subquery binds its variable in its predicate, not in its
// collection; there an outer variable of the same name is out of reach.

extension FetchPredicate {
  /// The names of variables that need a value: all but those bound by a subquery around them.
  public var variables: Set<String> {
    var names: Set<String> = []
    forEachChild(
      predicate: { names.formUnion($0.variables) },
      expression: { names.formUnion($0.variables) })
    return names
  }

  /// The predicate with values in place of variables. Variables without a value here stay.
  public func withSubstitutionVariables(
    _ variables: [String: any PredicateArgument]
  ) -> FetchPredicate {
    substituting(variables.mapValues { .constant($0.argumentValue) })
  }

  fileprivate func substituting(_ expressions: [String: FetchExpression]) -> FetchPredicate {
    mapChildren(
      predicate: { $0.substituting(expressions) },
      expression: { $0.substituting(expressions) })
  }
}

extension FetchExpression {
  /// The names of variables that need a value.
  public var variables: Set<String> {
    switch self {
    case .variable(let name): return [name]
    case .subquery(let collection, let variable, let predicate):
      return collection.variables.union(predicate.variables.subtracting([variable]))
    default:
      var names: Set<String> = []
      forEachChild(
        predicate: { names.formUnion($0.variables) },
        expression: { names.formUnion($0.variables) })
      return names
    }
  }

  /// The expression with values in place of variables. Variables without a value here stay.
  public func withSubstitutionVariables(
    _ variables: [String: any PredicateArgument]
  ) -> FetchExpression {
    substituting(variables.mapValues { .constant($0.argumentValue) })
  }

  fileprivate func substituting(_ expressions: [String: FetchExpression]) -> FetchExpression {
    switch self {
    case .variable(let name): return expressions[name] ?? self
    case .subquery(let collection, let variable, let predicate):
      var inner = expressions
      inner[variable] = nil
      return .subquery(
        collection: collection.substituting(expressions), variable: variable,
        predicate: predicate.substituting(inner))
    default:
      return mapChildren(
        predicate: { $0.substituting(expressions) },
        expression: { $0.substituting(expressions) })
    }
  }
}
