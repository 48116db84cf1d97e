// Fractions in predicates: 9.99 has no exact binary form, so what is meant depends on what it is compared
// with. Against a decimal attribute it is the decimal that it compares as anyhow (NumberOrder.swift), given its
// kind here so that an index can be searched for it. Against a Float attribute it is the Float that shows it,
// which is what assigning 9.99 stores:
//
//   F1. A Float beside a constant is the number that it is, the number that it shows, and everything between
//       the two; the Float 9.99 is 9.989999771118164 to 9.99. No two Floats have a number in common, since what
//       one shows lies nearer to it than to any other, so the order of constants stays the order of Floats.
//   F2. Every other constant compares with Floats by its exact value: 9.9900001 is more than the Float 9.99,
//       though no other Float is nearer to it.
//   F3. A Float without a fraction is the number that it is and the number that it shows, and nothing between:
//       it shows 1.2345679e+08 for 123456792, and 123456791 is neither. A whole constant is what it is.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Fits constants to the kinds of the attributes that they are compared with. What does not fit the schema
/// stays as it is, for the check to refuse.
struct ConstantFitting {
  let schema: StoreSchema
  let entity: EntityStorage

  func fit(_ predicate: FetchPredicate) -> FetchPredicate {
    var (hasFraction, hasLongLiteral) = (false, false)
    predicate.forEachExpression { expression in
      if case .constant(let value) = expression, value.hasFraction { hasFraction = true }
      if expression.longLiteral != nil { hasLongLiteral = true }
    }
    if hasLongLiteral { return fit(predicate, [:]).replacingLongLiterals() }
    return hasFraction ? fit(predicate, [:]) : predicate
  }

  private func fit(_ predicate: FetchPredicate, _ variables: [String: PathType]) -> FetchPredicate {
    let fitted = predicate.mapChildren(
      predicate: { fit($0, variables) }, expression: { fit($0, variables) })
    guard case .comparison(var comparison) = fitted else { return fitted }
    let (left, right) = (kind(comparison.left, variables), kind(comparison.right, variables))
    // The other side decides; beside constants alone, what a constant is chosen among.
    if let kind = right ?? (comparison.right.hasConstantsOnly ? left : nil) {
      comparison.left = fit(constantsIn: comparison.left, to: kind)
    }
    if let kind = left ?? (comparison.left.hasConstantsOnly ? right : nil) {
      comparison.right = fit(constantsIn: comparison.right, to: kind)
    }
    return .comparison(comparison)
  }

  /// The constants that an expression is, or chooses among.
  private func fit(constantsIn expression: FetchExpression, to kind: FieldKind) -> FetchExpression {
    switch expression {
    case .constant(let value): .constant(value.fitted(to: kind))
    case .aggregate(let elements): .list(elements.map { fit(constantsIn: $0, to: kind) })
    case .function where kind == .decimal || kind == .float: fit(literalsIn: expression, to: kind)
    case .conditional(let predicate, let first, let second):
      .conditional(
        predicate, fit(constantsIn: first, to: kind), fit(constantsIn: second, to: kind))
    default: expression
    }
  }

  /// The expression with exact decimals in place of a long literal, or of the long literals among
  /// the operands of decimal arithmetic.
  private func fit(literalsIn expression: FetchExpression, to kind: FieldKind) -> FetchExpression {
    if let decimal = expression.longLiteral { return .constant(Value.decimal(decimal).fitted(to: kind)) }
    guard kind == .decimal, case .function(let function, let arguments) = expression,
      function.keepsDecimals
    else { return expression }
    return .function(function, arguments.map { fit(literalsIn: $0, to: kind) })
  }

  private func fit(_ expression: FetchExpression, _ variables: [String: PathType]) -> FetchExpression {
    if case .function = expression {
      let fitted = expression.mapChildren(
        predicate: { fit($0, variables) }, expression: { fit($0, variables) })
      return kind(fitted, variables) == .decimal ? fit(literalsIn: fitted, to: .decimal) : fitted
    }
    guard case .subquery(let collection, let variable, let predicate) = expression else {
      let fitted = expression.mapChildren(
        predicate: { fit($0, variables) }, expression: { fit($0, variables) })
      guard case .set(let operation, let left, let right) = fitted, let kind = kind(fitted, variables) else {
        return fitted
      }
      return .set(operation, fit(constantsIn: left, to: kind), fit(constantsIn: right, to: kind))
    }
    var inner = variables
    inner[variable] = type(collection, variables).element
    return .subquery(
      collection: fit(collection, variables), variable: variable, predicate: fit(predicate, inner))
  }

