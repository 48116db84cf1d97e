// Conditions on the objects of a to-many relationship.

public import PerdurePredicates

extension ToManyRef {
  /// The number of objects.
  public var count: PropertyRef<Int> {
    PropertyRef(.path(from: expression, PropertyPath([], aggregate: .count)))
  }

  /// Whether there is no object.
  public var isEmpty: FetchPredicate { count == 0 }

  /// Whether the relationship contains the object.
  public func contains(_ object: some PredicateArgument) -> FetchPredicate {
    .comparison(
      FetchComparison(expression, .equal, .constant(object.predicateValue), modifier: .any))
  }

  /// Whether the query holds for at least one object.
  public func any(_ query: (EntityRef<Element>) throws -> FetchPredicate) rethrows -> FetchPredicate {
    let filtered = try count(where: query)
    return comparisonOfAny(filtered) ?? (filtered > 0)
  }

  /// Whether the query holds for at least one object. The same as `any(_:)`.
  public func contains(
    where query: (EntityRef<Element>) throws -> FetchPredicate
  ) rethrows -> FetchPredicate { try any(query) }

  /// Whether the query holds for every object. The same as `all(_:)`.
  public func allSatisfy(
    _ query: (EntityRef<Element>) throws -> FetchPredicate
  ) rethrows -> FetchPredicate { try all(query) }

  /// Converts a condition that is a single comparison with a constant to `ANY path op constant`,
  /// which can use an index. Nil for other conditions. Also nil if a missing value can satisfy the
  /// comparison, because ANY skips objects without a value.
  private func comparisonOfAny(_ filtered: PropertyRef<Int>) -> FetchPredicate? {
    guard case .member(.subquery(_, let variable, .comparison(let comparison)), _) = filtered.expression,
      comparison.modifier == .direct, comparison.op != .notEqual,
      case .constant(let value) = comparison.right, !value.hasNull
    else { return nil }
    let path: FetchExpression
    switch comparison.left {
    case .variable(variable): path = expression
    case .member(.variable(variable), let names) where names.aggregate == nil:
      path = .path(from: expression, names)
    default: return nil
    }
    return .comparison(
      FetchComparison(path, comparison.op, comparison.right, modifier: .any, options: comparison.options))
  }

  /// Whether the query holds for every object. True if there is no object.
  public func all(_ query: (EntityRef<Element>) throws -> FetchPredicate) rethrows -> FetchPredicate {
    try count { !(try query($0)) } == 0
  }

  /// Whether the query holds for no object.
  public func none(_ query: (EntityRef<Element>) throws -> FetchPredicate) rethrows -> FetchPredicate {
    try count(where: query) == 0
  }

  /// The number of objects for which the query holds.
  public func count(
    where query: (EntityRef<Element>) throws -> FetchPredicate
  ) rethrows -> PropertyRef<Int> {
    let variable = "_\(depth + 1)"
    let element = EntityRef<Element>(.variable(variable), depth: depth + 1)
    let filtered = FetchExpression.subquery(
      collection: expression, variable: variable, predicate: try query(element))
    return PropertyRef(.member(of: filtered, PropertyPath([], aggregate: .count)))
  }

  // A Boolean property alone is a query: `orders.none { $0.isPaid }`.

  /// Whether a Boolean property is true for at least one object.
  @_disfavoredOverload
  public func any(_ query: (EntityRef<Element>) throws -> PropertyRef<Bool>) rethrows -> FetchPredicate {
    try any { try query($0).isTrue }
  }

  /// Whether a Boolean property is true for at least one object. The same as `any(_:)`.
  @_disfavoredOverload
  public func contains(
    where query: (EntityRef<Element>) throws -> PropertyRef<Bool>
  ) rethrows -> FetchPredicate { try any(query) }

  /// Whether a Boolean property is true for every object. The same as `all(_:)`.
  @_disfavoredOverload
  public func allSatisfy(
    _ query: (EntityRef<Element>) throws -> PropertyRef<Bool>
  ) rethrows -> FetchPredicate { try all(query) }

  /// Whether a Boolean property is true for every object.
  @_disfavoredOverload
  public func all(_ query: (EntityRef<Element>) throws -> PropertyRef<Bool>) rethrows -> FetchPredicate {
    try all { try query($0).isTrue }
  }

  /// Whether a Boolean property is false or absent for every object.
  @_disfavoredOverload
  public func none(_ query: (EntityRef<Element>) throws -> PropertyRef<Bool>) rethrows -> FetchPredicate {
    try none { try query($0).isTrue }
  }

  /// The number of objects for which a Boolean property is true.
  @_disfavoredOverload
  public func count(
    where query: (EntityRef<Element>) throws -> PropertyRef<Bool>
  ) rethrows -> PropertyRef<Int> {
    try count { try query($0).isTrue }
  }

  /// The sum of a number over the objects; 0 if there is none.
  public func sum<N: PredicateArgument & Numeric>(_ keyPath: KeyPath<Element, N>) -> PropertyRef<N> {
    aggregate(.sum, keyPath)
  }

  /// The sum of a number over the objects that have one; 0 if none has.
  public func sum<N: PredicateArgument & Numeric>(_ keyPath: KeyPath<Element, N?>) -> PropertyRef<N> {
    aggregate(.sum, keyPath)
  }

  /// The mean of a number over the objects; no value if there is none.
  public func average<N: PredicateArgument & Numeric>(
    _ keyPath: KeyPath<Element, N>
  ) -> PropertyRef<Double> {
    aggregate(.avg, keyPath)
  }

  /// The mean of a number over the objects that have one; no value if none has.
  public func average<N: PredicateArgument & Numeric>(_ keyPath: KeyPath<Element, N?>) -> PropertyRef<Double>
  {
    aggregate(.avg, keyPath)
  }

  /// The least value over the objects; no value if there is none.
  public func min<N: PredicateArgument>(_ keyPath: KeyPath<Element, N>) -> PropertyRef<N> {
    aggregate(.min, keyPath)
  }

  /// The least value over the objects that have one; no value if none has.
  public func min<N: PredicateArgument>(_ keyPath: KeyPath<Element, N?>) -> PropertyRef<N> {
    aggregate(.min, keyPath)
  }

  /// The greatest value over the objects; no value if there is none.
  public func max<N: PredicateArgument>(_ keyPath: KeyPath<Element, N>) -> PropertyRef<N> {
    aggregate(.max, keyPath)
  }

  /// The greatest value over the objects that have one; no value if none has.
  public func max<N: PredicateArgument>(_ keyPath: KeyPath<Element, N?>) -> PropertyRef<N> {
    aggregate(.max, keyPath)
  }

  private func aggregate<R>(
    _ op: CollectionOperator, _ keyPath: AnyKeyPath
  ) -> PropertyRef<R> {
    let name = Element.propertyName(of: keyPath)
    return PropertyRef(.path(from: expression, PropertyPath([name], aggregate: op)))
  }
}

extension Value {
  /// Whether this is null, or a list that contains null.
  fileprivate var hasNull: Bool {
    if case .list(let list) = self { list.contains(where: \.isNull) } else { isNull }
  }
}
