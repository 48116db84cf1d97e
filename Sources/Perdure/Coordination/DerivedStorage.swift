// Derived attributes as stores and contexts know them: a name for an expression.
//
//   D1. No row has a derived attribute. Asking for one is asking for its expression, of the row or of the object as a
//       context shows it, so that it is never out of date.
//   D2. A copy (a path without a function) means exactly the path: predicates and orders are planned and run with the
//       path in the name's place (`StoreSchema.expanded`).
//   D3. A sum may be a number that the kind of the attribute does not hold. Predicates and other sums take the exact
//       sum. Properties, values by name and orders take the nearest number of the kind.

internal import PerdureModel
package import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What a derived attribute of an entity stands for.
package struct DerivedStorage: Hashable, Sendable {
  /// The kind of the values.
  package let kind: FieldKind
  /// The path that the value follows from, from the object on.
  package let path: PropertyPath
  /// The slots along the path, each in the entity that the ones before lead to.
  package let slots: [Int]
  /// What is done with the text at the end.
  package let function: FetchFunction?
  /// The index that keeps the sum, if there is one.
  package internal(set) var sums: StoreIndex?
  /// All of it.
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

  /// Whether it is what stands at the end of a path, unchanged.
  package var isCopy: Bool { function == nil && path.aggregate == nil }

  /// The value for an object.
  ///
  /// - Throws: What the source throws.
  func value(
    of source: some PropertySource
  ) throws(PredicateEvaluationError) -> Value {
    exact(try expression.value(with: source))
  }

  /// A value in the attribute's kind. A number that the kind cannot hold stays as it is (D3).
  func exact(_ value: Value) -> Value {
    if let stored = value.stored(as: kind) { return stored }
    return kind.isNumeric && value.isNegative != nil ? value : .null
  }

  /// What a property shows for an exact value: the nearest number that its kind holds (D3).
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
  /// The end of the kind's range that is nearest to a number outside of it; nil for kinds that hold
  /// every sum.
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
  /// A path with the paths of copies in the place of their names.
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
  /// The predicate with the paths of copies in the place of their names.
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
