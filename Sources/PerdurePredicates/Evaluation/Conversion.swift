// CAST converts a value to another type. A value that cannot be converted becomes null; an unknown
// type is an error.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum Conversion {
  static func cast(_ value: Value, to type: Value) throws(PredicateEvaluationError) -> Value {
    if case .string(let name) = type, let convert = conversions[name] { return convert(value) }
    let hint =
      if case .string(let name) = type { NearMisses.question(name, in: conversions.keys) } else { "" }
    throw PredicateEvaluationError(
      .invalidOperand,
      "CAST does not support the type \(type.description.shortened). Use NSDate, NSNumber, NSDecimalNumber, NSString, NSUUID or "
        + "NSURL.\(hint)")
  }

  private static let conversions: [String: @Sendable (Value) -> Value] = [
    "NSDate": date, "Date": date, "NSNumber": number, "Double": number, "NSString": string, "String": string,
    "NSDecimalNumber": decimal, "Decimal": decimal, "NSUUID": uuid, "UUID": uuid, "NSURL": url, "URL": url,
  ]

  /// Numbers are seconds since the start of 2001, in universal time.
  @Sendable private static func date(_ value: Value) -> Value {
    if case .date = value { return value }
    guard let seconds = try? Arithmetic.double(value) else { return .null }
    return .date(Date(timeIntervalSinceReferenceDate: seconds))
  }

  @Sendable private static func number(_ value: Value) -> Value {
    switch value {
    case .bool, .integer, .double, .decimal: value
    case .date(let date): .double(date.timeIntervalSinceReferenceDate)
    case .string(let text): signed(text) ?? .null
    default: .null
    }
  }

  private static func signed(_ text: String) -> Value? {
    let isNegative = text.hasPrefix("-")
    let digits = isNegative ? String(text.dropFirst()) : text
    guard !isNegative || !(digits.hasPrefix("-") || digits.hasPrefix("+")) else { return nil }
    return Value(number: digits, isNegative: isNegative)
  }

  @Sendable private static func string(_ value: Value) -> Value {
    switch value {
    case .string: value
    case .bool(let bool): .string(bool ? "1" : "0")
    case .integer(let integer): .string(String(integer))
    case .double(let double): .string(String(double))
    case .decimal(let decimal): .string(decimal.description)
    case .uuid(let uuid): .string(uuid.uuidString)
    case .url(let url): .string(url.absoluteString)
    default: .null
    }
  }

  @Sendable private static func decimal(_ value: Value) -> Value {
    if case .string(let text) = value { return Value.decimal(text).map(Value.decimal) ?? .null }
    // A number outside the range of Decimal becomes null. A NaN stays NaN.
    guard let decimal = try? Arithmetic.decimal(value), !decimal.isNaN || value.isNaN else { return .null }
    return .decimal(decimal)
  }

  @Sendable private static func uuid(_ value: Value) -> Value {
    switch value {
    case .uuid: value
    case .string(let text): UUID(uuidString: text).map(Value.uuid) ?? .null
    default: .null
    }
  }

  @Sendable private static func url(_ value: Value) -> Value {
    switch value {
    case .url: value
    case .string(let text): URL(string: text).map(Value.url) ?? .null
    default: .null
    }
  }

  /// Rounds a decimal to a whole number: down, up or toward zero. Any other rule rounds toward
  /// zero.
  static func rounded(_ decimal: Decimal, _ rule: FloatingPointRoundingRule) -> Decimal {
    if decimal.isNaN || decimal.exponent >= 0 { return decimal }
    let whole = truncated(decimal)
    if whole == decimal { return whole }
    switch rule {
    case .down where decimal < 0: return whole - 1
    case .up where decimal > 0: return whole + 1
    default: return whole
    }
  }

  /// The digits and the sign of a decimal without a fraction; nil for another decimal, and for NaN.
  static func wholeDigits(_ decimal: Decimal) -> String? {
    decimal.isNaN || rounded(decimal, .towardZero) != decimal
      ? nil : String(decimal.description.prefix { $0 != "." })
  }

  private static func truncated(_ decimal: Decimal) -> Decimal {
    let text = decimal.description
    return Decimal(string: String(text.prefix { $0 != "." })) ?? decimal
  }
}
