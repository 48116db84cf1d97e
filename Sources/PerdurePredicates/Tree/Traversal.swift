// Functions that traverse and rebuild trees.

extension FetchPredicate {
  /// Calls a function for each direct child: for the expressions of a comparison, or for the
  /// predicates that AND, OR or NOT combines.
  package func forEachChild(
    predicate: (FetchPredicate) -> Void, expression: (FetchExpression) -> Void
  ) {
    switch self {
    case .true, .false: break
    case .and(let parts), .or(let parts): parts.forEach(predicate)
    case .not(let part): predicate(part.only)
    case .comparison(let comparison):
      expression(comparison.left)
      expression(comparison.right)
    }
  }

  /// The same predicate with its direct children replaced.
  package func mapChildren(
    predicate: (FetchPredicate) -> FetchPredicate, expression: (FetchExpression) -> FetchExpression
  ) -> FetchPredicate {
    switch self {
    case .true, .false: return self
    case .and(let parts): return .and(parts.map(predicate))
    case .or(let parts): return .or(parts.map(predicate))
    case .not(let part): return .not(predicate(part.only))
    case .comparison(let comparison):
      return .comparison(
        FetchComparison(
          expression(comparison.left), comparison.op, expression(comparison.right),
          modifier: comparison.modifier, options: comparison.options))
    }
  }

  /// Calls a function for every expression in the tree, outer ones first.
  public func forEachExpression(_ body: (FetchExpression) -> Void) {
    forEachChild(
      predicate: { $0.forEachExpression(body) },
      expression: { $0.forEachExpression(body) })
  }

  /// Calls a function for every comparison in the tree, including those inside subqueries and
  /// conditions.
  public func forEachComparison(_ body: (FetchComparison) -> Void) {
    if case .comparison(let comparison) = self { body(comparison) }
    forEachChild(
      predicate: { $0.forEachComparison(body) },
      expression: { $0.forEachComparison(body) })
  }
}

extension FetchExpression {
  /// Calls a function for each expression and predicate directly below this expression.
  package func forEachChild(
    predicate: (FetchPredicate) -> Void, expression: (FetchExpression) -> Void
  ) {
    switch self {
    case .constant, .keyPath, .variable, .evaluatedObject: break
    case .member(let base, _): expression(base)
    case .element(let base, let index):
      expression(base)
      if case .at(let position) = index { expression(position) }
    case .function(_, let arguments), .aggregate(let arguments): arguments.forEach(expression)
    case .subquery(let collection, _, let condition):
      expression(collection)
      predicate(condition)
    case .conditional(let condition, let first, let second):
      predicate(condition)
      expression(first)
      expression(second)
    case .set(_, let left, let right):
      expression(left)
      expression(right)
    }
  }

  /// Whether the expression has no children.
  package var isLeaf: Bool {
    switch self {
    case .constant, .keyPath, .variable, .evaluatedObject: true
    case .member, .element, .function, .aggregate, .subquery, .conditional, .set: false
    }
  }

  /// The same expression with its direct children replaced; lists and paths stay in normal form.
  package func mapChildren(
    predicate: (FetchPredicate) -> FetchPredicate, expression: (FetchExpression) -> FetchExpression
  ) -> FetchExpression {
    switch self {
    case .constant, .keyPath, .variable, .evaluatedObject: self
    case .member(let base, let path): .path(from: expression(base), path)
    case .element(let base, .at(let position)): .element(of: expression(base), .at(expression(position)))
    case .element(let base, let index): .element(of: expression(base), index)
    case .function(let function, let arguments): .function(function, arguments.map(expression))
    case .aggregate(let elements): .list(elements.map(expression))
    case .subquery(let collection, let variable, let condition):
      .subquery(collection: expression(collection), variable: variable, predicate: predicate(condition))
    case .conditional(let condition, let first, let second):
      .conditional(predicate(condition), expression(first), expression(second))
    case .set(let operation, let left, let right): .set(operation, expression(left), expression(right))
    }
  }

  /// Calls a function for this expression and every one below it, outer ones first.
  public func forEachExpression(_ body: (FetchExpression) -> Void) {
    body(self)
    forEachChild(
      predicate: { $0.forEachExpression(body) },
      expression: { $0.forEachExpression(body) })
  }
}

extension FetchExpression {
  /// Calls a function for every comparison in predicates below this expression.
  public func forEachComparison(_ body: (FetchComparison) -> Void) {
    forEachChild(
      predicate: { $0.forEachComparison(body) },
      expression: { $0.forEachComparison(body) })
  }
}

// MARK: Questions about a tree

extension FetchPredicate {
  /// All paths from the evaluated object in the predicate. Plain paths inside subqueries start at
  /// the outer object and are included. Paths from variables are not included.
  public var paths: Set<PropertyPath> {
    var paths: Set<PropertyPath> = []
    forEachExpression { expression in
      if case .keyPath(let path) = expression { paths.insert(path) }
    }
    return paths
  }

  /// The first names of ``paths``: the properties of the evaluated object on which the predicate
  /// depends.
  public var properties: Set<String> {
    Set(paths.compactMap(\.names.first))
  }
}
