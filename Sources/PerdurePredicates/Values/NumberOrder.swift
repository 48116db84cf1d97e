// The order of numbers of different kinds.
//
//   whole   : whole     as whole numbers
//   whole   : real      the whole part of the real number as a whole number, then its fraction.
//                       Nothing is rounded, so the whole number 2^53 + 1 and the real number 2^53
//                       differ.
//   whole   : decimal   both as digits * 2^p * 10^q. For each base, the side with the greater
//                       exponent is multiplied by the power of the difference.
//   real    : decimal   the same, with the shortest decimal number that converts to the real number
//
// The last line makes the real 9.99 equal to the decimal 9.99. No real number is exactly 9.99, and
// the shortest decimal that converts to the nearest real number is the usual way to print it. All
// four lines compare positions on one number line, on which a real number is at its shortest
// decimal. So equality is transitive and the order is total. The exact comparisons in the first
// lines agree with these positions, because:
//
//   NO1  Shortest decimals ascend with their real numbers: each is nearer to its own real number
//        than to any other.
//   NO2  The position of a whole real number is the number itself. Below 2^53, its shortest decimal
//        is the number, because the next real number is at most 1 away. From 2^53 on, all real
//        numbers are whole, and the number is used instead of its shortest decimal (that of 2^60
//        ends in 000).
//   NO3  So no whole number is between a real number and its shortest decimal.
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
    // Exact: a real number that has a fraction is below 2^53.
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

  /// The order of two finite numbers.
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

  /// The position of a finite real number among decimal numbers (NO2).
  init(_ double: Double) {
    sign = double == 0 ? 0 : double < 0 ? -1 : 1
    let magnitude = double.magnitude
    if magnitude >= 0x1p53 {
      digits = UInt128(double.significandBitPattern | 1 << 52)
      powerOf2 = Int(double.exponentBitPattern) - 1075
    } else {
      (digits, powerOf10) = Self.shortest(magnitude)
    }
  }

  /// The digits with which a number is printed, and the power of 10: 25 and -2 for 0.25, 5 and -324
  /// for 5e-324.
  private static func shortest(_ magnitude: Double) -> (digits: UInt128, powerOf10: Int) {
    var (digits, power, isFraction) = (UInt128(0), 0, false)
    var text = Substring(magnitude.description)
    if let mark = text.firstIndex(of: "e") {
      power = Int(text[text.index(after: mark)...]) ?? 0
      text = text[..<mark]
    }
    for byte in text.utf8 {
      if byte == UInt8(ascii: ".") {
        isFraction = true
      } else {
        digits = digits * 10 + UInt128(byte - UInt8(ascii: "0"))
        if isFraction { power -= 1 }
      }
    }
    return (digits, power)
  }

  /// A decimal number that is not NaN.
  init(_ decimal: Decimal) {
    sign = decimal.isZero ? 0 : decimal.sign == .minus ? -1 : 1
    digits = UInt128(decimal.significand.magnitude.description) ?? 0
    powerOf10 = decimal.exponent
  }
}

/// An unsigned whole number of any size: 32-bit digits, least significant first, no zero at the
/// end.
private struct BigMagnitude {
  private var limbs: [UInt32] = []

  init(_ number: UInt128) {
    var rest = number
    while rest > 0 {
      limbs.append(UInt32(truncatingIfNeeded: rest))
      rest >>= 32
    }
  }

  /// Multiplies by a small number several times, combining as many factors as fit in a digit.
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

extension Decimal {
  /// The decimal number that represents a real number in comparisons with decimals. From 2^53 on,
  /// it is the number itself. Below, it is the shortest decimal that converts to the number. Nil if
  /// the magnitude is 2^127 or more, or is not 0 but at most 1e-100, and for NaN.
  package init?(counting double: Double) {
    guard double.isFinite, double.magnitude < 0x1p127, double == 0 || double.magnitude > 1e-100 else {
      return nil
    }
    let text = double.magnitude < 0x1p53 ? double.description : Int128(double).description
    guard let decimal = Decimal(string: text) else { return nil }
    self = decimal
  }
}
