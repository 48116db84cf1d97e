// Comparison and logic of queries.

public import PerdurePredicates

extension PropertyRef where V: PredicateArgument {
  private static func compare(
    _ left: Self, _ op: FetchComparison.Operator, _ right: V?
  ) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, op, .constant(right.predicateValue)))
  }

  private static func compare(
    _ left: Self, _ op: FetchComparison.Operator, _ right: Self
  ) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, op, right.expression))
  }

  /// Whether the property has this value; `nil` tests for an absent value.
  public static func == (left: Self, right: V?) -> FetchPredicate { compare(left, .equal, right) }
  /// Whether the property has another value, or none; `nil` tests for an existing value.
  public static func != (left: Self, right: V?) -> FetchPredicate { compare(left, .notEqual, right) }
  /// Whether the property is less than the value.
  public static func < (left: Self, right: V) -> FetchPredicate { compare(left, .lessThan, right) }
  /// Whether the property is at most the value.
  public static func <= (left: Self, right: V) -> FetchPredicate { compare(left, .lessThanOrEqual, right) }
  /// Whether the property is greater than the value.
  public static func > (left: Self, right: V) -> FetchPredicate { compare(left, .greaterThan, right) }
  /// Whether the property is at least the value.
  public static func >= (left: Self, right: V) -> FetchPredicate {
    compare(left, .greaterThanOrEqual, right)
  }

  /// Whether two properties have the same value, or neither has one.
  public static func == (left: Self, right: Self) -> FetchPredicate { compare(left, .equal, right) }
  /// Whether two properties differ.
  public static func != (left: Self, right: Self) -> FetchPredicate { compare(left, .notEqual, right) }
  /// Whether the left property is less than the right.
  public static func < (left: Self, right: Self) -> FetchPredicate { compare(left, .lessThan, right) }
  /// Whether the left property is at most the right.
  public static func <= (left: Self, right: Self) -> FetchPredicate {
    compare(left, .lessThanOrEqual, right)
  }
  /// Whether the left property is greater than the right.
  public static func > (left: Self, right: Self) -> FetchPredicate { compare(left, .greaterThan, right) }
  /// Whether the left property is at least the right.
  public static func >= (left: Self, right: Self) -> FetchPredicate {
    compare(left, .greaterThanOrEqual, right)
  }

  /// Whether the property has this value.
  public static func == (left: V, right: Self) -> FetchPredicate { right == left }
  /// Whether the property has another value, or none.
  public static func != (left: V, right: Self) -> FetchPredicate { right != left }
  /// Whether the value is less than the property.
  public static func < (left: V, right: Self) -> FetchPredicate { right > left }
  /// Whether the value is at most the property.
  public static func <= (left: V, right: Self) -> FetchPredicate { right >= left }
  /// Whether the value is greater than the property.
  public static func > (left: V, right: Self) -> FetchPredicate { right < left }
  /// Whether the value is at least the property.
  public static func >= (left: V, right: Self) -> FetchPredicate { right <= left }

  /// Whether the value is between two others, both included.
  public func between(_ low: V, _ high: V) -> FetchPredicate {
    let bounds = Value.list([low.predicateValue, high.predicateValue])
    return .comparison(FetchComparison(expression, .between, .constant(bounds)))
  }

  /// Whether the value is one of several.
  public func `in`(_ values: some Sequence<V>) -> FetchPredicate {
    let list = Value.list(values.map(\.predicateValue))
    return .comparison(FetchComparison(expression, .in, .constant(list)))
  }
}

extension PropertyRef where V: PredicateArgument & Comparable {
  /// Whether the value is in a range, both ends included.
  public func `in`(_ range: ClosedRange<V>) -> FetchPredicate {
    between(range.lowerBound, range.upperBound)
  }

  /// Whether the value is in a range, its upper end excluded.
  public func `in`(_ range: Range<V>) -> FetchPredicate {
    self >= range.lowerBound && self < range.upperBound
  }
}

extension Sequence where Element: PredicateArgument {
  /// Whether these values contain the value of the property, as in `["a", "b"].contains($0.name)`.
  public func contains(_ property: PropertyRef<Element>) -> FetchPredicate { property.in(self) }
}

extension ClosedRange where Bound: PredicateArgument {
  /// Whether the value of the property is in this range, as in `(1...3).contains($0.rank)`.
  public func contains(_ property: PropertyRef<Bound>) -> FetchPredicate { property.in(self) }
}

