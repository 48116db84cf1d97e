// Random predicates that fit the test model.

import Perdure
import PerdurePredicates
import PerdureTestSupport

struct RandomPredicate {
  let schema: StoreSchema
  var random: SeededGenerator
  /// The destination of the last drawn relationship.
  private var destination: UInt16 = 0

  init(_ schema: StoreSchema, _ random: SeededGenerator) {
    self.schema = schema
    self.random = random
  }

  /// A predicate about objects of an entity.
  mutating func predicate(_ entity: EntityStorage, depth: Int = 3) -> FetchPredicate {
    if depth > 0, random.chance(45) {
      let parts = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        predicate(entity, depth: depth - 1)
      }
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1: return .and(parts)
      case 2, 3: return .or(parts)
      default: return .not(predicate(entity, depth: depth - 1))
      }
    }
    return clause(entity, depth: depth)
  }

  private mutating func clause(_ entity: EntityStorage, depth: Int) -> FetchPredicate {
    switch Int.random(in: 0..<26, using: &random) {
    case 20, 21: return position(entity)
    case 22, 23: return bits(entity)
    case 24: return mixed(entity)
    case 25: return longLiteral(entity)
    case 0: return random.chance(50) ? .true : .false
    case 1: return identity(.evaluatedObject, entity, modifier: .direct)
    case 2: return twoProperties(entity)
    case 3, 4: return count(entity)
    case 5: return depth > 0 ? subquery(entity, depth: depth) : count(entity)
    case 6: return arithmetic(entity)
    case 7, 8, 9, 10: return quantified(entity)
    default:
      let path = singlePath(entity)
      return compare(.keyPath(PropertyPath(path.names)), path.kind, modifier: .direct)
    }
  }

  /// A comparison of a property of the object, of a property of a related object, or with a related
  /// object.
  mutating func simple(_ entity: EntityStorage) -> FetchPredicate {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return identity(.evaluatedObject, entity, modifier: .direct)
    case 1: return quantified(entity)
    case 2:
      let path = singlePath(entity)
      return compare(.keyPath(PropertyPath(path.names)), path.kind, modifier: .direct)
    case 3:
      let own = attribute(entity)
      return .or(
        (0..<3).map { _ in
          compare(.keyPath(PropertyPath(own.name)), own.kind, modifier: .direct)
        })
    default:
      let own = attribute(entity)
      return compare(.keyPath(PropertyPath(own.name)), own.kind, modifier: .direct)
    }
  }

  // MARK: Paths

  private mutating func attribute(_ entity: EntityStorage) -> (name: String, kind: FieldKind) {
    while true {
      let property = random.pick(entity.properties)
      switch property.form {
      case .attribute(let kind): return (property.name, kind)
      case .count: return (property.name, .int64)
      case .derived(let derived): return (property.name, derived.kind)
      case .toOne(let other, _) where random.chance(30),
        .inverse(let other, _, _, false) where random.chance(30):
        destination = other
        return (property.name, .reference)
      default: continue
      }
    }
  }

  /// A path of to-one steps.
  private mutating func singlePath(_ entity: EntityStorage) -> (names: [String], kind: FieldKind) {
    var names: [String] = []
    var here = entity
    while random.chance(25), let step = relationship(here, isToMany: false) {
      names.append(step.name)
      here = schema.entity(step.destination ?? 0)
    }
    let end = attribute(here)
    return (names + [end.name], end.kind)
  }

  private mutating func relationship(_ entity: EntityStorage, isToMany: Bool) -> PropertyStorage? {
    let found = entity.properties.filter { $0.destination != nil && $0.isToMany == isToMany }
    return found.isEmpty ? nil : random.pick(found)
  }

  // MARK: Comparisons

  private mutating func compare(
    _ left: FetchExpression, _ kind: FieldKind, modifier: FetchComparison.Modifier
  ) -> FetchPredicate {
    let ops = FetchComparison.Operator.allCases.filter { $0 != .matches }
    let op = random.pick(ops)
    let options: StringOptions =
      kind == .string
      ? random.pick([
        [], [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
        .normalized,
      ]) : []
    let right: Value
    switch op {
    case .between: right = .list([constant(kind), constant(kind)])
    case .in: right = .list((0..<Int.random(in: 0...6, using: &random)).map { _ in constant(kind) })
    case .beginsWith, .endsWith, .like, .contains:
      guard kind == .string else { return compare(left, kind, modifier: modifier) }
      right = op == .like ? .string(pattern()) : constant(.string)
    default: right = constant(kind)
    }
    if op.isSwappable, modifier == .direct, random.chance(10) {
      return .comparison(FetchComparison(.constant(right), op, left, options: options))
    }
    return .comparison(FetchComparison(left, op, .constant(right), modifier: modifier, options: options))
  }

  private mutating func pattern() -> String {
    (0..<Int.random(in: 0...3, using: &random)).map { _ in random.pick(["*", "?", "a", "b", "é", "A"]) }
      .joined()
  }

  /// A constant of the given kind, or of another kind that can be compared with this kind.
  private mutating func constant(_ kind: FieldKind) -> Value {
    if random.chance(5) { return .null }
    if kind == .reference { return .reference(reference()) }
    if kind.isNumeric {
      return RandomValue.of(random.pick([.bool, .int16, .int64, .double, .float, .decimal, kind]), &random)
    }
    return RandomValue.of(kind, &random)
  }

  private mutating func reference() -> ObjectReference {
    let entity = random.pick(schema.entity(destination).concrete)
    return ObjectReference(entity: entity, id: UInt64.random(in: 1...8, using: &random))
  }

  private mutating func identity(
    _ left: FetchExpression, _ entity: EntityStorage, modifier: FetchComparison.Modifier
  ) -> FetchPredicate {
    let references = (0..<3).map { _ in
      Value.reference(
        ObjectReference(entity: random.pick(entity.concrete), id: UInt64.random(in: 1...8, using: &random)))
    }
    let op = random.pick([FetchComparison.Operator.equal, .notEqual, .in])
    return .comparison(
      FetchComparison(left, op, .constant(op == .in ? .list(references) : references[0]), modifier: modifier))
  }

  private mutating func twoProperties(_ entity: EntityStorage) -> FetchPredicate {
    let left = singlePath(entity)
    let right = singlePath(entity)
    let op = random.pick([FetchComparison.Operator.equal, .notEqual, .lessThan, .greaterThanOrEqual])
    return .comparison(
      FetchComparison(.keyPath(PropertyPath(left.names)), op, .keyPath(PropertyPath(right.names))))
  }

  private mutating func arithmetic(_ entity: EntityStorage) -> FetchPredicate {
    guard let age = entity.slot(named: "age") else { return .true }
    let sum = FetchExpression.function(
      .add, [.keyPath(PropertyPath(entity.properties[age].name)), .constant(.integer(1))])
    return .comparison(FetchComparison(sum, .greaterThan, .constant(constant(.int16))))
  }

  /// A comparison of the bits of a whole number.
  private mutating func bits(_ entity: EntityStorage) -> FetchPredicate {
    let whole = entity.properties.filter { property in
      switch property.form {
      case .attribute(.bool), .attribute(.int16), .attribute(.int32), .attribute(.int64): true
      default: false
      }
    }
    guard !whole.isEmpty else { return mixed(entity) }
    let functions: [FetchFunction] = [.bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift]
    let mask = FetchExpression.constant(.integer(random.pick([0, 1, 4, 5, 255, -1, 70, .max])))
    var masked = FetchExpression.function(
      random.pick(functions), [.keyPath(PropertyPath(random.pick(whole).name)), mask])
    if random.chance(20) { masked = .function(.onesComplement, [masked]) }
    return compare(masked, .int64, modifier: .direct)
  }

  /// A comparison with objects of any entity (in a list or by `!=`), or with the name of an entity.
  private mutating func mixed(_ entity: EntityStorage) -> FetchPredicate {
    if random.chance(30) {
      let names = ["Employee", "Manager", "Company", "Tag", "nothing"]
      let op = random.pick([FetchComparison.Operator.equal, .notEqual, .beginsWith, .lessThan])
      return .comparison(
        FetchComparison(.keyPath(PropertyPath("entity")), op, .constant(.string(random.pick(names)))))
    }
    let concrete = schema.entities.compactMap { $0?.concrete }.flatMap { $0 }
    let references = (0..<4).map { _ in
      Value.reference(
        ObjectReference(entity: random.pick(concrete), id: UInt64.random(in: 1...8, using: &random)))
    }
    let single = relationship(entity, isToMany: false).map { FetchExpression.keyPath(PropertyPath($0.name)) }
    let many = relationship(entity, isToMany: true).map { FetchExpression.keyPath(PropertyPath($0.name)) }
    if let many, random.chance(40) {
      return .comparison(
        FetchComparison(
          many, .in, .constant(.list(references)), modifier: random.chance(50) ? .any : .all))
    }
    let left = random.chance(50) ? single ?? .evaluatedObject : .evaluatedObject
    return random.chance(30)
      ? .comparison(FetchComparison(left, .notEqual, .constant(references[0])))
      : .comparison(FetchComparison(left, .in, .constant(.list(references))))
  }

  /// A comparison with a long literal, which has more digits than a Double can represent.
  private mutating func longLiteral(_ entity: EntityStorage) -> FetchPredicate {
    let attributes = entity.properties.filter { property in
      if case .attribute(let kind) = property.form { kind.isNumeric && kind != .bool } else { false }
    }
    guard !attributes.isEmpty else { return mixed(entity) }
    let text = random.pick([
      "123456789.987000000000000000001", "123456789.98699999999999999999", "0.10000000000000000000001",
      "340282366920938463463374607431768211455.0", "9007199254740993.0", "99.990000000000000000",
    ])
    let op = random.pick(["==", "!=", "<", "<=", ">", ">="])
    let name = random.pick(attributes).name
    return (try? FetchPredicate(format: "\(name) \(op) \(random.chance(80) ? "" : "-")\(text)")) ?? .false
  }

  // MARK: To-many

  /// A comparison of an element of an ordered relationship.
  private mutating func position(_ entity: EntityStorage) -> FetchPredicate {
    guard let ordered = entity.properties.first(where: { $0.order != nil }) else { return bits(entity) }
    let destination = schema.entity(ordered.destination ?? 0)
    let first = element(of: ordered)
    let end = attribute(destination)
    if random.chance(30) {
      return .comparison(
        FetchComparison(
          .member(of: first, PropertyPath(end.name)), random.pick([.equal, .notEqual, .lessThan]),
          .member(of: element(of: ordered), PropertyPath(end.name))))
    }
    return compare(.member(of: first, PropertyPath(end.name)), end.kind, modifier: .direct)
  }

  private mutating func element(of ordered: PropertyStorage) -> FetchExpression {
    let base = FetchExpression.keyPath(PropertyPath(ordered.name))
    switch Int.random(in: 0..<3, using: &random) {
    case 0: return .element(of: base, .first)
    case 1: return .element(of: base, .last)
    default: return .element(of: base, .at(.constant(.integer(Int64.random(in: -1...3, using: &random)))))
    }
  }

  private mutating func quantified(_ entity: EntityStorage) -> FetchPredicate {
    guard let many = relationship(entity, isToMany: true) else { return count(entity) }
    let modifier = random.pick([FetchComparison.Modifier.any, .any, .all])
    let destination = schema.entity(many.destination ?? 0)
    if random.chance(20) {
      return identity(.keyPath(PropertyPath(many.name)), destination, modifier: modifier)
    }
    if random.chance(20), let next = relationship(destination, isToMany: true) {
      let end = attribute(schema.entity(next.destination ?? 0))
      return compare(.keyPath(PropertyPath(many.name, next.name, end.name)), end.kind, modifier: modifier)
    }
    let end = singlePath(destination)
    var names = [many.name] + end.names
    if random.chance(20), let first = relationship(entity, isToMany: false),
      let inner = relationship(schema.entity(first.destination ?? 0), isToMany: true)
    {
      let end = attribute(schema.entity(inner.destination ?? 0))
      names = [first.name, inner.name, end.name]
      return compare(.keyPath(PropertyPath(names)), end.kind, modifier: modifier)
    }
    return compare(.keyPath(PropertyPath(names)), end.kind, modifier: modifier)
  }

  private mutating func count(_ entity: EntityStorage) -> FetchPredicate {
    guard let many = relationship(entity, isToMany: true) else { return .true }
    var names = [many.name]
    if random.chance(30), let first = relationship(entity, isToMany: false),
      let inner = relationship(schema.entity(first.destination ?? 0), isToMany: true)
    {
      names = [first.name, inner.name]
    }
    let path = PropertyPath(names, aggregate: .count)
    return compare(.keyPath(path), .int64, modifier: .direct)
  }

  private mutating func subquery(_ entity: EntityStorage, depth: Int) -> FetchPredicate {
    guard let many = relationship(entity, isToMany: true) else { return .true }
    let inner = predicate(schema.entity(many.destination ?? 0), depth: depth - 2).about(variable: "x\(depth)")
    let filtered = FetchExpression.subquery(
      collection: .keyPath(PropertyPath(many.name)), variable: "x\(depth)", predicate: inner)
    let op = random.pick([FetchComparison.Operator.greaterThan, .equal, .lessThan])
    return .comparison(
      FetchComparison(
        .member(of: filtered, PropertyPath([], aggregate: .count)), op,
        .constant(.integer(Int64.random(in: 0...2, using: &random)))))
  }
}

