// Arithmetic on numbers of mixed kinds.
//
//   AR1. A null operand makes the result null. An operand that is not a number is an error.
//   AR2. Truth values are 0 and 1. If one operand is decimal, the result is decimal, except in the
//        cases of AR4. A real operand is then replaced by the decimal that represents it in
//        comparisons (NumberOrder.swift). So `price * 1.1` is exact. Otherwise, if one operand is
//        real, the result is real. Otherwise it is whole.
//   AR3. A whole result that does not fit in 64 bits is a decimal (exact up to 38 digits), or a
//        real number if it is a power. Nothing overflows or traps.
//   AR4. Products and quotients of decimals with exponents beyond ±40 are computed as reals:
//        Foundation's Decimal traps if the exponent of a result leaves its range. The sums and
//        differences of such decimals are exact (Sums.swift). Calculations with real numbers that
//        no Decimal can represent use reals too. So do powers and remainders of decimals.
//   AR5. A division by zero gives null, for the quotient and for the remainder. A whole number
//        divided by a whole number is whole if there is no remainder.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum Arithmetic {
  /// Applies one of add, subtract, multiply, divide, raise, modulus.
  static func apply(
    _ function: FetchFunction, _ left: Value, _ right: Value
  ) throws(PredicateEvaluationError) -> Value {
    if left.isNull || right.isNull { return .null }
    let (a, b) = (try number(left), try number(right))
    switch (a, b) {
    case (.integer(let a), .integer(let b)): return whole(function, a, b)
    case (.decimal, _), (_, .decimal):
      if let left = exact(a), let right = exact(b) { return decimal(function, left, right) }
      return real(function, try double(a), try double(b))
    default: return real(function, try double(a), try double(b))
    }
  }

  /// A number as a decimal; nil for a real number that no Decimal can represent.
  private static func exact(_ number: Value) -> Decimal? {
    switch number {
    case .integer(let integer): Decimal(integer)
    case .double(let double): Decimal(counting: double)
    case .decimal(let decimal): decimal
    default: nil
    }
  }

  /// A truth value as a whole number; other numbers unchanged.
  static func number(_ value: Value) throws(PredicateEvaluationError) -> Value {
    switch value {
    case .integer, .double, .decimal: return value
    case .bool(let bool): return .integer(bool ? 1 : 0)
    default:
      throw PredicateEvaluationError(.invalidOperand, "Arithmetic needs numbers, not \(value.kindName).")
    }
  }

  static func double(_ value: Value) throws(PredicateEvaluationError) -> Double {
    switch try number(value) {
    case .integer(let integer): return Double(integer)
    case .double(let double): return double
    case .decimal(let decimal): return Double(decimal.description) ?? .nan
    default: return .nan
    }
  }

  static func decimal(_ value: Value) throws(PredicateEvaluationError) -> Decimal {
    exact(try number(value)) ?? .nan
  }
}

// MARK: By kind

extension Arithmetic {
  /// The limit of AR4 for the exponents of two operands, in either direction. Their products and
  /// quotients then have exponents of at most 119. Decimal can represent exponents up to 127.
  private static let safeExponent = 40

  private static func whole(_ function: FetchFunction, _ a: Int64, _ b: Int64) -> Value {
    switch function {
    case .add: return fitting(a.addingReportingOverflow(b)) ?? .decimal(Decimal(a) + Decimal(b))
    case .subtract: return fitting(a.subtractingReportingOverflow(b)) ?? .decimal(Decimal(a) - Decimal(b))
    case .multiply: return fitting(a.multipliedReportingOverflow(by: b)) ?? .decimal(Decimal(a) * Decimal(b))
    case .divide:
      if b == 0 { return .null }
      let (remainder, overflow) = a.remainderReportingOverflow(dividingBy: b)
      if overflow { return .decimal(-Decimal(a)) }
      return remainder == 0 ? .integer(a / b) : .double(Double(a) / Double(b))
    case .modulus:
      if b == 0 { return .null }
      return .integer(a.remainderReportingOverflow(dividingBy: b).partialValue)
    default: return power(a, b) ?? .double(Mathematics.power(Double(a), Double(b)))
    }
  }

  private static func fitting(_ result: (partialValue: Int64, overflow: Bool)) -> Value? {
    result.overflow ? nil : .integer(result.partialValue)
  }

  /// A whole power by squaring; nil if the result is not whole or does not fit in 64 bits.
  private static func power(_ base: Int64, _ exponent: Int64) -> Value? {
    if exponent < 0 { return nil }
    var (result, square, rest) = (Int64(1), base, exponent)
    while true {
      if rest & 1 == 1 {
        let (product, overflow) = result.multipliedReportingOverflow(by: square)
        if overflow { return nil }
        result = product
      }
      rest >>= 1
      if rest == 0 { return .integer(result) }
      let (next, overflow) = square.multipliedReportingOverflow(by: square)
      if overflow { return nil }
      square = next
    }
  }

  private static func real(_ function: FetchFunction, _ a: Double, _ b: Double) -> Value {
    switch function {
    case .add: .double(a + b)
    case .subtract: .double(a - b)
    case .multiply: .double(a * b)
    case .divide: b == 0 ? .null : .double(a / b)
    case .modulus: b == 0 ? .null : .double(a.truncatingRemainder(dividingBy: b))
    default: .double(Mathematics.power(a, b))
    }
  }

  private static func sum(_ a: Value, _ b: Value) -> Value { (try? Aggregation.sum([a, b])) ?? .null }

  private static func decimal(_ function: FetchFunction, _ a: Decimal, _ b: Decimal) -> Value {
    if a.isNaN || b.isNaN { return .decimal(.nan) }
    let isSafe = abs(a.exponent) <= safeExponent && abs(b.exponent) <= safeExponent  // AR4
    switch function {
    case .add where !isSafe: return sum(.decimal(a), .decimal(b))
    case .subtract where !isSafe: return sum(.decimal(a), .decimal(-b))
    case _ where !isSafe: return real(function, Double(a.description) ?? .nan, Double(b.description) ?? .nan)
    case .add: return .decimal(a + b)
    case .subtract: return .decimal(a - b)
    case .multiply: return .decimal(a * b)
    case .divide: return b.isZero ? .null : .decimal(a / b)
    default:
      return real(function, Double(a.description) ?? .nan, Double(b.description) ?? .nan)
    }
  }
}