extension Range where Bound: PredicateArgument {
  /// Whether the value of the property is in this range, as in `(1..<3).contains($0.rank)`.
  public func contains(_ property: PropertyRef<Bound>) -> FetchPredicate { property.in(self) }
}

extension PropertyRef<Bool> {
  var isTrue: FetchPredicate {
    .comparison(FetchComparison(expression, .equal, .constant(.bool(true))))
  }

  /// Whether the property is false. A property without a value is neither true nor false.
  public static prefix func ! (operand: Self) -> FetchPredicate {
    .comparison(FetchComparison(operand.expression, .equal, .constant(.bool(false))))
  }

  /// Whether the property is true, and the predicate holds.
  public static func && (left: Self, right: FetchPredicate) -> FetchPredicate { left.isTrue && right }
  /// Whether the predicate holds, and the property is true.
  public static func && (left: FetchPredicate, right: Self) -> FetchPredicate { left && right.isTrue }
  /// Whether both properties are true.
  public static func && (left: Self, right: Self) -> FetchPredicate { left.isTrue && right.isTrue }
  /// Whether the property is true, or the predicate holds.
  public static func || (left: Self, right: FetchPredicate) -> FetchPredicate { left.isTrue || right }
  /// Whether the predicate holds, or the property is true.
  public static func || (left: FetchPredicate, right: Self) -> FetchPredicate { left || right.isTrue }
  /// Whether at least one property is true.
  public static func || (left: Self, right: Self) -> FetchPredicate { left.isTrue || right.isTrue }
}

extension EntityRef {
  /// Whether the object is this one; `nil` tests for an absent object.
  public static func == (left: Self, right: (some QueryableObject & PredicateArgument)?) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .equal, .constant(right.predicateValue)))
  }
  /// Whether the object is a different one, or absent; `nil` tests for an existing object.
  public static func != (left: Self, right: (some QueryableObject & PredicateArgument)?) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .notEqual, .constant(right.predicateValue)))
  }
  /// Whether there is no object: write `== nil`.
  public static func == (left: Self, right: _OptionalNilComparisonType) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .equal, .constant(.null)))
  }
  /// Whether there is an object: write `!= nil`.
  public static func != (left: Self, right: _OptionalNilComparisonType) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .notEqual, .constant(.null)))
  }
  /// Whether both are the same object, or both are absent.
  public static func == (left: Self, right: Self) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .equal, right.expression))
  }
  /// Whether the two are different objects.
  public static func != (left: Self, right: Self) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .notEqual, right.expression))
  }

  /// Whether the object is the one with this identity.
  public static func == (left: Self, right: ManagedObjectID) -> FetchPredicate { left.is(right) }
  /// Whether the object does not have this identity, or is absent.
  public static func != (left: Self, right: ManagedObjectID) -> FetchPredicate {
    .comparison(FetchComparison(left.expression, .notEqual, .constant(right.predicateValue)))
  }

  /// Whether the object is the one with this identity.
  public func `is`(_ identity: some PredicateArgument) -> FetchPredicate {
    .comparison(FetchComparison(expression, .equal, .constant(identity.predicateValue)))
  }

  /// Whether the object is one of several, given as objects or as identities.
  public func `in`(_ objects: some Sequence<some PredicateArgument>) -> FetchPredicate {
    let list = Value.list(objects.map(\.predicateValue))
    return .comparison(FetchComparison(expression, .in, .constant(list)))
  }
}

extension FetchPredicate {
  /// Whether both predicates hold.
  public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    .and(left.joinable(ofAnd: true) + right.joinable(ofAnd: true))
  }

  /// Whether at least one predicate holds.
  public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    .or(left.joinable(ofAnd: false) + right.joinable(ofAnd: false))
  }

  /// Whether the predicate does not hold.
  public static prefix func ! (operand: FetchPredicate) -> FetchPredicate {
    if case .not(let negated) = operand { return negated.only }
    return .not(operand)
  }

  /// The parts of an AND or OR, so that several operators make one AND or OR. A predicate with many
  /// parts stays a single part: copying it for each operator of a loop takes quadratic time.
  private func joinable(ofAnd isAnd: Bool) -> [FetchPredicate] {
    guard let parts = parts(ofAnd: isAnd), parts.count < PredicateParts.groupMax else { return [self] }
    return Array(parts)
  }
}
