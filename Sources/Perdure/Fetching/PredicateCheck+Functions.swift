// Checks the arguments of functions before a fetch runs. Every value that an argument can have must
// be suitable, because a row can have any of them. ExpressionTypes.swift has the types of the
// results.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension PredicateCheck {
  /// The type of a function's result.
  ///
  /// - Throws: `FetchError` for a function that no fetch evaluates, and for a wrong number of
  ///   arguments. Also for an argument with a possible value that the function rejects.
  mutating func type(
    of function: FetchFunction, _ arguments: [FetchExpression], _ variables: [String: PathType]
  ) throws(FetchError) -> PathType {
    guard function.argumentCounts.contains(arguments.count) else {
      throw mistake(function, "has a wrong number of arguments: \(arguments.count)")
    }
    let types = try types(of: arguments, variables)
    switch function {
    case .now, .noIndex, .count: break
    case .objectFrom:
      return try element(.at(arguments[1]), of: arguments[0], types[0], variables)
    case .random, .randomBelow, .distance, .call:
      throw FetchError(
        .unsupportedFunction,
        "\(function.rawValue) is not evaluated in a fetch. Compute the value, and pass it as an argument.",
        entity: entity.name, key: function.rawValue)
    case .cast: return try castType(arguments, types[0])
    case .sum, .average, .median, .standardDeviation, .min, .max, .mode:
      try requireElements(of: function, arguments, types, variables)
    case .uppercase, .lowercase, .canonical:
      try require("text", function, arguments, types) { $0.hasOnly { $0 == .string } }
    case .length:
      try require("text, data or a collection", function, arguments, types) { type in
        type.hasOnly(orMany: true) { $0 == .string || $0 == .data }
      }
    case .bitwiseAnd, .bitwiseOr, .bitwiseXor, .leftShift, .rightShift, .onesComplement:
      try requireWhole(function, arguments, types)
    case .add, .subtract, .multiply, .divide, .modulus, .raise, .negate, .squareRoot, .log, .naturalLog,
      .exponential, .floor, .ceiling, .truncate, .abs:
      try require("numbers", function, arguments, types) { $0.hasOnly(\.isNumeric) }
    }
    return function.result(of: types)
  }

  /// Checks that every value that an argument can have is suitable.
  ///
  /// - Throws: `FetchError.Code.typeMismatch`.
  private func require(
    _ needed: String, _ function: FetchFunction, _ arguments: [FetchExpression], _ types: [PathType],
    _ isRight: (PathType) -> Bool
  ) throws(FetchError) {
    for (argument, type) in zip(arguments, types) where !isRight(type) {
      throw mistake(function, "needs \(needed), but \(argument.shortDescription) is \(type.words)")
    }
  }

  /// Checks that every argument is a number, and that it can be whole.
  private func requireWhole(
    _ function: FetchFunction, _ arguments: [FetchExpression], _ types: [PathType]
  ) throws(FetchError) {
    try require("whole numbers", function, arguments, types) { $0.hasOnly(\.isNumeric) }
    for (argument, type) in zip(arguments, types) where !argument.isMask && type.isNeverWhole {
      let isConstant = if case .constant = argument { true } else { false }
      let found = isConstant ? "is a real number" : "may have a fraction"
      throw mistake(function, "needs whole numbers, but \(argument.shortDescription) \(found)")
    }
  }

  /// Checks the values that an aggregate function works on: the elements of its only argument, or
  /// several arguments.
  private mutating func requireElements(
    of function: FetchFunction, _ arguments: [FetchExpression], _ types: [PathType],
    _ variables: [String: PathType]
  ) throws(FetchError) {
    for (argument, type) in zip(arguments, types) {
      if function.putsInOrder { try checkOrder(argument, "\(function.rawValue)", variables) }
      let elements = arguments.count == 1 ? type.spread : type
      try elements.checkAggregate(
        argument.shortDescription, function.rawValue, entity, addsUp: function.addsUp)
    }
  }

  private func castType(
    _ arguments: [FetchExpression], _ type: PathType
  ) throws(FetchError) -> PathType {
    guard case .constant(.string(let name)) = arguments[1], let kind = Self.castKinds[name] else {
      throw mistake(
        .cast,
        "does not support \(arguments[1].shortDescription). Write the type as NSDate, NSNumber, "
          + "NSDecimalNumber, NSString, NSUUID or NSURL")
    }
    if let result = type.cast(to: kind) { return result }
    throw mistake(
      .cast, "cannot convert \(arguments[0].shortDescription), which is \(type.words), to \(name)")
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

  /// Whether the function needs values with an order.
  fileprivate var putsInOrder: Bool { self == .min || self == .max }

  /// Whether an aggregate function needs numbers.
  fileprivate var addsUp: Bool {
    switch self {
    case .sum, .average, .median, .standardDeviation: true
    default: false
    }
  }
}

extension FetchExpression {
  /// Whether the expression is a decimal constant that a `UInt64` can hold, for example a literal
  /// above `Int64.max`.
  fileprivate var isMask: Bool {
    guard case .constant(.decimal(let decimal)) = self else { return false }
    return UInt64(decimal.description) != nil
  }
}

extension PathType {
  /// Whether every kind of value meets a condition.
  ///
  /// - Parameter orMany: Whether collections are accepted too.
  fileprivate func hasOnly(orMany: Bool = false, _ condition: (FieldKind) -> Bool) -> Bool {
    alternatives.allSatisfy { part in
      switch part {
      case .value(let kind): condition(kind)
      case .many: orMany
      case .object, .either, .any: false
      }
    }
  }

  /// Whether no value of this type can be a whole number. False for the type of null.
  var isNeverWhole: Bool { !alternatives.isEmpty && !hasKind(\.isWhole) }
}
