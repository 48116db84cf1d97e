// Whether a predicate fits an entity, before it is run: every key exists, every variable is bound, and no
// attribute is compared with a constant of a kind that it can never equal.

internal import PerdurePredicates

struct PredicateCheck {
  let schema: StoreSchema
  let entity: EntityStorage
  /// Every other entity that the predicate reads.
  private(set) var reached: Set<UInt16> = []
  /// From what the predicate reads back to the objects.
  private(set) var waysBack: Set<WayBack> = []
  /// The variables in sight that stand for values without an order.
  var opaqueVariables: Set<String> = []

  init(schema: StoreSchema, entity: EntityStorage) {
    self.schema = schema
    self.entity = entity
  }

  mutating func check(_ predicate: FetchPredicate) throws(FetchError) {
    try check(predicate, variables: [:])
  }

  mutating func check(
    _ predicate: FetchPredicate, variables: [String: PathType]
  ) throws(FetchError) {
    switch predicate {
    case .true, .false: break
    case .and(let parts), .or(let parts):
      for part in parts { try check(part, variables: variables) }
    case .not(let part): try check(part.only, variables: variables)
    case .comparison(let comparison):
      let left = try type(comparison.left, variables)
      let right = try type(comparison.right, variables)
      try check(comparison, left, right)
      try checkOrder(comparison, variables)
    }
  }

  // MARK: Types

  mutating func type(
    _ expression: FetchExpression, _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    switch expression {
    case .constant: return .any
    case .evaluatedObject: return .object(entity)
    case .variable(let name):
      guard let type = variables[name] else { throw unbound(name) }
      return type
    case .keyPath(let path):
      try checkLeast(expression, path, variables)
      return try follow(path, from: .object(entity))
    case .member(let base, let path):
      try checkLeast(expression, path, variables)
      return try follow(path, from: try type(base, variables))
    case .element(let base, let index):
      return try element(index, of: base, try type(base, variables), variables)
    case .function(let function, let arguments): return try type(of: function, arguments, variables)
    case .aggregate(let elements):
      for element in elements { _ = try type(element, variables) }
      return .any
    case .subquery(let collection, let variable, let predicate):
      let type = try type(collection, variables)
      try check(predicate, where: variable, isIn: collection, type, variables)
      return .many(type.element)
    case .conditional(let predicate, let first, let second):
      try check(predicate, variables: variables)
      _ = try type(first, variables)
      _ = try type(second, variables)
      return .any
    case .set(let operation, let left, let right):
      let added = try type(right, variables)
      // Of objects of two entities only the evaluation tells which are there.
      let kept = try type(left, variables).element
      guard operation == .union else { return .many(kept) }
      return .many(kept.isSame(as: added.element) ? kept : .any)
    }
  }

  private mutating func follow(
    _ path: PropertyPath, from start: PathType
  ) throws(FetchError) -> PathType {
    let type = try schema.type(of: path, from: start, asked: entity)
    if case .object(let entity) = start.element {
      reached.formUnion(schema.entities(along: path, from: entity))
      waysBack.formUnion(schema.waysBack(along: path, from: entity))
    } else if case .any = start.element, !path.names.isEmpty {
      reachEverything()
    }
    return type
  }

  /// Marks every entity as read, for an expression whose properties only the evaluation shows.
  mutating func reachEverything() {
    for case let entity? in schema.entities {
      reached.insert(entity.number)
      for property in entity.properties {
        waysBack.formUnion(schema.waysBack(along: PropertyPath(property.name), from: entity))
      }
    }
  }

  private func unbound(_ name: String) -> FetchError {
    FetchError(
      .unboundVariable, "$\(name.shortened) has no value. Replace it before fetching.", entity: entity.name,
      key: "$\(name)")
  }

  // MARK: Comparisons

  private func check(
    _ comparison: FetchComparison, _ left: PathType, _ right: PathType
  ) throws(FetchError) {
    if comparison.modifier != .direct, case .value = left, case .keyPath(let path) = comparison.left,
      !schema.hasGroups(path, from: entity)
    {
      throw FetchError(
        .notARelationship,
        "\(comparison.left.shortDescription) has one value for each \(entity.name); "
          + "ANY and ALL need a to-many relationship.",
        entity: entity.name, key: comparison.left.shortDescription)
    }
    if comparison.modifier == .direct { try checkSingle(comparison, left, right) }
    if case .many = right, !comparison.op.takesManyOnRight, comparison.modifier != .direct || !left.isMany {
      throw manyValues(comparison.right, comparison)
    }
    try checkBounds(comparison, right)
    try checkPattern(comparison)
    if case .constant(let value) = comparison.left, case .constant(let other) = comparison.right {
      try checkConstants(comparison, value, other)
    } else if case .constant(let value) = comparison.right {
      let side = comparison.modifier == .direct ? left : left.element
      try check(comparison.left, side, comparison.op, value, written: comparison.op)
    } else if case .constant(let value) = comparison.left, let op = comparison.op.exchanged {
      try check(comparison.right, right, op, value, written: comparison.op)
    }
  }

  /// Checks that a collection is not compared with a single value.
  private func checkSingle(
    _ comparison: FetchComparison, _ left: PathType, _ right: PathType
  ) throws(FetchError) {
    guard left.isMany, comparison.op != .contains else { return }
    if comparison.op == .equal || comparison.op == .notEqual, right.mayBeMany(comparison.right) { return }
    throw manyValues(comparison.left, comparison)
  }

