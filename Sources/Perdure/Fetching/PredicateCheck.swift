// Checks whether a predicate fits an entity before the predicate is evaluated. Every key must
// exist, every variable must be bound, and every operator must accept its operands. No comparison
// may be false for every row because of the types of its operands.

internal import PerdurePredicates

struct PredicateCheck {
  let schema: StoreSchema
  let entity: EntityStorage
  /// The variables in scope whose values have no order.
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
      try check(comparison, variables)
      try checkOrder(comparison, variables)
    }
  }

  // MARK: Types

  mutating func type(
    _ expression: FetchExpression, _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    switch expression {
    case .constant(let value): return PathType(value)
    case .evaluatedObject: return .object(entity)
    case .variable(let name):
      guard let type = variables[name] else { throw unbound(name) }
      return type
    case .keyPath(let path):
      try checkLeast(expression, path, variables)
      return try follow(path, from: .object(entity))
    case .member(.constant(let value), let path) where !path.names.isEmpty:
      throw noProperties(value, path)
    case .member(let base, let path):
      try checkLeast(expression, path, variables)
      return try follow(path, from: try type(base, variables))
    case .element(let base, let index):
      return try element(index, of: base, try type(base, variables), variables)
    case .function(let function, let arguments): return try type(of: function, arguments, variables)
    case .aggregate(let elements):
      return .many(PathType(anyOf: try types(of: elements, variables)))
    case .subquery(let collection, let variable, let predicate):
      let type = try type(collection, variables)
      try check(predicate, where: variable, isIn: collection, type, variables)
      return .many(type.spread)
    case .conditional(let predicate, let first, let second):
      try check(predicate, variables: variables)
      return PathType(anyOf: try types(of: [first, second], variables))
    case .set(let operation, let left, let right):
      let sides = try types(of: [left, right], variables).map(\.spread)
      return .many(operation == .union ? PathType(anyOf: sides) : sides[0])
    }
  }

  mutating func types(
    of expressions: [FetchExpression], _ variables: [String: PathType]
  ) throws(FetchError) -> [PathType] {
    var types: [PathType] = []
    for expression in expressions { types.append(try type(expression, variables)) }
    return types
  }

  mutating func follow(
    _ path: PropertyPath, from start: PathType
  ) throws(FetchError) -> PathType {
    try schema.type(of: path, from: start, asked: entity)
  }

  private func unbound(_ name: String) -> FetchError {
    FetchError(
      .unboundVariable, "$\(name.shortened) has no value. Replace it before fetching.", entity: entity.name,
      key: "$\(name)")
  }

  /// The error of a path from a constant. The constant replaced a variable. It is an object without
  /// the property, or a value that is not an object of the context.
  private func noProperties(_ value: Value, _ path: PropertyPath) -> FetchError {
    let name = path.names[0]
    if case .reference(let reference) = value, Int(reference.entityNumber) < schema.entities.count,
      let other = schema.entities[Int(reference.entityNumber)]
    {
      do throws(FetchError) {
        _ = try schema.type(of: path, from: .object(other), asked: other)
      } catch {
        return error
      }
    }
    return FetchError(
      .notARelationship,
      "\(name.shortened) is read from \(value.kindName), a constant in a predicate about \(entity.name). Pass the "
        + "property's value, or replace the variable by the object itself.", entity: entity.name, key: name)
  }
}
