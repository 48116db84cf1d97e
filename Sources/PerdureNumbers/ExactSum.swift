/// An exact sum. Terms can be added and removed in any order. FORMAT.md, "Sums of groups".
///
/// The sum is stored in *limbs* of base 2^28 or 10^8. Only the limbs that the terms need are
/// stored.
///
/// Invariants
///  ES1  The number is the sum of limb i times base^(low + i).
///  ES2  Between normalizations a limb may have any sign and any size below 2^60. Each addition of
///       a term, or of another sum, adds less than 2^28 to each limb. The limbs are normalized
///       after at most `pendingMax` additions.
///  ES3  In normal form, all limbs have the sign of the sum, and their magnitudes are less than the
///       base. Neither the first nor the last limb is zero. So equal sums have equal limbs and
///       equal bytes.
///  ES4  Terms that are not finite numbers are counted, not added, so they can be removed again.
package struct ExactSum: Equatable, Sendable {
  /// The base of a sum's limbs. A finite term that does not fit the base counts as not a number.
  package enum Radix: UInt8, Sendable {
    /// Whole numbers and doubles.
    case binary = 0
    /// Whole numbers and decimals.
    case decimal = 1
  }

  package let radix: Radix
  /// The number of terms, including those that are not finite numbers.
  package var termCount = 0
  /// The number of terms that are not a number, or do not fit this sum's base.
  package var notNumberCount = 0
  package var positiveInfinityCount = 0
  package var negativeInfinityCount = 0

  package var limbs: [Int64] = []
  package var low = 0
  private var pending = 0

  private static let pendingMax = 1 << 20
  /// The number of digits in one limb of an encoded sum. A digit has base 128 or 100.
  package static let digitsPerLimb = 4
  static let decimalsPerLimb = 8
  static let bitsPerLimb = 28

  package init(_ radix: Radix) { self.radix = radix }

  var base: Int64 { radix == .binary ? 1 << 28 : 100_000_000 }

  /// Whether this state can occur: the counts are consistent, and a sum without finite terms is
  /// zero.
  package var isPossible: Bool {
    // Subtract the counts one by one. Each count may be the greatest Int, so adding the counts
    // could overflow.
    var finiteCount = termCount
    guard notNumberCount >= 0, notNumberCount <= finiteCount else { return false }
    finiteCount -= notNumberCount
    guard positiveInfinityCount >= 0, positiveInfinityCount <= finiteCount else { return false }
    finiteCount -= positiveInfinityCount
    guard negativeInfinityCount >= 0, negativeInfinityCount <= finiteCount else { return false }
    finiteCount -= negativeInfinityCount
    return finiteCount > 0 || finiteCount == 0 && inOrder.limbs.isEmpty
  }

  /// Whether the sum has no terms.
  package var isEmpty: Bool { termCount == 0 }

  package static func == (left: Self, right: Self) -> Bool {
    let (a, b) = (left.inOrder, right.inOrder)
    return a.radix == b.radix && a.termCount == b.termCount && a.notNumberCount == b.notNumberCount
      && a.positiveInfinityCount == b.positiveInfinityCount
      && a.negativeInfinityCount == b.negativeInfinityCount
      && a.limbs == b.limbs && (a.limbs.isEmpty || a.low == b.low)
  }
}

// MARK: - Terms

extension ExactSum {
  /// One term of a sum.
  package enum Term: Hashable, Sendable {
    case integer(Int64)
    case double(Double)
    case decimal(isNegative: Bool, coefficient: UInt128, exponent: Int)
  }

  /// The accepted exponents of decimals. A decimal with another exponent counts as not a number.
  package static let exponents = -2048...2047

  /// Adds or removes a term.
  package mutating func apply(_ term: Term, isRemoval: Bool) {
    let sign = isRemoval ? -1 : 1
    termCount &+= sign
    switch (term, radix) {
    case (.integer(let value), _):
      add(UInt128(value.magnitude), shiftedBy: 0, isNegative: (value < 0) != isRemoval)
    case (.double(let value), _) where value.isInfinite:
      if value > 0 { positiveInfinityCount &+= sign } else { negativeInfinityCount &+= sign }
    case (.double(let value), .binary) where value.isFinite:
      guard value != 0 else { return }
      let isNormal = value.exponentBitPattern != 0
      let significand = value.significandBitPattern | (isNormal ? 1 << 52 : 0)
      let exponent = Int(max(1, value.exponentBitPattern)) - 1075
      add(UInt128(significand), shiftedBy: exponent, isNegative: (value < 0) != isRemoval)
    case (.decimal(let isNegative, let coefficient, let exponent), .decimal)
    where Self.exponents.contains(exponent):
      add(coefficient, shiftedBy: exponent, isNegative: isNegative != isRemoval)
    default: notNumberCount &+= sign
    }
  }

