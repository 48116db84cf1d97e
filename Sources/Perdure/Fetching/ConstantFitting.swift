// Fractions in predicates: 9.99 has no exact binary form, so what is meant depends on what it is compared
// with. Against a Float attribute it is the Float nearest to it, which is what assigning 9.99 stores. Against a
// decimal attribute it is the decimal that it compares as anyhow (NumberOrder.swift), given its kind here so
// that an index can be searched for it.

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
    var hasFraction = false
    predicate.forEachExpression { expression in
      if case .constant(let value) = expression, value.hasFraction { hasFraction = true }
    }
    return hasFraction ? fit(predicate, [:]) : predicate
  }

  private func fit(_ predicate: FetchPredicate, _ variables: [String: PathType]) -> FetchPredicate {
    let fitted = predicate.mapChildren(
      predicate: { fit($0, variables) }, expression: { fit($0, variables) })
    guard case .comparison(var comparison) = fitted else { return fitted }
    if case .constant(let value) = comparison.right, let kind = kind(comparison.left, variables) {
      comparison.right = .constant(value.fitted(to: kind))
    } else if case .constant(let value) = comparison.left, let kind = kind(comparison.right, variables) {
      comparison.left = .constant(value.fitted(to: kind))
    }
    return .comparison(comparison)
  }

  private func fit(_ expression: FetchExpression, _ variables: [String: PathType]) -> FetchExpression {
    guard case .subquery(let collection, let variable, let predicate) = expression else {
      return expression.mapChildren(
        predicate: { fit($0, variables) }, expression: { fit($0, variables) })
    }
    var inner = variables
    inner[variable] = type(collection, variables).element
    return .subquery(
      collection: fit(collection, variables), variable: variable, predicate: fit(predicate, inner))
  }

  private func kind(_ expression: FetchExpression, _ variables: [String: PathType]) -> FieldKind? {
    if case .value(let kind) = type(expression, variables).element { kind } else { nil }
  }

  private func type(_ expression: FetchExpression, _ variables: [String: PathType]) -> PathType {
    switch expression {
    case .evaluatedObject: .object(entity)
    case .variable(let name): variables[name] ?? .any
    case .keyPath(let path): follow(path, from: .object(entity))
    case .member(let base, let path): follow(path, from: type(base, variables))
    case .subquery(let collection, _, _): type(collection, variables)
    default: .any
    }
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
    case (.double(let double), .float) where Float(double).isFinite: return .double(Double(Float(double)))
    case (.decimal(let decimal), .float):
      return Float(decimal.description).map { .double(Double($0)) } ?? self
    default: return self
    }
  }
}
