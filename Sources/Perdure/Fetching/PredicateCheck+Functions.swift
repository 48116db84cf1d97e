// Checks the arguments of functions when a request is made, and derives the types of their results.
// Arguments whose type only the evaluation shows are accepted.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension PredicateCheck {
  /// The type of a function's result.
  ///
  /// - Throws: `FetchError` for arguments that the function rejects for every object.
  mutating func type(
    of function: FetchFunction, _ arguments: [FetchExpression], _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    guard function.argumentCounts.contains(arguments.count) else {
      throw mistake(function, "takes other than \(arguments.count) arguments")
    }
    var types: [PathType] = []
    for argument in arguments { types.append(try argumentType(argument, variables)) }
    switch function {
    case .now: return .value(.date)
    case .noIndex: return types[0]
    case .objectFrom:
      return try element(.at(arguments[1]), of: arguments[0], types[0], variables)
    case .random, .randomBelow, .distance, .call:
      throw FetchError(
        .unsupportedFunction,
        "\(function.rawValue) is not evaluated in a fetch. Compute the value, and pass it as an argument.",
        entity: entity.name, key: function.rawValue)
    case .cast: return try castType(arguments[1])
    case .sum, .average, .median, .standardDeviation, .count, .min, .max, .mode:
      return try aggregateType(function, arguments, types, variables)
    case .uppercase, .lowercase, .canonical:
      try require("text", function, arguments, types) { $0 == .string }
      return .value(.string)
    case .length:
      if case .many = types[0] { return .value(.int64) }
      try require("text, data or a collection", function, arguments, types) { $0 == .string || $0 == .data }
      return .value(.int64)
    case .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      let attributes = zip(arguments, types).filter { !$0.0.isMask }
      try require("whole numbers", function, attributes.map(\.0), attributes.map(\.1), \.isWhole)
      return .value(.int64)
    default:
      try require("numbers", function, arguments, types, \.isNumeric)
      return function.result(of: types)
    }
  }

  /// The type of an expression. Unlike `type(_:_:)`, it distinguishes constants.
  private mutating func argumentType(
    _ expression: FetchExpression, _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    if case .constant(let value) = expression { return PathType(value) }
    return try type(expression, variables)
  }

  /// Checks that each argument is of a suitable kind, or of a kind that only the evaluation shows.
  ///
  /// - Throws: `FetchError.Code.typeMismatch`.
  private func require(
    _ needed: String, _ function: FetchFunction, _ arguments: [FetchExpression], _ types: [PathType],
    _ isRight: (FieldKind) -> Bool
  ) throws(FetchError) {
    for (argument, type) in zip(arguments, types) {
      switch type {
      case .any: continue
      case .value(let kind) where isRight(kind): continue
      // Whole numbers are right, and this number is not one.
      case .value(let kind) where kind.isNumeric && isRight(.int64):
        let isConstant = if case .constant = argument { true } else { false }
        let found = isConstant ? "is a real number" : "may have a fraction"
        throw mistake(function, "needs \(needed), and \(argument.shortDescription) \(found)")
      case .value, .object, .many:
        throw mistake(function, "needs \(needed), and \(argument.shortDescription) is \(type.words)")
      }
    }
  }

  private mutating func aggregateType(
    _ function: FetchFunction, _ arguments: [FetchExpression], _ types: [PathType],
    _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    if arguments.count == 1, case .aggregate(let elements) = arguments[0] {
      return try type(of: function, elements, variables)
    }
    if function == .count { return .value(.int64) }
    for (argument, type) in zip(arguments, types) {
      guard let addsUp = function.addsUp else { continue }
      if function.putsInOrder { try checkOrder(argument, "\(function.rawValue)", variables) }
      if case .constant(let value) = argument {
        for element in value.elements where addsUp && !FieldKind.double.mayEqual(element) {
          throw mistake(function, "needs numbers, and \(argument.shortDescription) has \(element.kindName)")
        }
      } else {
        try type.checkAggregate(argument.shortDescription, function.rawValue, entity, addsUp: addsUp)
      }
    }
    let isOne = types.count == 1
    switch function {
    case .min, .max: return isOne ? types[0].element : .any
    case .mode: return .any
    case .standardDeviation: return .value(.double)
    default: return .any
    }
  }

  private func castType(_ type: FetchExpression) throws(FetchError) -> PathType {
    guard case .constant(.string(let name)) = type, let kind = Self.castKinds[name] else {
      throw mistake(
        .cast,
        "does not know \(type.shortDescription): the type is written out, as NSDate, NSNumber, "
          + "NSDecimalNumber, NSString, NSUUID or NSURL")
    }
    // The value decides whether the number is whole.
    return kind == .double ? .any : .value(kind)
  }

  private static let castKinds: [String: FieldKind] = [
    "NSDate": .date, "Date": .date, "NSNumber": .double, "Double": .double, "NSString": .string,
    "String": .string, "NSDecimalNumber": .decimal, "Decimal": .decimal, "NSUUID": .uuid, "UUID": .uuid,
    "NSURL": .url, "URL": .url,
  ]

  private func mistake(_ function: FetchFunction, _ what: String) -> FetchError {
    FetchError(
      .typeMismatch, "\(function.spelling) in a predicate about \(entity.name) \(what).",
      entity: entity.name, key: function.rawValue)
  }
}

