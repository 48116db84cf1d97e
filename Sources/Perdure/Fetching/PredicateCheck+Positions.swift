// Checks of elements by position: `items[0]`, `items[FIRST]`. A position needs an ordered
// collection.

internal import PerdurePredicates

extension PredicateCheck {
  /// The type of an element of a collection, or of its size.
  ///
  /// - Throws: `FetchError`: `noOrder` for a position in an unordered collection, `typeMismatch`
  ///   for a position in a single value.
  mutating func element(
    _ index: FetchExpression.ElementIndex, of base: FetchExpression, _ type: PathType,
    _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    switch index {
    case .size: return .value(.int64)
    case .first, .last:
      try checkPosition(in: base, type, variables)
      return type.element
    case .at(let position):
      if case .constant(let value) = position { return try element(at: value, of: base, type, variables) }
      // If the position is a text, the evaluation reads the property of that name.
      reachEverything()
      if case .value(let kind) = try self.type(position, variables), kind.isNumeric {
        try checkPosition(in: base, type, variables)
        return type.element
      }
      return .any
    }
  }

  private mutating func element(
    at position: Value, of base: FetchExpression, _ type: PathType, _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    switch (position, type) {
    case (.string, _), (.null, _): return .any
    case (.integer, .any), (.integer, .many):
      try checkPosition(in: base, type, variables)
      return type.element
    default:
      throw FetchError(
        .typeMismatch,
        "[\(position.kindName)] selects an element by its position, and \(base.shortDescription) of "
          + "\(entity.name) is \(type.words). A position is a whole number, in a collection.",
        entity: entity.name, key: base.shortDescription)
    }
  }

  private mutating func checkPosition(
    in base: FetchExpression, _ type: PathType, _ variables: [String: PathType]
  ) throws(FetchError) {
    if case .many = type, try !isOrdered(base, variables) {
      throw FetchError(
        .noOrder,
        "\(base.shortDescription) of \(entity.name) has no order, so no element has a position. Declare the "
          + "relationship ordered, or ask for @min, @max, or with ANY.",
        entity: entity.name, key: base.shortDescription)
    }
  }

  /// Whether the model defines the order of a collection's elements.
  private mutating func isOrdered(
    _ expression: FetchExpression, _ variables: [String: PathType]
  ) throws(FetchError) -> Bool {
    switch expression {
    case .constant, .variable, .evaluatedObject, .aggregate, .function, .element: return true
    case .keyPath(let path): return schema.isOrdered(path, from: entity)
    case .member(let base, let path):
      guard try isOrdered(base, variables) else { return false }
      guard case .object(let start) = try type(base, variables).element else { return true }
      return schema.isOrdered(path, from: start)
    case .subquery(let collection, _, _): return try isOrdered(collection, variables)
    case .conditional(_, let first, let second):
      return try isOrdered(first, variables) ? try isOrdered(second, variables) : false
    case .set(let operation, let left, let right):
      guard try isOrdered(left, variables), operation == .union else {
        return try isOrdered(left, variables)
      }
      return try isOrdered(right, variables)
    }
  }
}
