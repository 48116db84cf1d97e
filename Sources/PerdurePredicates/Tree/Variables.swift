// Variables: finding the free ones, and replacing them by values. A subquery binds its variable in
// its predicate, not in its collection. Inside the predicate, an outer variable with the same name
// is hidden.

extension FetchPredicate {
  /// The names of variables that need a value: all variables that no enclosing subquery binds.
  public var variables: Set<String> {
    var names: Set<String> = []
    forEachChild(
      predicate: { names.formUnion($0.variables) },
      expression: { names.formUnion($0.variables) })
    return names
  }

  /// The predicate with variables replaced by values. Variables without a value are not changed.
  ///
  /// If the value of a variable is an object, a path from the variable is replaced by the current
  /// value at the end of the path. For example, `$FETCH_SOURCE.name` becomes the object's current
  /// name.
  ///
  /// - Parameter variables: The values by the names of the variables, without `$`.
  /// - Complexity: O(n) for n nodes.
  public func withSubstitutionVariables(
    _ variables: [String: any PredicateArgument]
  ) -> FetchPredicate {
    substituting(variables)
  }

  fileprivate func substituting(_ arguments: [String: any PredicateArgument]) -> FetchPredicate {
    mapChildren(
      predicate: { $0.substituting(arguments) },
      expression: { $0.substituting(arguments) })
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

  /// The expression with variables replaced by values. See
  /// `FetchPredicate.withSubstitutionVariables(_:)`.
  ///
  /// - Complexity: O(n) for n nodes.
  public func withSubstitutionVariables(
    _ variables: [String: any PredicateArgument]
  ) -> FetchExpression {
    substituting(variables)
  }

  fileprivate func substituting(_ arguments: [String: any PredicateArgument]) -> FetchExpression {
    switch self {
    case .variable(let name): return arguments[name].map { .constant($0.argumentValue) } ?? self
    case .member(of: .variable(let name), let path) where path.aggregate == nil:
      guard let value = arguments[name]?.argumentValue(atPath: path.names) else { break }
      return .constant(value)
    case .subquery(let collection, let variable, let predicate):
      var inner = arguments
      inner[variable] = nil
      return .subquery(
        collection: collection.substituting(arguments), variable: variable,
        predicate: predicate.substituting(inner))
    default: break
    }
    return mapChildren(
      predicate: { $0.substituting(arguments) },
      expression: { $0.substituting(arguments) })
  }
}
