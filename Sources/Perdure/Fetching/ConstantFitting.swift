// Fractions in predicates. 9.99 has no exact binary form, so its meaning depends on the attribute
// that it is compared with. For a decimal attribute, it becomes a decimal, so that an index can be
// searched for it. This conversion does not change the result of the comparison
// (NumberOrder.swift). For a Float attribute, it becomes the Float that is printed as 9.99, which
// is also the result of assigning 9.99:
//
//   F1. Compared with a constant, a Float with a fraction equals all numbers from its exact value
//       to the number that it is printed as. For the Float 9.99, these are 9.989999771118164 to
//       9.99. The ranges of two Floats do not overlap, because a printed number is nearer to its
//       Float than to any other. So constants and Floats have the same order.
//   F2. Every other constant is compared with Floats by its exact value. For example, 9.9900001 is
//       more than the Float 9.99, although this is the nearest Float.
//   F3. A Float without a fraction equals only its exact value and the number that it is printed
//       as. The Float 123456792 is printed as 1.2345679e+08 and does not equal 123456791. Whole
//       constants keep their exact value.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Converts constants to the kinds of the attributes that they are compared with. Expressions that
/// do not fit the schema are not changed, and `PredicateCheck` rejects them.
struct ConstantFitting {
  let schema: StoreSchema
  let entity: EntityStorage

  /// The predicate with fitted constants.
  func fit(_ predicate: FetchPredicate) -> FetchPredicate { fit(predicate, traits: predicate.traits) }

  /// As `fit(_:)`, with known traits.
  ///
  /// - Parameter traits: The traits of the predicate, or `isUnusual`.
  func fit(_ predicate: FetchPredicate, traits: PredicateTraits) -> FetchPredicate {
    if !traits.contains(.isUnusual) { return traits.isEmpty ? predicate : fit(predicate, [:]) }
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
    // Constants get the kind of the other side. If that side has only constants, they get the kind
    // of the other operands on their own side.
    if let kind = right ?? (comparison.right.hasConstantsOnly ? left : nil) {
      comparison.left = fit(constantsIn: comparison.left, to: kind)
    }
    if let kind = left ?? (comparison.left.hasConstantsOnly ? right : nil) {
      comparison.right = fit(constantsIn: comparison.right, to: kind)
    }
    return .comparison(comparison)
  }

  /// Converts an expression that is a constant or selects one of several constants.
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

  /// Replaces long literals by exact decimals: the expression itself, or operands of decimal
  /// arithmetic.
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

  /// Whether the position of an element is a number. A text is not a position, but the name of a
  /// property.
  private func isNumber(_ position: FetchExpression, _ variables: [String: PathType]) -> Bool {
    switch position {
    case .constant(.integer), .function(.count, _): true
    case .function(let function, _): function.keepsDecimals
    default: kind(position, variables)?.isNumeric ?? false
    }
  }

  /// The type of the parts that are not constants; `any` if their kinds differ or are unknown.
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
      // `PredicateCheck` reports the error of the path.
      return .any
    }
  }
}

extension FetchExpression {
  /// Whether the expression is a constant, or selects one of several constants.
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

  /// The constant, converted for comparisons with attributes of a kind.
  fileprivate func fitted(to kind: FieldKind) -> Value {
    switch (self, kind) {
    case (.list(let list), _): return .list(list.map { $0.fitted(to: kind) })
    case (.double(let double), .decimal):
      // A Decimal has 38 digits and exponents from -128. Other numbers stay Doubles.
      guard let decimal = Decimal(counting: double),
        Value.sortOrder(.decimal(decimal), self) == .same
      else { return self }
      return .decimal(decimal)
    case (.double(let double), .float): return fitted(to: Float(double))
    case (.decimal(let decimal), .float): return Float(decimal.description).map(fitted) ?? self
    default: return self
    }
  }

  /// The constant, converted for comparisons with Floats (F1 to F3).
  ///
  /// - Parameter nearest: The Float that is nearest to the constant.
  private func fitted(to nearest: Float) -> Value {
    guard nearest.isFinite, let double = Double(nearest.description) else { return self }
    let exact = Value.double(Double(nearest))
    let (toExact, toShown) = (Value.sortOrder(self, exact), Value.sortOrder(self, .double(double)))
    let hasFraction = nearest.rounded(.towardZero) != nearest
    return toExact == .same || toShown == .same || (hasFraction && toExact != toShown) ? exact : self
  }
}
