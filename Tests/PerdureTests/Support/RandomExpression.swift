// Generates random comparisons of expressions of every form. Operands have suitable or wrong types.

import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport

extension RandomPredicate {
  /// The type that the enclosing operator needs. Some generated expressions have another type on
  /// purpose.
  enum Need: CaseIterable {
    case number, whole, text, collection, anything
  }

  /// A single comparison. No AND or OR encloses it, so both sides are evaluated for every object.
  mutating func expressionComparison(_ entity: EntityStorage) -> FetchPredicate {
    let op = random.pick(FetchComparison.Operator.allCases)
    let need = random.pick([Need.number, .number, .text, .collection, .anything])
    let modifier =
      random.chance(75) ? FetchComparison.Modifier.direct : random.pick([FetchComparison.Modifier.any, .all])
    let left = expression(need, entity, [:], depth: 3)
    let right: FetchExpression =
      switch op {
      case .between:
        random.chance(80)
          ? .list([operand(need, entity, [:], depth: 1), operand(need, entity, [:], depth: 1)])
          : expression(.collection, entity, [:], depth: 2)
      case .in: expression(random.pick([need, .collection]), entity, [:], depth: 2)
      default: expression(need, entity, [:], depth: 2)
      }
    return .comparison(FetchComparison(left, op, right, modifier: modifier))
  }

  private mutating func expression(
    _ need: Need, _ entity: EntityStorage, _ variables: [String: EntityStorage], depth: Int
  ) -> FetchExpression {
    let need = random.chance(12) ? random.pick(Need.allCases) : need
    if depth <= 0 || random.chance(25) { return operand(need, entity, variables, depth: depth) }
    if random.chance(20) {
      let condition = condition()
      return .conditional(
        condition, expression(need, entity, variables, depth: depth - 1),
        expression(need, entity, variables, depth: depth - 1))
    }
    switch need {
    case .number: return number(entity, variables, depth: depth)
    case .whole: return wholeNumber(entity, variables, depth: depth)
    case .text: return text(entity, variables, depth: depth)
    case .collection: return collection(entity, variables, depth: depth)
    case .anything:
      return expression(random.pick(Need.allCases), entity, variables, depth: depth - 1)
    }
  }

  private mutating func condition() -> FetchPredicate {
    .comparison(
      FetchComparison(
        .keyPath(PropertyPath("entity")), random.pick([.equal, .lessThan]),
        .constant(.string(random.pick(["Company", "Employee", "Tag"])))))
  }

  private mutating func number(
    _ entity: EntityStorage, _ variables: [String: EntityStorage], depth: Int
  ) -> FetchExpression {
    switch Int.random(in: 0..<9, using: &random) {
    case 0...2:
      let function = random.pick([FetchFunction.add, .subtract, .multiply, .divide, .modulus, .raise])
      return .function(function, expressions([.number, .number], entity, variables, depth: depth))
    case 3:
      let functions: [FetchFunction] = [
        .abs, .floor, .ceiling, .truncate, .squareRoot, .log, .naturalLog, .exponential,
      ]
      return .function(random.pick(functions), expressions([.number], entity, variables, depth: depth))
    case 4: return cast(.anything, to: ["NSNumber", "NSDecimalNumber"], entity, variables, depth: depth)
    case 5:
      let functions: [FetchFunction] = [
        .sum, .average, .median, .standardDeviation, .min, .max, .mode, .count,
      ]
      let needs = random.pick([[Need.collection], [.number, .number], [.number]])
      return .function(random.pick(functions), expressions(needs, entity, variables, depth: depth))
    case 6:
      let base = expression(.collection, entity, variables, depth: depth - 1)
      return .path(
        from: base, PropertyPath([], aggregate: random.pick([.sum, .avg, .min, .max, .count])))
    case 7: return element(entity, variables, depth: depth)
    default: return wholeNumber(entity, variables, depth: depth)
    }
  }

  private mutating func wholeNumber(
    _ entity: EntityStorage, _ variables: [String: EntityStorage], depth: Int
  ) -> FetchExpression {
    switch Int.random(in: 0..<5, using: &random) {
    case 0, 1:
      let functions: [FetchFunction] = [.bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift]
      return .function(
        random.pick(functions), expressions([.whole, .whole], entity, variables, depth: depth))
    case 2: return .function(.onesComplement, expressions([.whole], entity, variables, depth: depth))
    case 3:
      return .function(
        .length, expressions([random.pick([.text, .collection])], entity, variables, depth: depth))
    default:
      return .function(
        random.pick([.add, .multiply]), expressions([.whole, .whole], entity, variables, depth: depth))
    }
  }

  private mutating func text(
    _ entity: EntityStorage, _ variables: [String: EntityStorage], depth: Int
  ) -> FetchExpression {
    switch Int.random(in: 0..<5, using: &random) {
    case 0, 1:
      return .function(
        random.pick([.uppercase, .lowercase, .canonical]),
        expressions([.text], entity, variables, depth: depth))
    case 2: return cast(.anything, to: ["NSString"], entity, variables, depth: depth)
    case 3:
      return .function(
        random.pick([.min, .max]), expressions([.text, .text], entity, variables, depth: depth))
    default: return element(entity, variables, depth: depth)
    }
  }

