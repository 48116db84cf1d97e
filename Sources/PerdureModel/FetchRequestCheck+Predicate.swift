internal import PerdurePredicates

// Walks the predicate of a request. `bound` has the kinds of the variables that enclosing
// subqueries bind.

extension FetchRequestCheck {
  mutating func check(_ predicate: FetchPredicate, _ bound: [String: Kind]) {
    switch predicate {
    case .true, .false: break
    case .and(let parts), .or(let parts): for part in parts { check(part, bound) }
    case .not(let part): check(part.only, bound)
    case .comparison(let comparison): check(comparison, bound)
    }
  }

  private mutating func check(_ comparison: FetchComparison, _ bound: [String: Kind]) {
    let left = kind(of: comparison.left, bound)
    let right = kind(of: comparison.right, bound)
    checkMatch(comparison, left.element, right.element)
    let (wantedLeft, wantedRight) = wanted(comparison.op, left, right)
    infer(comparison.left, wantedLeft, bound)
    infer(comparison.right, wantedRight, bound)
    noteNil(comparison, bound)
  }

  /// Notes a comparison that uses a variable of fetched properties and whose operands are never
  /// equal.
  private mutating func checkMatch(_ comparison: FetchComparison, _ left: Kind, _ right: Kind) {
    switch comparison.op {
    case .matches, .like, .beginsWith, .endsWith: return
    default: break
    }
    guard !comparison.variablesOfSource.isEmpty, !canEqual(left, right) else { return }
    note(
      "\(comparison.shortDescription) compares \(words(left)) with \(words(right)): "
        + "values of these types are never equal.",
      "Compare values of one type.")
  }

  private func canEqual(_ left: Kind, _ right: Kind) -> Bool {
    switch (left, right) {
    case (.any, _), (_, .any), (.many, _), (_, .many), (.composite, _), (_, .composite): true
    case (.value(let left), .value(let right)): left.isComparable(with: right)
    case (.object(let left), .object(let right)):
      relative(model.entities[left].name, model.entities[right].name) != nil
    case (.object, .value(let type)), (.value(let type), .object): type == .objectID
    }
  }

  private func words(_ kind: Kind) -> String { variableType(kind).description }

  // MARK: Expressions

  private mutating func kind(of expression: FetchExpression, _ bound: [String: Kind]) -> Kind {
    switch expression {
    case .constant(let value): return value.kind
    case .evaluatedObject: return root
    case .keyPath(let path): return follow(path, from: root)
    case .variable(let name): return kind(ofVariable: name, bound)
    case .member(of: .variable(FetchedPropertyDescription.propertyVariable), let path)
    where source != nil && bound[FetchedPropertyDescription.propertyVariable] == nil:
      return userInfo(path)
    case .member(let base, let path):
      if case .variable = base {} else if !path.names.isEmpty { checkIsSupported(base) }
      return follow(path, from: kind(of: base, bound))
    case .element(let base, let index): return element(index, kind(of: base, bound), bound)
    case .function(let function, let arguments): return kind(of: function, arguments, bound)
    case .aggregate(let elements):
      let kinds = elements.map { kind(of: $0, bound) }
      return .many(kinds.first { if case .any = $0 { false } else { true } } ?? .any)
    case .subquery(let collection, let variable, let predicate):
      checkIsSupported(collection)
      if variable == FetchedPropertyDescription.sourceVariable, source != nil {
        note("A subquery binds $FETCH_SOURCE.", "Rename the variable of the subquery.")
      }
      let elements = kind(of: collection, bound).element
      check(predicate, bound.merging([variable: elements]) { $1 })
      return .many(elements)
    case .conditional(let predicate, let first, let second):
      check(predicate, bound)
      let kinds = (kind(of: first, bound), kind(of: second, bound))
      if case .any = kinds.0 { return kinds.1 }
      return kinds.0
    case .set(_, let left, let right):
      _ = kind(of: right, bound)
      return kind(of: left, bound)
    }
  }

