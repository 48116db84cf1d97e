// Decimal numbers as sign, mantissa and exponent. Rows and keys are encoded from this form.
//
// Foundation provides the digits of a decimal only through arithmetic and text. The digits are read
// from the text of the significand, which does not depend on Foundation's private layout. This is
// slow, but decimals are rare in keys.
//
// In a row: u64 low and u64 high half of the mantissa | i32 exponent | u8 flags (1 negative, 2 not
// a number) | three zero bytes. The mantissa has no trailing decimal zero, unless the exponent is
// `exponentMax`. Zero is 24 zero bytes, and NaN has only its flag. So equal numbers have equal
// bytes.

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// `(-1)^isNegative * mantissa * 10^exponent`, in lowest terms.
package struct DecimalParts: Hashable, Sendable {
  package private(set) var low: UInt64 = 0
  package private(set) var high: UInt64 = 0
  package private(set) var exponent: Int32 = 0
  package private(set) var isNegative = false
  package private(set) var isNaN = false

  /// The greatest exponent that a decimal can have.
  static let exponentMax: Int32 = 127

  package init(_ decimal: Decimal) {
    if decimal.isNaN {
      isNaN = true
      return
    }
    let digits = Self.digits(of: decimal)
    if digits.isEmpty { return }
    isNegative = decimal.isSignMinus
    exponent = Int32(decimal.exponent)
    var kept = digits[...]
    while kept.last == 0, exponent < Self.exponentMax {
      kept.removeLast()
      exponent += 1
    }
    for digit in kept { appendDigit(digit) }
  }

  /// The digits of the significand without leading zeros; empty for zero.
  private static func digits(of decimal: Decimal) -> [UInt8] {
    var digits: [UInt8] = []
    for byte in decimal.significand.description.utf8 where byte >= 0x30 && byte <= 0x39 {
      if byte != 0x30 || !digits.isEmpty { digits.append(byte - 0x30) }
    }
    return digits
  }

  private mutating func appendDigit(_ digit: UInt8) {
    let (carry, product) = low.multipliedFullWidth(by: 10)
    let (sum, overflow) = product.addingReportingOverflow(UInt64(digit))
    low = sum
    high = high &* 10 &+ carry &+ (overflow ? 1 : 0)
  }

  package var isZero: Bool { low == 0 && high == 0 && !isNaN }

  /// The digits of the mantissa, most significant first; empty for zero.
  package var digits: [UInt8] {
    var high = high
    var low = low
    var digits: [UInt8] = []
    while high != 0 || low != 0 {
      let quotient = high / 10
      let (lowQuotient, rest) = UInt64(10).dividingFullWidth((high % 10, low))
      digits.append(UInt8(rest))
      high = quotient
      low = lowQuotient
    }
    digits.reverse()
    return digits
  }

  /// The number as Foundation's type. It is NaN if the exponent is out of range; no writer produces
  /// such an exponent.
  package var decimal: Decimal {
    if isNaN || exponent < -128 || exponent > Self.exponentMax { return .nan }
    let significand = Decimal(high) * Self.twoTo64 + Decimal(low)
    return Decimal(sign: isNegative ? .minus : .plus, exponent: Int(exponent), significand: significand)
  }

  private static let twoTo64 = Decimal(UInt64.max) + 1
}

extension DecimalParts {
  /// Reads the 24 bytes of a row's field. Accepts any bytes.
  init(stored bytes: UnsafeRawPointer) {
    low = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    high = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    exponent = Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: Int32.self))
    let flags = bytes.load(fromByteOffset: 20, as: UInt8.self)
    isNegative = flags & 1 != 0
    isNaN = flags & 2 != 0
  }

  /// Writes the 24 bytes of a row's field.
  func store(to bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: low.littleEndian, as: UInt64.self)
    bytes.storeBytes(of: high.littleEndian, toByteOffset: 8, as: UInt64.self)
    bytes.storeBytes(of: exponent.littleEndian, toByteOffset: 16, as: Int32.self)
    let flags: UInt32 = (isNegative ? 1 : 0) | (isNaN ? 2 : 0)
    bytes.storeBytes(of: flags.littleEndian, toByteOffset: 20, as: UInt32.self)
  }
}
