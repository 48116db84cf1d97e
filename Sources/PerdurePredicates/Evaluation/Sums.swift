// Sums of values: exact, and rounded once at the end. So the same numbers have the same sum in any
// order, and a stored sum (`IndexDefinition.Kind.sums` of the graph) equals a new one.
//
//   SM1. The sum of whole numbers is whole, or a decimal if it does not fit in 64 bits.
//   SM2. If one of the numbers is decimal, the sum is a decimal of at most 38 digits. A real number
//        is then replaced by the decimal that represents it in comparisons (AR2 in
//        Arithmetic.swift). If no decimal can represent one of the real numbers, the sum is real.
//   SM3. Otherwise, if one of the numbers is real, the sum is the real number nearest to the exact
//        sum.
//   SM4. A sum beyond the range of decimals is real.

package import PerdureNumbers

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension ExactSum.Term {
  /// A number as a term of a sum of real numbers, or of decimals; nil for other values.
  package init?(_ value: Value, _ radix: ExactSum.Radix) {
    switch (value, radix) {
    case (.bool(let bool), _): self = .integer(bool ? 1 : 0)
    case (.integer(let integer), _): self = .integer(integer)
    case (.double(let double), .binary): self = .double(double)
    case (.double(let double), .decimal):
      guard let decimal = Decimal(counting: double) else {
        self = .double(double)
        return
      }
      self.init(decimal)
    case (.decimal(let decimal), .decimal): self.init(decimal)
    case (.decimal(let decimal), .binary): self = .double(Double(decimal.description) ?? .nan)
    default: return nil
    }
  }

  private init(_ decimal: Decimal) {
    if decimal.isNaN {
      self = .double(.nan)
    } else {
      let number = ScaledNumber(decimal)
      self = .decimal(isNegative: number.sign < 0, coefficient: number.digits, exponent: number.powerOf10)
    }
  }
}

extension ExactSum {
  /// The sum as a value. It is real if its base is binary (SM3), or if it is beyond the range of
  /// decimals (SM4). Otherwise it is whole if possible, or a decimal (SM1, SM2).
  package var value: Value {
    if radix == .binary { return .double(double) }
    if !isFinite { return .decimal(.nan) }
    return int64.map(Value.integer) ?? decimalValue
  }

  /// The sum as a decimal, even if it is whole; real beyond the range of decimals (SM4).
  fileprivate var decimalValue: Value {
    if !isFinite { return .decimal(.nan) }
    var (isNegative, coefficient, exponent) = coefficientAndExponent
    while exponent > Self.decimalExponents.upperBound, coefficient <= .max / 10, coefficient != 0 {
      coefficient *= 10
      exponent -= 1
    }
    guard coefficient == 0 || Self.decimalExponents.contains(exponent),
      let significand = Decimal(string: "\(coefficient)")
    else { return .double(double) }
    if coefficient == 0 { return .decimal(0) }
    return .decimal(
      Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: significand))
  }

  /// The range of exponents of Foundation's decimals.
  private static let decimalExponents = -128...127
}

extension Aggregation {
  /// The exact sum of numbers (SM1 to SM4); 0 without numbers, and null if one of them is null.
  ///
  /// - Throws: `PredicateEvaluationError` for a value that is not a number, unless a null precedes
  ///   it.
  package static func sum(_ values: [Value]) throws(PredicateEvaluationError) -> Value {
    var (hasDecimal, hasReal) = (false, false)
    for value in values {
      switch value {
      case .null: return .null
      case .decimal: hasDecimal = true
      case .double: hasReal = true
      default: _ = try Arithmetic.number(value)
      }
    }
    let isDecimal = hasReal ? hasDecimal && areDecimals(values) : true
    var sum = ExactSum(isDecimal ? .decimal : .binary)
    for value in values {
      if let term = ExactSum.Term(value, sum.radix) { sum.apply(term, isRemoval: false) }
    }
    return hasDecimal && sum.radix == .decimal ? sum.decimalValue : sum.value
  }

  /// Whether decimals can represent all real numbers among the values (SM2). The check prints and
  /// parses each number, so it is done only if it decides the result.
  private static func areDecimals(_ values: [Value]) -> Bool {
    values.allSatisfy { value in
      if case .double(let double) = value { Decimal(counting: double) != nil } else { true }
    }
  }
}
