// Evaluates expressions: paths, elements, subqueries, lists. Functions are in Functions.swift.

extension PredicateEvaluator {
  func operand(
    of expression: FetchExpression, in scope: Scope
  ) throws(PredicateEvaluationError) -> Operand {
    switch expression {
    case .constant(let value): return .value(value)
    case .keyPath(let path): return try Self.follow(path, from: scope.root)
    case .evaluatedObject: return scope.root
    case .variable(let name): return try variable(name, in: scope)
    case .member(let base, let path): return try Self.follow(path, from: try operand(of: base, in: scope))
    case .element(let base, let index):
      return try element(index, of: try operand(of: base, in: scope), in: scope)
    case .function(let function, let arguments):
      return try call(function, try operands(of: arguments, in: scope))
    case .aggregate(let elements): return .collection(try operands(of: elements, in: scope))
    case .subquery(let collection, let variable, let predicate):
      return try filter(try operand(of: collection, in: scope), variable, predicate, in: scope)
    case .conditional(let predicate, let first, let second):
      return try operand(of: try evaluate(predicate, in: scope) ? first : second, in: scope)
    case .set(let operation, let left, let right):
      let elements = try operand(of: left, in: scope).spread
      return .collection(
        try Operand.combine(operation, elements, try operand(of: right, in: scope).spread))
    }
  }

  private func operands(
    of expressions: [FetchExpression], in scope: Scope
  ) throws(PredicateEvaluationError) -> [Operand] {
    var operands: [Operand] = []
    for expression in expressions { operands.append(try operand(of: expression, in: scope)) }
    return operands
  }

  private func variable(_ name: String, in scope: Scope) throws(PredicateEvaluationError) -> Operand {
    if let operand = scope.variables[name] { return operand }
    throw PredicateEvaluationError(
      .unboundVariable, "$\(name) has no value; pass one when evaluating or substitute it before.")
  }

  private func filter(
    _ collection: Operand, _ variable: String, _ predicate: FetchPredicate, in scope: Scope
  ) throws(PredicateEvaluationError) -> Operand {
    var inner = scope
    var kept: [Operand] = []
    for element in collection.spread {
      inner.variables[variable] = element
      if try evaluate(predicate, in: inner) { kept.append(element) }
    }
    return .collection(kept)
  }

  private func element(
    _ index: FetchExpression.ElementIndex, of base: Operand, in scope: Scope
  ) throws(PredicateEvaluationError) -> Operand {
    switch index {
    case .size: return .value(.integer(Int64(base.spread.count)))
    case .first: return base.spread.first ?? .null
    case .last: return base.spread.last ?? .null
    case .at(let position): return try Self.element(try operand(of: position, in: scope).plain(), of: base)
    }
  }

  /// The element at a position of a collection; null for a number that is not a position (NV1 in
  /// Functions.swift). If `position` is a text, the property with this name.
  static func element(_ position: Value, of base: Operand) throws(PredicateEvaluationError) -> Operand {
    if case .string(let name) = position { return try follow(PropertyPath(name), from: base) }
    if base.isNull || position.isNull { return .null }
    guard let elements = base.elements, position.isNumber else {
      throw PredicateEvaluationError(
        .invalidOperand, "An index needs a collection and a whole number, not \(position.kindName).")
    }
    guard let index = position.wholeNumber, let offset = Int(exactly: index),
      elements.indices.contains(offset)
    else { return .null }
    return elements[offset]
  }
}

// MARK: Paths

extension PredicateEvaluator {
  /// The target of a path. To-many steps give one flat collection.
  static func follow(_ path: PropertyPath, from base: Operand) throws(PredicateEvaluationError) -> Operand {
    let end = try follow(path.names[...], from: base)
    guard let aggregate = path.aggregate else { return end }
    return try Aggregation.apply(aggregate, to: end.spread)
  }

  private static func follow(
    _ names: ArraySlice<String>, from start: Operand
  ) throws(PredicateEvaluationError) -> Operand {
    var operand = start
    var names = names
    while let name = names.popFirst() {
      switch operand {
      case .object(let source):
        guard let next = try step(name, then: names, from: source) else { return .collection([]) }
        operand = next
      case .value(.null): return .null
      case .value(.string(let text)) where name == "length": operand = .value(.integer(Int64(text.count)))
      case .collection, .value(.list): return try followEach(operand.spread, [name] + names)
      case .value(let value):
        throw PredicateEvaluationError(
          .unknownProperty, "\(name) was read from \(value.kindName), which has no properties.")
      }
    }
    return operand
  }

  /// Follows the names from every element. The result is one flat collection.
  private static func followEach(
    _ elements: [Operand], _ names: ArraySlice<String>
  ) throws(PredicateEvaluationError) -> Operand {
    var reached: [Operand] = []
    for element in elements {
      switch try follow(names, from: element) {
      case .collection(let inner): reached += inner
      case let single: reached.append(single)
      }
    }
    return .collection(reached)
  }

  /// The result of a path's operator for each group (EV7); nil unless the path crosses several
  /// collections.
  static func groups(
    _ path: PropertyPath, from start: Operand
  ) throws(PredicateEvaluationError) -> [Operand]? {
    guard let aggregate = path.aggregate, aggregate.givesOneValue, path.names.count > 1 else { return nil }
    var groups: [Operand] = []
    let isSplit = try collect(aggregate, path.names[...], from: start, &groups)
    return isSplit ? groups : nil
  }

  /// Appends the value of each group.
  ///
  /// - Returns: Whether the path crosses several collections.
  private static func collect(
    _ aggregate: CollectionOperator, _ names: ArraySlice<String>, from start: Operand,
    _ groups: inout [Operand]
  ) throws(PredicateEvaluationError) -> Bool {
    var (operand, rest) = (start, names)
    while let name = rest.popFirst() {
      guard case .object(let source) = operand else { break }
      let isSplit = source.reachesMany(through: name, then: rest)
      guard let next = try step(name, then: rest, from: source), !next.isNull else { return isSplit }
      operand = next
      guard case .collection(let elements) = next else { continue }
      if isSplit {
        for element in elements { _ = try collect(aggregate, rest, from: element, &groups) }
        return true
      }
      groups.append(try Aggregation.apply(aggregate, to: try follow(rest, from: next).spread))
      return false
    }
    if case .collection(let elements) = operand {
      for element in elements { _ = try collect(aggregate, names, from: element, &groups) }
      return true
    }
    return false
  }

  /// Follows one name. Returns nil if the path gives an empty collection (EV3).
  private static func step(
    _ name: String, then rest: ArraySlice<String>, from source: any PropertySource
  ) throws(PredicateEvaluationError) -> Operand? {
    switch try source.value(of: name) {
    case .value(let value): return .value(value)
    case .toOne(let destination?): return .object(destination)
    case .toOne(nil): return source.reachesMany(through: name, then: rest) ? nil : .null
    case .toMany(let destinations): return .collection(destinations.map(Operand.object))
    case .unknown:
      throw PredicateEvaluationError(.unknownProperty, "There is no property \(name); see the model.")
    }
  }
}
