// Conversion of sums to other number types.

extension ExactSum {
  /// The value of a sum with non-finite terms; nil if all terms are finite.
  private var specialValue: Double? {
    if notNumberCount > 0 || positiveInfinityCount > 0 && negativeInfinityCount > 0 { return .nan }
    if positiveInfinityCount > 0 { return .infinity }
    return negativeInfinityCount > 0 ? -.infinity : nil
  }

  /// Whether all terms are finite numbers.
  package var isFinite: Bool { specialValue == nil }

  /// The sum, if it is a whole number that fits in 64 bits; otherwise nil.
  package var int64: Int64? {
    let sum = inOrder
    guard specialValue == nil, sum.limbs.isEmpty || sum.low >= 0 else { return nil }
    var value: Int64 = 0
    for limb in sum.limbs.reversed() {
      let (product, overflows) = value.multipliedReportingOverflow(by: base)
      let (next, overflowsToo) = product.addingReportingOverflow(limb)
      if overflows || overflowsToo { return nil }
      value = next
    }
    for _ in 0..<(sum.limbs.isEmpty ? 0 : sum.low) {
      let (product, overflows) = value.multipliedReportingOverflow(by: base)
      if overflows { return nil }
      value = product
    }
    return value
  }

  /// The double nearest to the sum, rounded once. A tie rounds to even.
  package var double: Double {
    if let specialValue { return specialValue }
    let sum = inOrder
    guard let top = sum.limbs.last else { return 0 }
    if radix == .decimal {
      let digits = sum.decimal
      return Double((top < 0 ? "-" : "") + digits.text + "e\(digits.exponent)") ?? .nan
    }
    // Collect the first 64 bits or more, and note whether nonzero bits follow.
    var head: UInt128 = 0
    var used = 0
    for limb in sum.limbs.reversed().prefix(4) {
      head = head << 28 | UInt128(limb.magnitude)
      used += 1
    }
    let isInexact = sum.limbs.count > used
    let exponent = (sum.low + sum.limbs.count - used) * Self.bitsPerLimb
    let value = Self.rounded(head, isInexact, exponent)
    return top < 0 ? -value : value
  }

  /// Rounds the head to 53 bits and scales it. A subnormal result needs no rounding, because every
  /// finite sum is a multiple of the least positive double.
  private static func rounded(_ head: UInt128, _ isInexact: Bool, _ exponent: Int) -> Double {
    let excess = max(0, 128 - head.leadingZeroBitCount - 53)
    var kept = UInt64(truncatingIfNeeded: head >> UInt128(excess))
    if excess > 0 {
      let rest = head & (UInt128(1) << UInt128(excess) - 1)
      let half = UInt128(1) << UInt128(excess - 1)
      if rest > half || rest == half && (isInexact || kept & 1 == 1) { kept += 1 }
    }
    // `Double(kept)` is exact. Scaling by a power of two is exact too, or overflows to infinity.
    return Double(sign: .plus, exponent: exponent + excess, significand: Double(kept))
  }

  /// All decimal digits of the sum of the finite terms. `text` is "0", or has no zeros at either
  /// end.
  package var decimal: (isNegative: Bool, text: String, exponent: Int) {
    let sum = inOrder
    guard let top = sum.limbs.last else { return (false, "0", 0) }
    var magnitude = sum.limbs.map { UInt64($0.magnitude) }
    var exponent = 0
    if radix == .binary {
      (magnitude, exponent) = Self.decimalLimbs(ofBinary: magnitude, sum.low)
    } else {
      exponent = sum.low * Self.decimalsPerLimb
    }
    var text = ""
    for limb in magnitude.reversed() {
      let piece = String(limb)
      text += String(repeating: "0", count: Self.decimalsPerLimb - piece.count) + piece
    }
    text = String(text.drop { $0 == "0" })
    while text.last == "0" {
      text.removeLast()
      exponent += 1
    }
    return (top < 0, text, exponent)
  }

  /// Converts limbs of base 2^28 to decimal limbs. It uses the identity n / 2^k = n * 5^k / 10^k.
  private static func decimalLimbs(ofBinary limbs: [UInt64], _ low: Int) -> ([UInt64], exponent: Int) {
    var result: [UInt64] = []
    func scale(by factor: UInt64, adding start: UInt64) {
      var carry = start
      for place in result.indices {
        let value = result[place] * factor + carry
        result[place] = value % 100_000_000
        carry = value / 100_000_000
      }
      while carry > 0 {
        result.append(carry % 100_000_000)
        carry /= 100_000_000
      }
    }
    for limb in limbs.reversed() { scale(by: 1 << 28, adding: limb) }
    for _ in 0..<max(0, low) { scale(by: 1 << 28, adding: 0) }
    // Multiply by 5^28 for each limb: 78,125 is 5^7, and the product fits in 64 bits.
    for _ in 0..<max(0, -low) { for _ in 0..<4 { scale(by: 78_125, adding: 0) } }
    return (result, low < 0 ? low * bitsPerLimb : 0)
  }

  /// The sum of the finite terms, rounded once to at most 38 digits. A tie rounds to even.
  package var coefficientAndExponent: (isNegative: Bool, coefficient: UInt128, exponent: Int) {
    let exact = decimal
    let digits = Array(exact.text.utf8)
    let kept = digits.prefix(38)
    var coefficient = kept.reduce(UInt128(0)) { $0 * 10 + UInt128($1 - 48) }
    let dropped = digits.dropFirst(38)
    if let first = dropped.first {
      let isHalf = first == 53 && dropped.count == 1
      if first > 53 || first == 53 && !isHalf || isHalf && coefficient & 1 == 1 { coefficient += 1 }
    }
    var exponent = exact.exponent + dropped.count
    while coefficient > 0, coefficient % 10 == 0, !dropped.isEmpty {
      coefficient /= 10
      exponent += 1
    }
    return (exact.isNegative, coefficient, exponent)
  }
}