  /// Notes an expression that reads properties of objects reached from `$FETCH_SOURCE`. The fetch
  /// receives values from the owner of the fetched property, but no objects.
  private mutating func checkIsSupported(_ base: FetchExpression) {
    guard source != nil, base.variables.contains(FetchedPropertyDescription.sourceVariable) else { return }
    note(
      "The predicate cannot read properties of \(base.shortDescription).",
      "Write a path from $FETCH_SOURCE, such as $FETCH_SOURCE.messages.size, or ask for the fetched objects.")
  }

  private mutating func element(
    _ index: FetchExpression.ElementIndex, _ base: Kind, _ bound: [String: Kind]
  ) -> Kind {
    switch index {
    case .size: return .value(.int64)
    case .first, .last: return base.element
    case .at(let position):
      _ = kind(of: position, bound)
      infer(position, .attribute(.int64), bound)
      return base.element
    }
  }

  private mutating func kind(
    of function: FetchFunction, _ arguments: [FetchExpression], _ bound: [String: Kind]
  ) -> Kind {
    let kinds = arguments.map { kind(of: $0, bound) }
    switch function {
    case .uppercase, .lowercase, .canonical: return .value(.string)
    case .count, .length: return .value(.int64)
    case .now: return .value(.date)
    case .noIndex: return kinds.first ?? .any
    case .objectFrom: return kinds.first?.element ?? .any
    case .min, .max, .mode, .cast, .call, .random, .randomBelow, .distance: return .any
    default: return function.isArithmetic ? .value(.double) : .any
    }
  }

  private mutating func kind(ofVariable name: String, _ bound: [String: Kind]) -> Kind {
    if let kind = bound[name] { return kind }
    guard let source else {
      if result.variables[name] == nil { result.variables[name] = .any }
      return .any
    }
    switch name {
    case FetchedPropertyDescription.sourceVariable: return .object(source.entity)
    case FetchedPropertyDescription.propertyVariable:
      note("The predicate compares $FETCHED_PROPERTY as a whole.", "Write $FETCHED_PROPERTY.userInfo.key.")
    default:
      note(
        "The predicate of a fetched property has the variable $\(name.shortened), which never gets a value.",
        "Use $FETCH_SOURCE or $FETCHED_PROPERTY.")
    }
    return .any
  }

  private mutating func userInfo(_ path: PropertyPath) -> Kind {
    guard let source, path.aggregate == nil, path.names.first == "userInfo", path.names.count == 2 else {
      note(
        "\(FetchExpression.member(of: .variable("FETCHED_PROPERTY"), path).shortDescription) is not a value.",
        "Write $FETCHED_PROPERTY.userInfo.key.")
      return .any
    }
    if source.userInfo[path.names[1]] == nil {
      note(
        "The user info of the fetched property has no key \"\(path.names[1].shortened)\".",
        "Add it, or correct the key.\(model.question(path.names[1], in: source.userInfo.keys))")
    }
    return .value(.string)
  }
}

extension FetchComparison {
  /// The variables of fetched properties in the operands.
  fileprivate var variablesOfSource: Set<String> {
    left.variables.union(right.variables).intersection([
      FetchedPropertyDescription.sourceVariable, FetchedPropertyDescription.propertyVariable,
    ])
  }

  fileprivate var shortDescription: String { description.shortened }
}

extension FetchFunction {
  /// Whether arguments and result are numbers.
  var isArithmetic: Bool {
    switch self {
    case .sum, .average, .median, .standardDeviation, .add, .subtract, .multiply, .divide, .modulus, .raise,
      .negate, .squareRoot, .log, .naturalLog, .exponential, .floor, .ceiling, .truncate, .abs, .bitwiseAnd,
      .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      true
    default: false
    }
  }
}

extension Value {
  /// The kind of a constant.
  fileprivate var kind: FetchRequestCheck.Kind {
    switch self {
    case .null, .reference, .objectID: .any
    case .bool: .value(.boolean)
    case .integer: .value(.int64)
    case .double: .value(.double)
    case .decimal: .value(.decimal)
    case .string: .value(.string)
    case .date: .value(.date)
    case .uuid: .value(.uuid)
    case .data: .value(.binary)
    case .url: .value(.uri)
    case .list(let values): .many(values.first?.kind ?? .any)
    }
  }
}
