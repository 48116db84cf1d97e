// The types of results as functions of the types of operands, for the check of a request.
//
//   ET1. A type lists every kind of value that an expression can have, except null. Null has no
//        kind, because every operator accepts it.
//   ET2. If a row decides which kind a value has, the type has all of them: TERNARY, CAST to
//        NSNumber, and arithmetic on such values.
//   ET3. Results that overflow 64 bits keep the type of whole numbers. Bit operators and positions
//        read such a result as null (NV1 in Functions.swift).

internal import PerdurePredicates

extension PathType {
  /// The type of null: no kind at all.
  static var null: PathType { .either([]) }

  fileprivate static var whole: PathType { .value(.int64) }
  private static var real: PathType { .value(.double) }
  private static var decimal: PathType { .value(.decimal) }

  /// The type of a constant.
  init(_ value: Value) {
    switch value {
    case .null: self = .null
    case .bool: self = .value(.bool)
    case .integer: self = .whole
    case .double: self = .real
    case .decimal: self = .decimal
    case .string: self = .value(.string)
    case .date: self = .value(.date)
    case .uuid: self = .value(.uuid)
    case .data: self = .value(.data)
    case .url: self = .value(.url)
    case .reference, .objectID: self = .value(.reference)
    case .list(let elements): self = .many(PathType(anyOf: elements.lazy.map { PathType($0) }))
    }
  }

  /// The type of a value that has one of several types.
  ///
  /// - Complexity: O(n · k) for n types, k of them different.
  init(anyOf types: some Sequence<PathType>) {
    var different: [PathType] = []
    for type in types {
      for part in type.alternatives where !different.contains(where: part.isSame) { different.append(part) }
    }
    self = different.count == 1 ? different[0] : .either(different)
  }

  /// The types that a value can have; none for null.
  var alternatives: [PathType] {
    if case .either(let types) = self { types } else { [self] }
  }

  /// The type of the operands of an aggregate: the elements of a collection, or a single value.
  var spread: PathType {
    if case .value = self { return self }
    return PathType(
      anyOf: alternatives.map { part in if case .many(let element) = part { element } else { part } })
  }

  /// Whether a value of this type can be a collection.
  var mayBeMany: Bool {
    if case .value = self { return false }
    return alternatives.contains { part in if case .many = part { true } else { false } }
  }

  /// Whether one of the kinds meets a condition.
  func hasKind(_ condition: (FieldKind) -> Bool) -> Bool {
    alternatives.contains { part in if case .value(let kind) = part { condition(kind) } else { false } }
  }

  private func isSame(as other: PathType) -> Bool {
    switch (self, other) {
    case (.object(let left), .object(let right)): left.number == right.number
    case (.value(let left), .value(let right)): left == right
    case (.many(let left), .many(let right)): left.isSame(as: right)
    case (.either(let left), .either(let right)):
      left.count == right.count && left.allSatisfy { right.contains(where: $0.isSame) }
    case (.any, .any): true
    default: false
    }
  }
}

// MARK: Results

extension FetchFunction {
  /// The type of the result for arguments that the function accepts.
  ///
  /// CAST and elements by position also depend on the value of an argument: `PathType.cast(to:)`
  /// and PredicateCheck+Positions.swift.
  func result(of types: [PathType]) -> PathType {
    let collected = types.count == 1 ? types[0].spread : PathType(anyOf: types)
    switch self {
    case .noIndex: return types[0]
    case .min, .max: return collected
    case .mode: return .many(collected)
    // The sum of no values is 0.
    case .sum: return collected.alternatives.isEmpty ? .whole : .arithmetic(on: [collected], keepsWhole: true)
    case .average, .median: return .arithmetic(on: [collected], keepsWhole: false)
    case .add, .subtract, .multiply, .modulus, .negate, .abs, .floor, .ceiling, .truncate:
      return .arithmetic(on: types, keepsWhole: true)
    case .divide, .raise: return .arithmetic(on: types, keepsWhole: false)
    case .standardDeviation, .squareRoot, .log, .naturalLog, .exponential, .random, .randomBelow, .distance:
      return .value(.double)
    case .count, .length, .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      return .value(.int64)
    case .uppercase, .lowercase, .canonical: return .value(.string)
    case .now: return .value(.date)
    case .cast, .objectFrom, .call: return .any
    }
  }
}

extension CollectionOperator {
  /// The type of the result, for the type of the path before the operator.
  func result(of type: PathType) -> PathType {
    switch self {
    case .count: FetchFunction.count.result(of: [type])
    case .sum: FetchFunction.sum.result(of: [type])
    case .avg: FetchFunction.average.result(of: [type])
    case .min: FetchFunction.min.result(of: [type])
    case .max: FetchFunction.max.result(of: [type])
    case .unionOfObjects, .distinctUnionOfObjects: .many(type.spread)
    }
  }
}

