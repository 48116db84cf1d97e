// Function calls. A null argument makes the result null, except for aggregates. Aggregates ignore
// nulls; only `count:` counts the nulls of a collection.
//
//   NV1. A result that does not exist for the values of a row is null, not an error. Examples are a
//        division by zero (AR5 in Arithmetic.swift) and a cast of a text that does not fit. Another
//        example is the bits of a number that is not whole or does not fit in 64 bits. An element
//        whose position is such a number is null too. A value of a kind that the function never
//        accepts is an error. A fetch finds that error when the request is made.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension PredicateEvaluator {
  func call(
    _ function: FetchFunction, _ arguments: [Operand]
  ) throws(PredicateEvaluationError) -> Operand {
    guard function.argumentCounts.contains(arguments.count) else {
      throw PredicateEvaluationError(
        .invalidOperand, "\(function.rawValue) was called with \(arguments.count) arguments.")
    }
    switch function {
    case .now: return .value(.date(now))
    case .noIndex: return arguments[0]
    case .objectFrom: return try Self.element(try arguments[1].plain(), of: arguments[0])
    case .sum, .count, .min, .max, .average, .median, .mode, .standardDeviation:
      return .value(try Self.aggregate(function, arguments))
    case .random, .randomBelow, .distance, .call:
      throw PredicateEvaluationError(
        .unsupportedFunction,
        "\(function.rawValue) is not evaluated; compute the value and pass it as an argument.")
    default:
      let values = try Operand.plain(arguments)
      if values.contains(where: \.isNull) { return .null }
      return .value(
        values.count == 2
          ? try Self.binary(function, values[0], values[1]) : try Self.unary(function, values[0]))
    }
  }

  private static func aggregate(
    _ function: FetchFunction, _ arguments: [Operand]
  ) throws(PredicateEvaluationError) -> Value {
    let elements = arguments.count == 1 ? arguments[0].spread : arguments
    if function == .count { return .integer(Int64(elements.count)) }
    let values = try Aggregation.present(elements)
    switch function {
    case .sum: return try Aggregation.sum(values)
    case .min: return Aggregation.least(values)
    case .max: return Aggregation.greatest(values)
    case .average: return try Aggregation.average(values)
    case .median: return try Aggregation.median(values)
    case .mode: return Aggregation.mode(values)
    default: return try Aggregation.standardDeviation(values)
    }
  }

  private static func binary(
    _ function: FetchFunction, _ left: Value, _ right: Value
  ) throws(PredicateEvaluationError) -> Value {
    switch function {
    case .add, .subtract, .multiply, .divide, .modulus, .raise:
      return try Arithmetic.apply(function, left, right)
    case .cast: return try Conversion.cast(left, to: right)
    default: break
    }
    guard let a = try bits(left), let b = try bits(right) else { return .null }
    switch function {
    case .bitwiseAnd: return .integer(a & b)
    case .bitwiseOr: return .integer(a | b)
    case .bitwiseXor: return .integer(a ^ b)
    case .leftShift: return .integer(a << b)
    default: return .integer(a >> b)
    }
  }

  private static func unary(
    _ function: FetchFunction, _ value: Value
  ) throws(PredicateEvaluationError) -> Value {
    switch function {
    case .uppercase, .lowercase, .canonical: return .string(function.applied(to: try text(value)))
    case .length: return try length(value)
    case .negate: return try Arithmetic.apply(.subtract, .integer(0), value)
    case .abs:
      return try value.order(.integer(0)) == .ascending
        ? Arithmetic.apply(.subtract, .integer(0), value) : Arithmetic.number(value)
    case .floor: return try rounded(value, .down)
    case .ceiling: return try rounded(value, .up)
    case .truncate: return try rounded(value, .towardZero)
    case .onesComplement: return try bits(value).map { .integer(~$0) } ?? .null
    default: return .double(real(function, try Arithmetic.double(value)))
    }
  }

  private static func real(_ function: FetchFunction, _ number: Double) -> Double {
    switch function {
    case .squareRoot: number.squareRoot()
    case .log: Mathematics.commonLogarithm(number)
    case .naturalLog: Mathematics.naturalLogarithm(number)
    default: Mathematics.exponential(number)
    }
  }
}

// MARK: Arguments of a kind

extension PredicateEvaluator {
  private static func text(_ value: Value) throws(PredicateEvaluationError) -> String {
    if case .string(let text) = value { return text }
    throw PredicateEvaluationError(.invalidOperand, "A text function needs text, not \(value.kindName).")
  }

  /// The 64 bits of a number; nil if it is not whole or does not fit (NV1). A number between
  /// `Int64.max` + 1 and `UInt64.max`, such as the mask 0x8000000000000000, has the bits of an
  /// unsigned integer.
  private static func bits(_ value: Value) throws(PredicateEvaluationError) -> Int64? {
    let number = try Arithmetic.number(value)
    if let whole = number.wholeNumber { return whole }
    switch number {
    case .double(let double): return UInt64(exactly: double).map(Int64.init(bitPattern:))
    case .decimal(let decimal):
      return Conversion.wholeDigits(decimal).flatMap { UInt64($0) }.map(Int64.init(bitPattern:))
    default: return nil
    }
  }

  private static func length(_ value: Value) throws(PredicateEvaluationError) -> Value {
    switch value {
    case .string(let text): return .integer(Int64(text.count))
    case .data(let data): return .integer(Int64(data.count))
    case .list(let list): return .integer(Int64(list.count))
    default:
      throw PredicateEvaluationError(
        .invalidOperand, "length: needs text, data or a collection, not \(value.kindName).")
    }
  }

  private static func rounded(
    _ value: Value, _ rule: FloatingPointRoundingRule
  ) throws(PredicateEvaluationError) -> Value {
    switch try Arithmetic.number(value) {
    case .double(let double): return .double(double.rounded(rule))
    case .decimal(let decimal): return .decimal(Conversion.rounded(decimal, rule))
    case let whole: return whole
    }
  }
}

extension FetchFunction {
  /// The result if this is one of the three functions from text to text; otherwise the text itself.
  package func applied(to text: String) -> String {
    TextFunction(self)?.applied(to: text) ?? text
  }
}