extension FetchComparison.Operator {
  fileprivate var isSwappable: Bool {
    switch self {
    case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: true
    default: false
    }
  }
}

extension FetchPredicate {
  /// The same predicate about a variable instead of the evaluated object.
  fileprivate func about(variable: String) -> FetchPredicate {
    switch self {
    case .true, .false: self
    case .and(let parts): .and(parts.map { $0.about(variable: variable) })
    case .or(let parts): .or(parts.map { $0.about(variable: variable) })
    case .not(let part): .not(part.only.about(variable: variable))
    case .comparison(var comparison):
      {
        comparison.left = comparison.left.about(variable: variable)
        comparison.right = comparison.right.about(variable: variable)
        return .comparison(comparison)
      }()
    }
  }
}

extension FetchExpression {
  fileprivate func about(variable: String) -> FetchExpression {
    switch self {
    case .evaluatedObject: .variable(variable)
    case .keyPath(let path): .member(of: .variable(variable), path)
    case .function(let function, let arguments):
      .function(function, arguments.map { $0.about(variable: variable) })
    case .member(let base, let path): .member(of: base.about(variable: variable), path)
    case .element(let base, let index): .element(of: base.about(variable: variable), index)
    case .subquery(let collection, let inner, let predicate):
      .subquery(collection: collection.about(variable: variable), variable: inner, predicate: predicate)
    default: self
    }
  }
}
