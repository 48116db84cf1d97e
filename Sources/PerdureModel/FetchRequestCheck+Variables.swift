internal import PerdurePredicates

// The types of variables. The type of a variable is the type of the operand with which it is
// compared.

extension FetchRequestCheck {
  /// The types that the operands of a comparison need, given the kinds of the other operands.
  func wanted(
    _ op: FetchComparison.Operator, _ left: Kind, _ right: Kind
  ) -> (left: FetchVariableType, right: FetchVariableType) {
    switch op {
    case .matches, .like, .beginsWith, .endsWith: (.attribute(.string), .attribute(.string))
    case .in: (variableType(right.element), .list(variableType(left.element)))
    case .between: (variableType(right.element), .list(variableType(left.element)))
    case .contains:
      switch (left, right) {
      case (.many, _): (.any, variableType(left.element))
      case (.value(.string), _): (.any, .attribute(.string))
      default: (.list(variableType(right.element)), variableType(left.element))
      }
    default: (variableType(right.element), variableType(left.element))
    }
  }

  func variableType(_ kind: Kind) -> FetchVariableType {
    switch kind {
    case .any, .composite, .many, .value(.undefined): .any
    case .value(let type): .attribute(type)
    case .object(let index): .object(entityName: model.entities[index].name)
    }
  }

  /// Infers the types of the free variables in an operand from the type that the operand needs.
  mutating func infer(_ expression: FetchExpression, _ type: FetchVariableType, _ bound: [String: Kind]) {
    switch expression {
    case .variable(let name): if bound[name] == nil { infer(name, type) }
    case .aggregate(let elements):
      guard case .list(let element) = type else { return }
      for part in elements { infer(part, element, bound) }
    case .function(let function, let arguments): infer(arguments, of: function, type, bound)
    case .conditional(_, let first, let second):
      infer(first, type, bound)
      infer(second, type, bound)
    default: break
    }
  }

  private mutating func infer(
    _ arguments: [FetchExpression], of function: FetchFunction, _ type: FetchVariableType,
    _ bound: [String: Kind]
  ) {
    switch function {
    case .uppercase, .lowercase, .canonical:
      for argument in arguments { infer(argument, .attribute(.string), bound) }
    case .noIndex: for argument in arguments { infer(argument, type, bound) }
    default:
      guard function.isArithmetic, arguments.count > 1 || !function.takesCollection else { return }
      for argument in arguments { infer(argument, type.isNumber ? type : .attribute(.double), bound) }
    }
  }

  private mutating func infer(_ name: String, _ type: FetchVariableType) {
    guard source == nil else { return }
    let known = result.variables[name] ?? .any
    if let merged = known.merged(with: type, relatives: relative) {
      result.variables[name] = merged
    } else {
      note(
        "The variable $\(name.shortened) is compared as \(known), and also as \(type): no value is both.",
        "Use two variables.")
    }
  }

  /// Notes the variables of a comparison for which nil selects objects. With other operators than
  /// `==` and `!=`, a comparison with nil selects no object.
  mutating func noteNil(_ comparison: FetchComparison, _ bound: [String: Kind]) {
    guard comparison.op == .equal || comparison.op == .notEqual, source == nil else { return }
    let (left, right) = (comparison.left, comparison.right)
    for (operand, other) in [(left, right), (right, left)] {
      guard case .variable(let name) = operand, bound[name] == nil, canBeAbsent(other, bound) else {
        continue
      }
      result.nilVariables.insert(name)
    }
  }

  /// Whether an operand is a path whose value can be absent.
  private func canBeAbsent(_ expression: FetchExpression, _ bound: [String: Kind]) -> Bool {
    switch expression {
    case .keyPath(let path): canBeAbsent(path, from: root)
    case .member(of: .variable(let name), let path):
      bound[name].map { canBeAbsent(path, from: $0) } ?? false
    default: false
    }
  }

  /// The more general of two entities; nil if neither inherits from the other.
  func relative(_ left: String, _ right: String) -> String? {
    if isKind(left, of: right) { return right }
    return isKind(right, of: left) ? left : nil
  }

  private func isKind(_ name: String, of ancestor: String) -> Bool {
    var current = model.indicesByName[name]
    while let index = current {
      if model.entities[index].name == ancestor { return true }
      current = model.parents[index]
    }
    return false
  }
}

extension FetchFunction {
  /// Whether a single argument is a collection.
  fileprivate var takesCollection: Bool {
    switch self {
    case .sum, .average, .median, .standardDeviation: true
    default: false
    }
  }
}

extension FetchVariableType {
  fileprivate var isNumber: Bool {
    if case .attribute(let type) = self { type.isSummed } else { false }
  }
}