extension FetchFunction {
  /// The function's operator if it has one, and its name otherwise.
  fileprivate var spelling: String {
    switch self {
    case .bitwiseAnd: "&"
    case .bitwiseOr: "|"
    case .bitwiseXor: "^"
    case .leftShift: "<<"
    case .rightShift: ">>"
    case .onesComplement: "~"
    case .negate: "-"
    default: infix?.symbol ?? rawValue
    }
  }

  /// The type of an arithmetic result: whole if the operation keeps whole numbers and all arguments
  /// are whole.
  fileprivate func result(of types: [PathType]) -> PathType {
    var kinds: [FieldKind] = []
    for type in types {
      guard case .value(let kind) = type else { return .any }
      kinds.append(kind)
    }
    switch self {
    case .add, .subtract, .multiply, .modulus, .negate, .abs, .floor, .ceiling, .truncate:
      return .value(kinds.allSatisfy(\.isWhole) ? .int64 : .double)
    default: return .value(.double)
    }
  }

  /// Whether the function needs values with an order.
  fileprivate var putsInOrder: Bool { self == .min || self == .max }

  /// Whether an aggregate function needs numbers; nil for functions that are no aggregates.
  fileprivate var addsUp: Bool? {
    switch self {
    case .sum, .average, .median, .standardDeviation: true
    case .min, .max, .mode: false
    default: nil
    }
  }
}

extension FetchExpression {
  /// Whether the constant is a whole number above `Int64.max` that fits 64 bits.
  fileprivate var isMask: Bool {
    guard case .constant(.decimal(let decimal)) = self else { return false }
    return UInt64(decimal.description) != nil
  }
}

extension FieldKind {
  fileprivate var isWhole: Bool {
    switch self {
    case .bool, .int16, .int32, .int64: true
    default: false
    }
  }
}

extension Value {
  fileprivate var elements: [Value] {
    if case .list(let elements) = self { elements } else { [self] }
  }
}

extension PathType {
  /// The type of a constant.
  fileprivate init(_ value: Value) {
    switch value {
    case .null, .reference, .objectID: self = .any
    case .bool: self = .value(.bool)
    case .integer: self = .value(.int64)
    case .double: self = .value(.double)
    case .decimal: self = .value(.decimal)
    case .string: self = .value(.string)
    case .date: self = .value(.date)
    case .uuid: self = .value(.uuid)
    case .data: self = .value(.data)
    case .url: self = .value(.url)
    case .list: self = .many(.any)
    }
  }
}
