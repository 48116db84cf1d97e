// Checks of the operands of a comparison: how many values they have, and whether they can be equal.

internal import PerdurePredicates

extension PredicateCheck {
  /// - Throws: `FetchError` if the comparison cannot be evaluated, or is false for every row
  ///   because of the types of its operands.
  mutating func check(
    _ written: FetchComparison, _ variables: [String: PathType]
  ) throws(FetchError) {
    let left = try type(written.left, variables)
    let right = try type(written.right, variables)
    try checkModifier(written, left)
    try checkSingle(written, left, right, variables)
    var comparison = written
    comparison.left = written.left.simplified()
    comparison.right = written.right.simplified()
    try checkBounds(comparison)
    try checkPattern(comparison)
    let side = comparison.modifier == .direct ? left : left.spread
    switch (comparison.left, comparison.right) {
    case (.constant(let value), .constant(let other)): try checkConstants(comparison, value, other)
    case (_, .constant(let value)):
      try check(comparison.left, side, comparison.op, value, written: comparison.op)
    case (.constant(let value), _):
      if let op = comparison.op.exchanged {
        try check(comparison.right, right, op, value, written: comparison.op)
      }
    default: try checkTypes(comparison, side, right)
    }
  }

  private func checkModifier(_ comparison: FetchComparison, _ left: PathType) throws(FetchError) {
    guard comparison.modifier != .direct, case .value = left, case .keyPath(let path) = comparison.left,
      !schema.hasGroups(path, from: entity)
    else { return }
    throw FetchError(
      .notARelationship,
      "\(comparison.left.shortDescription) has one value for each \(entity.name); "
        + "ANY and ALL need a to-many relationship.",
      entity: entity.name, key: comparison.left.shortDescription)
  }

  /// Checks that a collection is not compared with a single value, whichever operand TERNARY
  /// selects.
  private mutating func checkSingle(
    _ comparison: FetchComparison, _ left: PathType, _ right: PathType, _ variables: [String: PathType]
  ) throws(FetchError) {
    guard left.mayBeMany || right.mayBeMany else { return }
    // An element can be null, even if other elements are lists. Null counts as a single value.
    let elements: Set<OperandShape> = left.spread.mayBeMany ? [.list, .single] : [.single]
    let lefts = comparison.modifier == .direct ? try shapes(comparison.left, variables) : elements
    for right in try shapes(comparison.right, variables) {
      for left in lefts {
        guard let side = comparison.op.sideWithTooManyValues(left, right) else { continue }
        throw manyValues(side == .left ? comparison.left : comparison.right, comparison)
      }
    }
  }

  /// The shapes that the operand can have. Null in place of a collection counts as a single value.
  private mutating func shapes(
    _ expression: FetchExpression, _ variables: [String: PathType]
  ) throws(FetchError) -> Set<OperandShape> {
    if case .conditional(_, let first, let second) = expression {
      return try shapes(first, variables).union(try shapes(second, variables))
    }
    let alternatives = try type(expression, variables).alternatives
    var shapes: Set<OperandShape> = alternatives.isEmpty || expression.canBeNull ? [.single] : []
    for part in alternatives {
      if case .many = part {
        shapes.insert(expression.isPath || expression.isSet ? .path : .list)
      } else {
        shapes.insert(.single)
      }
    }
    return shapes
  }

  private func manyValues(_ expression: FetchExpression, _ comparison: FetchComparison) -> FetchError {
    let key = expression.shortDescription
    return FetchError(
      .manyValues,
      "\(key) of \(entity.name) has any number of values, but \(comparison.op.rawValue) compares one. Write "
        + "ANY, ALL or NONE before the comparison, or ask for one value: \(key).@count, .@min, .@max, .@sum "
        + "or .@avg.",
      entity: entity.name, key: key)
  }
}

// MARK: With a constant

extension PredicateCheck {
  /// - Parameter written: The operator in the predicate's text. It differs from `op` if the
  ///   operands are exchanged.
  private func check(
    _ expression: FetchExpression, _ type: PathType, _ op: FetchComparison.Operator, _ value: Value,
    written: FetchComparison.Operator
  ) throws(FetchError) {
    switch (op, value) {
    case (.between, .list(let list)) where list.count != 2: throw noCollection(expression, written, value)
    case (.in, .list(let list)), (.between, .list(let list)):
      for element in list where !type.mayEqual(element) && !(op == .in && type.isObject(element)) {
        throw mismatch(expression, type, element)
      }
    case (.in, .null), (.contains, .null), (.between, .null): break
    case (.in, .string): if !type.mayEqual(value) { throw mismatch(expression, type, value) }
    case (.in, _), (.between, _): throw noCollection(expression, written, value)
    case (.contains, _): try checkContains(expression, type, value)
    case (.beginsWith, _), (.endsWith, _), (.like, _), (.matches, _):
      try checkText(expression, type, op)
      if !type.mayEqual(value) { throw mismatch(expression, type, value) }
    case (.notEqual, .reference):
      if !type.isObject(value), !type.mayEqual(value) { throw mismatch(expression, type, value) }
    default:
      if !type.mayEqual(value), !isOfAncestor(type, value) { throw mismatch(expression, type, value) }
    }
  }

  /// Whether a constant is an object of an ancestor of a type's entity.
  ///
  /// Such a comparison is allowed and false. A program that has the object in a variable of the
  /// superclass cannot know the object's entity.
  private func isOfAncestor(_ type: PathType, _ value: Value) -> Bool {
    guard case .reference(let reference) = value else { return false }
    return type.alternatives.contains { part in
      guard case .object(let entity) = part else { return false }
      return schema.isAncestor(reference.entityNumber, of: entity)
    }
  }

