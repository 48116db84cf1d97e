// Checks of elements by position: `items[0]`, `items[FIRST]`. A position needs an ordered
// collection.

internal import PerdurePredicates

extension PredicateCheck {
  /// The type of an element of a collection, or of its size.
  ///
  /// - Throws: `FetchError`: `noOrder` for a position in an unordered collection. `typeMismatch`
  ///   for a position in a single value, and for a position that is not a whole number. Also the
  ///   error of the position itself: it can be an expression, or the name of a property.
  mutating func element(
    _ index: FetchExpression.ElementIndex, of base: FetchExpression, _ type: PathType,
    _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    switch index {
    case .size: return .value(.int64)
    case .first, .last:
      try checkPosition(in: base, type, variables)
      return type.spread
    case .at(let position): return try element(at: position, of: base, type, variables)
    }
  }

  private mutating func element(
    at position: FetchExpression, of base: FetchExpression, _ type: PathType,
    _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    let positions = try self.type(position, variables)
    switch position.simplified() {
    case .constant(.null): return .null
    case .constant(.string(let name)): return try follow(PropertyPath(name), from: type)
    default: break
    }
    guard positions.isPosition, type.isCollection else {
      throw FetchError(
        .typeMismatch,
        "[\(position.shortDescription)] is \(positions.words), and \(base.shortDescription) of \(entity.name) is "
          + "\(type.words). A position is a whole number, in a collection; the name of a property is written out.",
        entity: entity.name, key: base.shortDescription)
    }
    try checkPosition(in: base, type, variables)
    return type.spread
  }

  private mutating func checkPosition(
    in base: FetchExpression, _ type: PathType, _ variables: [String: PathType]
  ) throws(FetchError) {
    if type.mayBeMany, try !isOrdered(base, variables) {
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
      return try type(base, variables).element.alternatives.allSatisfy { part in
        if case .object(let start) = part { schema.isOrdered(path, from: start) } else { true }
      }
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

extension PathType {
  /// Whether a value of this type can be a position: every value is a number, and some are whole.
  fileprivate var isPosition: Bool {
    alternatives.allSatisfy { part in
      if case .value(let kind) = part { kind.isNumeric } else { false }
    } && (alternatives.isEmpty || hasKind(\.isInteger))
  }

  fileprivate var isCollection: Bool {
    alternatives.allSatisfy { part in if case .many = part { true } else { false } }
  }
}