  private func kind(_ expression: FetchExpression, _ variables: [String: PathType]) -> FieldKind? {
    if case .value(let kind) = type(expression, variables).element { kind } else { nil }
  }

  func type(_ expression: FetchExpression, _ variables: [String: PathType]) -> PathType {
    switch expression {
    case .evaluatedObject: .object(entity)
    case .variable(let name): variables[name] ?? .any
    case .keyPath(let path): follow(path, from: .object(entity))
    case .member(let base, let path): follow(path, from: type(base, variables))
    case .subquery(let collection, _, _): type(collection, variables)
    case .element(let base, .first), .element(let base, .last): type(base, variables).element
    case .element(let base, .at(let position)) where isNumber(position, variables):
      type(base, variables).element
    case .function(let function, let arguments) where function.keepsDecimals:
      arguments.contains { kind($0, variables) == .decimal } ? .value(.decimal) : .any
    case .conditional(_, let first, let second): common([first, second], variables)
    case .aggregate(let elements): .many(common(elements, variables))
    case .set(_, let left, let right): .many(common([left, right], variables))
    default: .any
    }
  }

  /// Whether a position is a number. A text in its place names a property.
  private func isNumber(_ position: FetchExpression, _ variables: [String: PathType]) -> Bool {
    switch position {
    case .constant(.integer), .function(.count, _): true
    case .function(let function, _): function.keepsDecimals
    default: kind(position, variables)?.isNumeric ?? false
    }
  }

  /// The kind that all parts have which are not constants.
  private func common(_ parts: [FetchExpression], _ variables: [String: PathType]) -> PathType {
    var common: FieldKind?
    for part in parts where !part.hasConstantsOnly {
      guard let kind = kind(part, variables), common == nil || common == kind else { return .any }
      common = kind
    }
    return common.map(PathType.value) ?? .any
  }

  private func follow(_ path: PropertyPath, from start: PathType) -> PathType {
    do {
      return try schema.type(of: path, from: start, asked: entity)
    } catch {
      // The check says what is wrong with the path.
      return .any
    }
  }
}

extension FetchExpression {
  /// Whether the expression is a constant, or chooses among constants alone.
  fileprivate var hasConstantsOnly: Bool {
    switch self {
    case .aggregate(let elements): elements.allSatisfy(\.hasConstantsOnly)
    case .conditional(_, let first, let second): first.hasConstantsOnly && second.hasConstantsOnly
    default: isConstant
    }
  }
}

extension FetchFunction {
  /// Whether the result is a decimal if one of the arguments is (AR2 in Arithmetic.swift).
  fileprivate var keepsDecimals: Bool {
    switch self {
    case .add, .subtract, .multiply, .divide, .negate, .abs, .floor, .ceiling, .truncate, .sum, .average,
      .min, .max, .median:
      true
    default: false
    }
  }
}

extension Value {
  fileprivate var hasFraction: Bool {
    switch self {
    case .double, .decimal: true
    case .list(let list): list.contains(where: \.hasFraction)
    default: false
    }
  }

  /// The constant as it is compared with attributes of a kind.
  fileprivate func fitted(to kind: FieldKind) -> Value {
    switch (self, kind) {
    case (.list(let list), _): return .list(list.map { $0.fitted(to: kind) })
    case (.double(let double), .decimal):
      // A Decimal has 38 digits and exponents down to -128; what it cannot hold stays what it is.
      guard let decimal = Decimal(counting: double),
        Value.sortOrder(.decimal(decimal), self) == .same
      else { return self }
      return .decimal(decimal)
    case (.double(let double), .float): return fitted(to: Float(double))
    case (.decimal(let decimal), .float): return Float(decimal.description).map(fitted) ?? self
    default: return self
    }
  }

  /// A constant beside Floats, of which one is the nearest to it (F1 to F3).
  private func fitted(to nearest: Float) -> Value {
    guard nearest.isFinite, let double = Double(nearest.description) else { return self }
    let exact = Value.double(Double(nearest))
    let (toExact, toShown) = (Value.sortOrder(self, exact), Value.sortOrder(self, .double(double)))
    let hasFraction = nearest.rounded(.towardZero) != nearest
    return toExact == .same || toShown == .same || (hasFraction && toExact != toShown) ? exact : self
  }
}