  func manyValues(_ expression: FetchExpression, _ comparison: FetchComparison) -> FetchError {
    let key = expression.shortDescription
    return FetchError(
      .manyValues,
      "\(key) of \(entity.name) has any number of values, and \(comparison.op.rawValue) compares one. Write "
        + "ANY, ALL or NONE before the comparison, or ask for one value: \(key).@count, .@min, .@max, .@sum "
        + "or .@avg.",
      entity: entity.name, key: key)
  }

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
    case (.contains, _): try checkHolds(expression, type, value)
    case (.beginsWith, _), (.endsWith, _), (.like, _), (.matches, _):
      if case .value(let kind) = type, kind != .string { throw noText(expression, kind, op) }
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
    guard case .object(let entity) = type, case .reference(let reference) = value else { return false }
    return schema.isAncestor(reference.entityNumber, of: entity)
  }

  /// Checks the operands of CONTAINS: a collection and a value of its elements' type, or two texts.
  private func checkHolds(
    _ expression: FetchExpression, _ type: PathType, _ value: Value
  ) throws(FetchError) {
    switch type {
    case .any: break
    case .many(let element):
      if !element.element.mayEqual(value), !isOfAncestor(element.element, value) {
        throw mismatch(expression, element.element, value)
      }
    case .value(.string): if !type.mayEqual(value) { throw mismatch(expression, type, value) }
    case .value, .object: throw neverHolds(expression, type, value)
    }
  }

  func noCollection(
    _ expression: FetchExpression, _ op: FetchComparison.Operator, _ value: Value
  ) -> FetchError {
    let needs = op == .between ? "a list of two values, as in {1, 5}" : "a list, as in {1, 5}, or text"
    let key = expression.shortDescription
    return FetchError(
      .typeMismatch,
      "\(op.rawValue) needs \(needs), and \(key) of \(entity.name) is compared with \(words(value)).",
      entity: entity.name, key: key)
  }

  private func mismatch(_ expression: FetchExpression, _ type: PathType, _ value: Value) -> FetchError {
    mismatch(expression, type, "is compared with \(words(value)), which it never equals.")
  }

  private func neverHolds(_ expression: FetchExpression, _ type: PathType, _ value: Value) -> FetchError {
    mismatch(expression, type, "is compared with \(words(value)), which it never contains.")
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
    return other.map { "a \($0.name)" } ?? value.kindName
  }

  private func noText(
    _ expression: FetchExpression, _ kind: FieldKind, _ op: FetchComparison.Operator
  ) -> FetchError {
    FetchError(
      .typeMismatch,
      "\(op.rawValue) needs text; \(expression.shortDescription) of \(entity.name) is \(kind.words).",
      entity: entity.name, key: expression.shortDescription)
  }
}

extension FetchComparison.Operator {
  /// The operator that asks the same with the operands exchanged, of what is in what also.
  fileprivate var exchanged: FetchComparison.Operator? {
    switch self {
    case .in: .contains
    case .contains: .in
    default: mirrored
    }
  }

  /// Whether what stands on the right may have many values.
  fileprivate var takesManyOnRight: Bool { self == .in || self == .between }
}

extension PathType {
  fileprivate func isSame(as other: PathType) -> Bool {
    switch (self, other) {
    case (.object(let left), .object(let right)): left.number == right.number
    case (.value(let left), .value(let right)): left == right
    default: false
    }
  }

  fileprivate var isMany: Bool {
    if case .many = self { true } else { false }
  }

  /// Whether an expression of this type can have many values: it is a collection or a list, or only
  /// the evaluation shows its type.
  fileprivate func mayBeMany(_ expression: FetchExpression) -> Bool {
    switch (self, expression) {
    case (_, .constant(.list)): true
    case (_, .constant): false
    case (.many, _), (.any, _): true
    default: false
    }
  }

  /// Whether a constant can equal, or be in order with, something of this type. Null and lists always may.
  fileprivate func mayEqual(_ value: Value) -> Bool {
    if case .null = value { return true }
    if case .list = value { return true }
    switch self {
    case .any, .many: return true
    case .object(let entity):
      guard case .reference(let reference) = value else { return false }
      return entity.concrete.contains(reference.entityNumber)
    case .value(let kind): return kind.mayEqual(value)
    }
  }

  /// Whether this type and a constant are both objects, of any entities.
  fileprivate func isObject(_ value: Value) -> Bool {
    if case .object = self, case .reference = value { true } else { false }
  }

  var words: String {
    switch self {
    case .any: "a value"
    case .many: "a collection"
    case .object(let entity): "a \(entity.name)"
    case .value(let kind): kind.words
    }
  }
}

extension FieldKind {
  /// Whether values of this kind and a constant can be equal or in order.
  func mayEqual(_ value: Value) -> Bool {
    switch value {
    case .null: true
    case .bool, .integer, .double, .decimal: isNumeric
    case .string: self == .string
    case .date: self == .date
    case .uuid: self == .uuid
    case .data: self == .data
    case .url: self == .url
    case .reference, .objectID: self == .reference
    case .list: false
    }
  }

  var words: String {
    switch self {
    case .absent: "nothing"
    case .bool: "a truth value"
    case .int16, .int32, .int64, .float, .double, .decimal: "a number"
    case .date: "a date"
    case .uuid: "a UUID"
    case .reference: "an object"
    case .string: "text"
    case .data: "data"
    case .url: "a URL"
    }
  }
}