  /// Adds all terms of another sum with the same base.
  package mutating func merge(_ other: ExactSum) {
    precondition(radix == other.radix, "Both sums must be of the same kind.")
    termCount &+= other.termCount
    notNumberCount &+= other.notNumberCount
    positiveInfinityCount &+= other.positiveInfinityCount
    negativeInfinityCount &+= other.negativeInfinityCount
    let other = other.inOrder
    makeSpace(other.low, other.limbs.count)
    for (place, limb) in other.limbs.enumerated() { limbs[other.low - low + place] += limb }
    noteChange()
  }

  /// - Parameter shift: The exponent of the magnitude, in bits or in decimal places.
  private mutating func add(_ magnitude: UInt128, shiftedBy shift: Int, isNegative: Bool) {
    guard magnitude != 0 else { return }
    let unit = radix == .binary ? Self.bitsPerLimb : Self.decimalsPerLimb
    let place = Self.floor(shift, unit)
    let factor =
      radix == .binary ? Int64(1) << Int64(shift - place * unit) : Self.power(of: 10, shift - place * unit)
    var rest = magnitude
    var carry: Int64 = 0
    // Reserve the limbs that the magnitude needs, and one additional limb for the carry.
    makeSpace(place, Self.pieceCount(magnitude, radix) + 1)
    var position = place - low
    let base = base
    while rest != 0 || carry != 0 {
      let piece: Int64
      if radix == .binary {
        piece = Int64(truncatingIfNeeded: rest & 0xFFF_FFFF)
        rest >>= 28
      } else if rest >> 64 == 0 {
        let (quotient, remainder) = UInt64(truncatingIfNeeded: rest).quotientAndRemainder(
          dividingBy: 100_000_000)
        (piece, rest) = (Int64(remainder), UInt128(quotient))
      } else {
        let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 100_000_000)
        (piece, rest) = (Int64(truncatingIfNeeded: remainder), quotient)
      }
      let (next, limb) = (piece * factor + carry).quotientAndRemainder(dividingBy: base)
      carry = next
      limbs[position] += isNegative ? -limb : limb
      position += 1
    }
    noteChange()
  }

  private static func pieceCount(_ magnitude: UInt128, _ radix: Radix) -> Int {
    let bits = 128 - magnitude.leadingZeroBitCount
    return radix == .binary ? (bits + 27) / 28 : (bits + 25) / 26
  }

  private mutating func noteChange() {
    pending += 1
    if pending >= Self.pendingMax { putInOrder() }
  }

  /// Extends the limbs to cover `count` places, starting at `place`.
  private mutating func makeSpace(_ place: Int, _ count: Int) {
    if count == 0 { return }
    if limbs.isEmpty { low = place }
    if place < low {
      limbs.insert(contentsOf: repeatElement(0, count: low - place), at: 0)
      low = place
    }
    let missing = place + count - low - limbs.count
    if missing > 0 { limbs.append(contentsOf: repeatElement(0, count: missing)) }
  }

  /// Establishes ES3.
  private mutating func putInOrder() {
    pending = 0
    var carry = carried(negating: false)
    let isNegative = carry < 0
    if isNegative { carry = carried(negating: true) - carry }
    while carry > 0 {
      limbs.append(carry % base)
      carry /= base
    }
    while limbs.last == 0 { limbs.removeLast() }
    let zeros = limbs.prefix { $0 == 0 }.count
    if zeros > 0 { limbs.removeFirst(zeros) }
    low = limbs.isEmpty ? 0 : low + zeros
    if isNegative { for place in limbs.indices { limbs[place] = -limbs[place] } }
  }

  /// Brings every limb into 0..<base, and returns the carry out of the last limb.
  private mutating func carried(negating: Bool) -> Int64 {
    let base = base
    var carry: Int64 = 0
    for place in limbs.indices {
      let sum = (negating ? -limbs[place] : limbs[place]) + carry
      let remainder = sum % base
      limbs[place] = remainder < 0 ? remainder + base : remainder
      carry = (sum - limbs[place]) / base
    }
    return carry
  }

  /// The sum in normal form (ES3). A sum that is already in normal form is returned unchanged.
  package var inOrder: ExactSum {
    if pending == 0 { return self }
    var copy = self
    copy.putInOrder()
    return copy
  }

  package static func floor(_ value: Int, _ divisor: Int) -> Int {
    (value >= 0 ? value : value - divisor + 1) / divisor
  }

  package static func power(of base: Int64, _ exponent: Int) -> Int64 {
    (0..<exponent).reduce(1) { result, _ in result * base }
  }
}
