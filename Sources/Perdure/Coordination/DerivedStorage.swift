// Derived attributes in stores and contexts. A derived attribute is a name for an expression.
//
// DS1. Rows do not contain derived attributes. A read evaluates the expression on the row, or on
//      the object as its context shows it. So the value is never outdated.
// DS2. A copy (a path without a function) is equivalent to its path. Predicates and orders are
//      planned and run with the path instead of the name (`StoreSchema.expanded`).
// DS3. A sum may exceed the range of the attribute's kind. Predicates and other sums use the exact
//      sum. Properties, values by name and orders use the nearest number of the kind.

internal import PerdureModel
package import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The expression of a derived attribute of an entity.
package struct DerivedStorage: Hashable, Sendable {
  /// The kind of the values.
  package let kind: FieldKind
  /// The path from the object to the source of the value.
  package let path: PropertyPath
  /// The slots along the path. Each slot after the first belongs to the destination entity of the
  /// slot before it.
  package let slots: [Int]
  /// The function that is applied to the text at the end of the path; nil if there is none.
  package let function: FetchFunction?
  /// The index that stores the sum, if there is one.
  package internal(set) var sums: StoreIndex?
  /// The whole expression: the path and the function.
  package let expression: FetchExpression

  /// - Parameter steps: The properties along the path.
  init(_ derivation: Derivation, kind: FieldKind, steps: [PropertySchema], sums: StoreIndex?) {
    self.sums = sums
    self.kind = kind
    slots = steps.map(\.slot)
    let names = steps.map(\.name)
    switch derivation.form {
    case .saveTime: preconditionFailure("Rows have the time of a save; it is not computed.")
    case .value, .text: path = PropertyPath(names)
    case .count: path = PropertyPath(names, aggregate: .count)
    case .sum: path = PropertyPath(names, aggregate: .sum)
    }
    if case .text(let function, _) = derivation.form {
      self.function = FetchFunction(function)
    } else {
      function = nil
    }
    expression = function.map { [path] in .function($0, [.keyPath(path)]) } ?? .keyPath(path)
  }

  /// Whether the value is a copy of the value at the end of the path.
  package var isCopy: Bool { function == nil && path.aggregate == nil }

  /// The value for an object.
  ///
  /// - Throws: The error of the source.
  func value(
    of source: some PropertySource
  ) throws(PredicateEvaluationError) -> Value {
    exact(try expression.value(with: source))
  }

  /// Converts a value to the attribute's kind. If a numeric kind cannot represent a number, the
  /// number is returned unchanged (DS3). Other values that the kind cannot represent become null.
  func exact(_ value: Value) -> Value {
    if let stored = value.stored(as: kind) { return stored }
    return kind.isNumeric && value.isNegative != nil ? value : .null
  }

  /// The value that a property returns for an exact value: the nearest number of its kind (DS3).
  func shown(_ value: Value) -> Value {
    value.stored(as: kind) ?? value.isNegative.flatMap { kind.bound(isNegative: $0) } ?? .null
  }
}

extension FetchFunction {
  fileprivate init(_ function: Derivation.Function) {
    switch function {
    case .canonical: self = .canonical
    case .lowercase: self = .lowercase
    case .uppercase: self = .uppercase
    }
  }
}

extension FieldKind {
  /// The limit of the kind's range that is nearest to a number outside of it; nil for kinds that
  /// can represent every sum.
  fileprivate func bound(isNegative: Bool) -> Value? {
    switch self {
    case .int16: .integer(Int64(isNegative ? Int16.min : .max))
    case .int32: .integer(Int64(isNegative ? Int32.min : .max))
    case .int64: .integer(isNegative ? .min : .max)
    case .decimal: .decimal(isNegative ? -.greatestFiniteMagnitude : .greatestFiniteMagnitude)
    default: nil
    }
  }
}

extension Value {
  /// Whether a number is less than 0; nil for other values.
  fileprivate var isNegative: Bool? {
    switch self {
    case .integer(let integer): integer < 0
    case .double(let double): double < 0
    case .decimal(let decimal): decimal < 0
    default: nil
    }
  }
}

extension StoreSchema {
  /// Returns a path in which the names of copies are replaced by their paths.
  func expanded(_ path: PropertyPath, from start: EntityStorage) -> PropertyPath {
    if !hasCopies { return path }
    var names: [String] = []
    var rest = path.names[...]
    var entity: EntityStorage? = start
    while let name = rest.popFirst() {
      guard let here = entity, let slot = here.slot(named: name) else {
        names.append(name)
        continue
      }
      let property = here.properties[slot]
      if case .derived(let derived) = property.form, derived.isCopy {
        rest = (derived.path.names + rest)[...]
        continue
      }
      names.append(name)
      entity = property.destination.map { self.entity($0) }
    }
    return PropertyPath(names, aggregate: path.aggregate)
  }
}

extension FetchPredicate {
  /// Returns the predicate with the names of copies replaced by their paths.
  func replacingCopies(_ schema: StoreSchema, _ entity: EntityStorage) -> FetchPredicate {
    if !schema.hasCopies { return self }
    return mapChildren(
      predicate: { $0.replacingCopies(schema, entity) }, expression: { $0.replacingCopies(schema, entity) })
  }
}

extension FetchExpression {
  fileprivate func replacingCopies(_ schema: StoreSchema, _ entity: EntityStorage) -> FetchExpression {
    if case .keyPath(let path) = self { return .keyPath(schema.expanded(path, from: entity)) }
    return mapChildren(
      predicate: { $0.replacingCopies(schema, entity) }, expression: { $0.replacingCopies(schema, entity) })
  }
}
