// The order of numbers of different kinds, exact.
//
// 2^53 + 1 as a whole number and 2^53 as a real one are different, and so are 0.1 as a decimal and 0.1 as
// a binary number; rounding one to the kind of the other would make them equal, and equality would not be
// transitive. So:
//
//   whole  : whole     as whole numbers
//   whole  : real      the real one's whole part as a whole number, then its fraction
//   any    : decimal   both as  digits * 2^p * 10^q , powers brought to one side each, then multiplied out
//
// NaN of either kind equals NaN and comes before every number. Zero has no sign.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

enum NumberOrder {
  static func order(_ left: Int64, _ right: Double) -> ValueOrder {
    if right.isNaN || right < -0x1p63 { return .descending }
    if right >= 0x1p63 { return .ascending }
    let whole = Int64(right)
    if left != whole { return left < whole ? .ascending : .descending }
    // Exact: a real number with a fraction is below 2^53.
    let fraction = right - Double(whole)
    return fraction == 0 ? .same : fraction > 0 ? .ascending : .descending
  }

  static func order(_ left: Double, _ right: Double) -> ValueOrder {
    if left.isNaN || right.isNaN { return order(nan: left.isNaN, right.isNaN) }
    return left == right ? .same : left < right ? .ascending : .descending
  }

  static func order(nan left: Bool, _ right: Bool) -> ValueOrder {
    left == right ? .same : left ? .ascending : .descending
  }

  /// Two numbers that are neither NaN nor infinite.
  static func order(_ left: ScaledNumber, _ right: ScaledNumber) -> ValueOrder {
    if left.sign != right.sign { return left.sign < right.sign ? .ascending : .descending }
    if left.sign == 0 { return .same }
    let order = orderMagnitudes(left, right)
    return left.sign > 0 ? order : order.reversed
  }

  private static func orderMagnitudes(_ left: ScaledNumber, _ right: ScaledNumber) -> ValueOrder {
    var a = BigMagnitude(left.digits)
    var b = BigMagnitude(right.digits)
    let twos = left.powerOf2 - right.powerOf2
    let tens = left.powerOf10 - right.powerOf10
    if twos >= 0 { a.multiply(by: 2, times: twos) } else { b.multiply(by: 2, times: -twos) }
    if tens >= 0 { a.multiply(by: 10, times: tens) } else { b.multiply(by: 10, times: -tens) }
    return a.order(b)
  }
}

/// `sign * digits * 2^powerOf2 * 10^powerOf10`
struct ScaledNumber {
  var sign: Int
  var digits: UInt128
  var powerOf2 = 0
  var powerOf10 = 0

  init(_ integer: Int64) {
    sign = Int(integer.signum())
    digits = UInt128(integer.magnitude)
  }

  /// A finite real number.
  init(_ double: Double) {
    sign = double == 0 ? 0 : double < 0 ? -1 : 1
    let isNormal = double.isNormal
    digits = UInt128(double.significandBitPattern | (isNormal ? 1 << 52 : 0))
    powerOf2 = Int(max(double.exponentBitPattern, 1)) - 1075
  }

  /// A decimal number that is not NaN.
  init(_ decimal: Decimal) {
    sign = decimal.isZero ? 0 : decimal.sign == .minus ? -1 : 1
    digits = UInt128(decimal.significand.magnitude.description) ?? 0
    powerOf10 = decimal.exponent
  }
}

/// An unsigned whole number of any size: 32-bit digits, least first, no zero at the end.
private struct BigMagnitude {
  private var limbs: [UInt32] = []

  init(_ number: UInt128) {
    var rest = number
    while rest > 0 {
      limbs.append(UInt32(truncatingIfNeeded: rest))
      rest >>= 32
    }
  }

  /// Multiplies by a small number several times, as many at once as fit a digit.
  mutating func multiply(by factor: UInt64, times: Int) {
    let (step, power) = factor == 2 ? (31, UInt64(1) << 31) : (9, 1_000_000_000)
    for _ in 0..<times / step { multiply(by: power) }
    for _ in 0..<times % step { multiply(by: factor) }
  }

  private mutating func multiply(by factor: UInt64) {
    var carry: UInt64 = 0
    for index in limbs.indices {
      let product = UInt64(limbs[index]) * factor + carry
      limbs[index] = UInt32(truncatingIfNeeded: product)
      carry = product >> 32
    }
    if carry > 0 { limbs.append(UInt32(carry)) }
  }

  func order(_ other: BigMagnitude) -> ValueOrder {
    if limbs.count != other.limbs.count { return limbs.count < other.limbs.count ? .ascending : .descending }
    for (left, right) in zip(limbs.reversed(), other.limbs.reversed()) where left != right {
      return left < right ? .ascending : .descending
    }
    return .same
  }
}