extension PathType {
  /// The type of a number computed from others (AR2 in Arithmetic.swift).
  ///
  /// - Parameter keepsWhole: Whether the result of whole numbers is whole.
  fileprivate static func arithmetic(on types: [PathType], keepsWhole: Bool) -> PathType {
    var results: [PathType] = []
    let isWhole = types.allSatisfy { $0.hasKind(\.isWhole) }
    if isWhole { results.append(keepsWhole ? .whole : .real) }
    if types.contains(where: { $0.hasKind { $0 == .decimal } }) { results.append(.decimal) }
    if types.contains(where: { $0.hasKind { $0 == .double || $0 == .float } }) { results.append(.real) }
    return PathType(anyOf: results)
  }

  /// The type of a value cast to another type; nil if no value of this type can be converted.
  ///
  /// - Parameter target: `double` for NSNumber, which keeps the kind of a number.
  func cast(to target: FieldKind) -> PathType? {
    var results: [PathType] = []
    for part in alternatives {
      guard case .value(let kind) = part else { continue }
      switch (kind, target) {
      case (_, .double) where kind.isNumeric: results.append(part)
      case (.string, .double): results += [.whole, .real, .decimal]
      case (.date, .double): results.append(.real)
      case (.string, .uuid), (.string, .url), (.string, .decimal), (.date, .date), (.uuid, .uuid),
        (.url, .url), (.string, .string), (.uuid, .string), (.url, .string):
        results.append(.value(target))
      case (_, .date) where kind.isNumeric, (_, .decimal) where kind.isNumeric,
        (_, .string) where kind.isNumeric:
        results.append(.value(target))
      default: continue
      }
    }
    return results.isEmpty && !alternatives.isEmpty ? nil : PathType(anyOf: results)
  }
}

// MARK: Comparisons

extension PathType {
  /// Whether a constant can be equal to, less than or greater than a value of this type. Always
  /// true if the constant is null or a list, or if this is the type of null.
  func mayEqual(_ value: Value) -> Bool {
    switch value {
    case .null, .list: return true
    default: break
    }
    guard case .either(let types) = self else { return mayBe(value) }
    return types.isEmpty || types.contains { $0.mayBe(value) }
  }

  private func mayBe(_ value: Value) -> Bool {
    switch (self, value) {
    case (.any, _), (.either, _): true
    case (.many, _): false
    case (.object(let entity), .reference(let reference)): entity.concrete.contains(reference.entityNumber)
    case (.object, _): false
    case (.value(let kind), _): kind.mayEqual(value)
    }
  }

  /// Whether a value of this type can be equal to, less than or greater than a value of another
  /// type. True for objects of any two entities: a program can compare them through a common
  /// ancestor.
  func mayEqual(_ other: PathType) -> Bool {
    let (lefts, rights) = (alternatives, other.alternatives)
    if lefts.isEmpty || rights.isEmpty { return true }
    return lefts.contains { left in rights.contains { left.hasSameKind(as: $0) } }
  }

  private func hasSameKind(as other: PathType) -> Bool {
    switch (self, other) {
    case (.any, _), (_, .any), (.many, .many), (.object, .object): true
    case (.object, .value(let kind)), (.value(let kind), .object): kind == .reference
    case (.value(let left), .value(let right)): left == right || left.isNumeric && right.isNumeric
    default: false
    }
  }

  /// The type in words, for messages: "text", "text or a number".
  var words: String {
    switch self {
    case .any: return "a value"
    case .many: return "a collection"
    case .object(let entity): return "an object of the entity \(entity.name)"
    case .value(let kind): return kind.words
    case .either(let types):
      var words: [String] = []
      for word in types.map(\.words) where !words.contains(word) { words.append(word) }
      return words.isEmpty ? "NULL" : words.joined(separator: " or ")
    }
  }
}

extension FieldKind {
  /// Whether a constant can be equal to, less than or greater than a value of this kind.
  func mayEqual(_ value: Value) -> Bool {
    switch value {
    case .null: true
    case .bool, .integer, .double, .decimal: isNumeric
    case .string: self == .string
    case .date: self == .date
    case .uuid: self == .uuid
    case .data: self == .data
    case .url: self == .url
    case .reference, .objectID: self == .reference
    case .list: false
    }
  }

  /// Whether the values are whole numbers or truth values, which count as 0 and 1.
  var isWhole: Bool { isInteger || self == .bool }

  var words: String {
    switch self {
    case .absent: "nothing"
    case .bool: "a truth value"
    case .int16, .int32, .int64, .float, .double, .decimal: "a number"
    case .date: "a date"
    case .uuid: "a UUID"
    case .reference: "an object"
    case .string: "text"
    case .data: "data"
    case .url: "a URL"
    }
  }
}