  private mutating func collection(
    _ entity: EntityStorage, _ variables: [String: EntityStorage], depth: Int
  ) -> FetchExpression {
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      let need = random.pick(Need.allCases)
      return .list(expressions([need, need], entity, variables, depth: depth))
    case 1:
      return .set(
        random.pick(FetchExpression.SetOperation.allCases),
        expression(.collection, entity, variables, depth: depth - 1),
        expression(.collection, entity, variables, depth: depth - 1))
    case 2:
      guard let many = entity.properties.filter(\.isToMany).randomElement(using: &random) else {
        return operand(.collection, entity, variables, depth: depth)
      }
      var inner = variables
      inner["v\(depth)"] = schema.entity(many.destination ?? 0)
      let condition = FetchPredicate.comparison(
        FetchComparison(
          expression(.number, entity, inner, depth: depth - 1), random.pick([.equal, .lessThan]),
          expression(.number, entity, inner, depth: depth - 2)))
      return .subquery(
        collection: .keyPath(PropertyPath(many.name)), variable: "v\(depth)", predicate: condition)
    case 3: return .function(.mode, expressions([.collection], entity, variables, depth: depth))
    default: return operand(.collection, entity, variables, depth: depth)
    }
  }

  private mutating func element(
    _ entity: EntityStorage, _ variables: [String: EntityStorage], depth: Int
  ) -> FetchExpression {
    let base = expression(.collection, entity, variables, depth: depth - 1)
    let index: FetchExpression.ElementIndex =
      switch Int.random(in: 0..<4, using: &random) {
      case 0: .first
      case 1: .last
      case 2: .size
      default: .at(expression(.whole, entity, variables, depth: depth - 1))
      }
    let element = FetchExpression.element(of: base, index)
    guard random.chance(30) else { return element }
    return .path(from: element, PropertyPath(random.pick(["label", "weight", "name", "length"])))
  }

  private mutating func cast(
    _ need: Need, to names: [String], _ entity: EntityStorage, _ variables: [String: EntityStorage],
    depth: Int
  ) -> FetchExpression {
    let name =
      random.chance(80) ? random.pick(names) : random.pick(["NSDate", "NSUUID", "NSURL", "NSNumber"])
    return .function(
      .cast, expressions([need], entity, variables, depth: depth) + [.constant(.string(name))])
  }

  private mutating func expressions(
    _ needs: [Need], _ entity: EntityStorage, _ variables: [String: EntityStorage], depth: Int
  ) -> [FetchExpression] {
    needs.map { expression($0, entity, variables, depth: depth - 1) }
  }

  // MARK: Operands

  /// A constant, the object itself, or a path from the object or from a variable.
  private mutating func operand(
    _ need: Need, _ entity: EntityStorage, _ variables: [String: EntityStorage], depth: Int
  ) -> FetchExpression {
    if random.chance(30) { return .constant(constant(need)) }
    if random.chance(5) { return .evaluatedObject }
    guard let (name, start) = variables.randomElement(using: &random), random.chance(40) else {
      return .keyPath(path(need, entity))
    }
    return .path(from: .variable(name), path(need, start))
  }

  private mutating func constant(_ need: Need) -> Value {
    switch need {
    case .number:
      random.chance(5)
        ? .null : RandomValue.of(random.pick([.bool, .int16, .int64, .double, .decimal]), &random)
    case .whole: random.chance(5) ? .null : RandomValue.of(random.pick([.bool, .int16, .int64]), &random)
    case .text: .string(random.pick(RandomValue.texts + ["12", "1.5", "[", "a+"]))
    case .collection:
      .list((0..<Int.random(in: 0...3, using: &random)).map { _ in constant(random.pick([.number, .text])) })
    case .anything: RandomValue.of(random.pick(FieldKind.allCases), &random)
    }
  }

  /// A path to a property. In most cases, the property meets the need.
  private mutating func path(_ need: Need, _ entity: EntityStorage) -> PropertyPath {
    var names: [String] = []
    var here = entity
    let wantsMany = need == .collection
    while names.count < 3 {
      let links = here.properties.filter { $0.destination != nil && (wantsMany || !$0.isToMany) }
      guard random.chance(wantsMany && names.isEmpty ? 90 : 15), !links.isEmpty else { break }
      let many = links.filter(\.isToMany)
      let link = wantsMany && !many.isEmpty ? random.pick(many) : random.pick(links)
      names.append(link.name)
      here = schema.entity(link.destination ?? 0)
    }
    if wantsMany, !names.isEmpty, random.chance(30) { return PropertyPath(names) }
    let ends = here.properties.filter { $0.meets(need) }
    names.append(ends.isEmpty ? random.pick(here.properties).name : random.pick(ends).name)
    guard random.chance(wantsMany ? 10 : 3) else { return PropertyPath(names) }
    return PropertyPath(names, aggregate: random.pick(CollectionOperator.allCases))
  }
}

extension PropertyStorage {
  fileprivate func meets(_ need: RandomPredicate.Need) -> Bool {
    let kind: FieldKind
    switch form {
    case .attribute(let own): kind = own
    case .count: kind = .int64
    case .derived(let derived): kind = derived.kind
    case .toOne, .inverse: return need == .anything
    }
    return switch need {
    case .number: kind.isNumeric
    case .whole: kind.isInteger || kind == .bool
    case .text: kind == .string
    case .collection, .anything: true
    }
  }
}