  /// Checks the operands of CONTAINS: a collection and a value of its elements' type, or two texts.
  private func checkContains(
    _ expression: FetchExpression, _ type: PathType, _ value: Value
  ) throws(FetchError) {
    var error: FetchError?
    for part in type.alternatives {
      switch part {
      case .many(let element):
        if element.mayEqual(value) || isOfAncestor(element, value) { return }
        error = mismatch(expression, element, value)
      case .value(.string):
        if part.mayEqual(value) { return }
        error = mismatch(expression, part, value)
      case .value, .object, .either, .any:
        error =
          error
          ?? mismatch(
            expression, type, "is compared with \(words(value)), which it never contains.")
      }
    }
    if let error { throw error }
  }

  /// Checks that a text operator has text.
  private func checkText(
    _ expression: FetchExpression, _ type: PathType, _ op: FetchComparison.Operator
  ) throws(FetchError) {
    guard type.hasKind({ _ in true }), !type.hasKind({ $0 == .string }) else { return }
    throw FetchError(
      .typeMismatch,
      "\(op.rawValue) needs text; \(expression.shortDescription) of \(entity.name) is \(type.words).",
      entity: entity.name, key: expression.shortDescription)
  }

  func noCollection(
    _ expression: FetchExpression, _ op: FetchComparison.Operator, _ value: Value
  ) -> FetchError {
    let needs = op == .between ? "a list of two values, as in {1, 5}" : "a list, as in {1, 5}, or text"
    let key = expression.shortDescription
    return FetchError(
      .typeMismatch,
      "\(op.rawValue) needs \(needs), but \(key) of \(entity.name) is compared with \(words(value)).",
      entity: entity.name, key: key)
  }

  private func mismatch(_ expression: FetchExpression, _ type: PathType, _ value: Value) -> FetchError {
    mismatch(expression, type, "is compared with \(words(value)), which it never equals.")
  }

  func mismatch(_ expression: FetchExpression, _ type: PathType, _ why: String) -> FetchError {
    let key = expression.shortDescription
    return FetchError(
      .typeMismatch, "\(key) of \(entity.name) is \(type.words) and \(why)", entity: entity.name, key: key)
  }

  private func words(_ value: Value) -> String {
    guard case .reference(let reference) = value else { return value.kindName }
    let number = Int(reference.entityNumber)
    let other = number < schema.entities.count ? schema.entities[number] : nil
    return other.map { "an object of the entity \($0.name)" } ?? value.kindName
  }
}

// MARK: Without constants

extension PredicateCheck {
  /// Checks that the types of two operands allow the comparison to hold.
  ///
  /// Two plain properties are not checked: programs may receive their names as arguments, and an
  /// SQL store accepts any two columns.
  private func checkTypes(
    _ comparison: FetchComparison, _ left: PathType, _ right: PathType
  ) throws(FetchError) {
    if comparison.left.isProperty, comparison.right.isProperty { return }
    switch comparison.op {
    case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      if !left.mayEqual(right) {
        throw mismatch(comparison.left, left, "is compared with \(right.words), which it never equals.")
      }
    case .between:
      if !left.mayEqual(right.spread) {
        throw mismatch(
          comparison.left, left, "is compared with \(right.spread.words), which it never equals.")
      }
    case .in: try checkContains(comparison.right, right, left)
    case .contains: try checkContains(comparison.left, left, right)
    case .beginsWith, .endsWith, .like, .matches:
      try checkText(comparison.left, left, comparison.op)
      try checkText(comparison.right, right, comparison.op)
    }
  }

  private func checkContains(
    _ expression: FetchExpression, _ whole: PathType, _ part: PathType
  ) throws(FetchError) {
    let holds = whole.alternatives.contains { whole in
      switch whole {
      case .many(let element): element.mayEqual(part)
      case .value(.string): whole.mayEqual(part)
      case .any: true
      case .value, .object, .either: false
      }
    }
    guard !holds, !whole.alternatives.isEmpty else { return }
    throw mismatch(expression, whole, "is compared with \(part.words), which it never contains.")
  }
}

extension FetchComparison.Operator {
  /// The operator with the same meaning for exchanged operands, also for IN and CONTAINS.
  fileprivate var exchanged: FetchComparison.Operator? {
    switch self {
    case .in: .contains
    case .contains: .in
    default: mirrored
    }
  }
}

extension FetchExpression {
  /// Whether the expression is a property, and not a value that is computed from one.
  fileprivate var isProperty: Bool {
    switch self {
    case .keyPath(let path), .member(.variable, let path): path.aggregate == nil
    default: false
    }
  }

  fileprivate var isSet: Bool {
    if case .set = self { true } else { false }
  }

  /// Whether the expression can be null although its type is a collection. Examples are an element
  /// that does not exist, the minimum of an empty collection, and a path from a missing object.
  fileprivate var canBeNull: Bool {
    switch self {
    case .element, .conditional: true
    case .function(let function, _): function != .mode
    case .member(let base, _): base.canBeNull
    case .constant, .keyPath, .variable, .evaluatedObject, .aggregate, .subquery, .set: false
    }
  }
}

extension PathType {
  /// Whether this type and a constant are both objects, of any entities.
  fileprivate func isObject(_ value: Value) -> Bool {
    guard case .reference = value else { return false }
    return alternatives.contains { part in if case .object = part { true } else { false } }
  }
}
