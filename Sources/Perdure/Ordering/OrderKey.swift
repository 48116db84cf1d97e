// The order key of an object in an ordered relationship: a fraction between 0 and 1, as the bytes
// after the point.
//
// A key has 1 to 24 bytes, and its last byte is not zero. The order of keys is that of fractions.
// Between two keys there is always another key, as long as bytes are left. So an insertion writes
// one key and moves no other member.
//
// A new key consists of levels of three bytes each. A run is a series of insertions, each of them
// after (or before) the member that was inserted last. The next key of a run is one step from the
// previous key, on the same level while the level has space. A run is recognized by the lengths:
// one neighbour's key is longer than the other's. So tens of thousands of insertions at one place
// fit before keys grow by a level. Any other insertion uses the middle of its neighbours' keys.
//
//   KY1. A key has 1 to 24 bytes and does not end with a zero byte; so equal keys have equal bytes.
//   KY2. `between(a, b)` is after a and before b, and depends only on them: it is the same in every
//        process.
//   KY3. Members with equal keys are in the order of references.

/// The order key of a member: an immutable value.
package struct OrderKey: Hashable, Sendable {
  /// The maximum length of a key, in bytes.
  package static let lengthMax = 24

  // The 24 bytes, most significant first: the key, then zeros. So comparing them compares
  // fractions.
  private let high: UInt64
  private let middle: UInt64
  private let low: UInt64

  private init(_ high: UInt64, _ middle: UInt64, _ low: UInt64) {
    (self.high, self.middle, self.low) = (high, middle, low)
  }

  /// The key with these bytes; nil if they are not a key (KY1).
  package init?(_ bytes: some Collection<UInt8>) {
    guard (1...Self.lengthMax).contains(bytes.count) else { return nil }
    var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    var last: UInt8 = 0
    for (place, byte) in bytes.enumerated() {
      let bits = UInt64(byte) << UInt64(56 - 8 * (place % 8))
      switch place / 8 {
      case 0: words.0 |= bits
      case 1: words.1 |= bits
      default: words.2 |= bits
      }
      last = byte
    }
    if last == 0 { return nil }
    self.init(words.0, words.1, words.2)
  }

  /// The number of bytes.
  package var count: Int {
    let zeros =
      low != 0
      ? low.trailingZeroBitCount
      : middle != 0 ? 64 + middle.trailingZeroBitCount : 128 + high.trailingZeroBitCount
    return Self.lengthMax - zeros / 8
  }

  /// The bytes, the first of the fraction first.
  package var bytes: [UInt8] { (0..<count).map { self[$0] } }

  /// A byte of the fraction; zero after the key.
  subscript(place: Int) -> UInt8 {
    let word = place < 8 ? high : place < 16 ? middle : low
    return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (place % 8)))
  }
}

extension OrderKey: Comparable {
  /// The order of fractions.
  package static func < (left: OrderKey, right: OrderKey) -> Bool {
    if left.high != right.high { return left.high < right.high }
    if left.middle != right.middle { return left.middle < right.middle }
    return left.low < right.low
  }
}

extension OrderKey: CustomStringConvertible {
  /// The bytes in hexadecimal digits.
  package var description: String {
    bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}

// MARK: - Making keys

extension OrderKey {
  /// The number of bytes of a level.
  private static let levelLength = 3
  /// The distance of a run's keys on their level: it leaves space for later insertions between
  /// them.
  private static let runStep = 256
  /// The distance of a run's keys at the beginning or the end of the order, where only runs occur.
  private static let endStep = 16

  /// A key between two others (KY2).
  ///
  /// - Parameters:
  ///   - lower: nil for the beginning.
  ///   - upper: nil for the end.
  /// - Returns: nil if no key of at most 24 bytes is found between them, or if `lower` is not
  ///   before `upper`.
  /// - Complexity: O(1).
  package static func between(_ lower: OrderKey?, _ upper: OrderKey?) -> OrderKey? {
    if let lower, let upper, lower >= upper { return nil }
    let step = lower == nil || upper == nil ? endStep : runStep
    let lengths = (lower?.count ?? 0, upper?.count ?? 0)
    if let lower, lengths.0 > lengths.1 {
      for step in [step, 1] {
        if let key = lower.moved(by: step), upper.map({ key < $0 }) ?? true { return key }
      }
    } else if let upper, lengths.1 > lengths.0 {
      for step in [step, 1] {
        if let key = upper.moved(by: -step), lower.map({ $0 < key }) ?? true { return key }
      }
    }
    return middle(lower, upper)
  }

  /// The key at a distance of `step` units of the last byte; nil if the result is not between 0 and
  /// 1.
  private func moved(by step: Int) -> OrderKey? {
    let count = count
    var number = BigFraction(self, count)
    guard number.add(step) else { return nil }
    if number.endsWithZero, !number.add(step.signum()) { return nil }
    return number.key
  }

  /// The middle of two keys on the first level that has one.
  private static func middle(_ lower: OrderKey?, _ upper: OrderKey?) -> OrderKey? {
    for count in stride(from: levelLength, through: lengthMax, by: levelLength) {
      let low = BigFraction(lower, count)
      let high = upper.map { BigFraction($0, count) } ?? .one(count)
      var number = BigFraction.middle(low, high)
      for step in [0, 1, -2] {
        guard step == 0 || number.add(step) else { break }
        if number.isBetween(low, high), !number.endsWithZero { return number.key }
      }
    }
    return nil
  }

  /// Keys between two others, at equal distances, for members that get new keys.
  ///
  /// - Returns: nil if the keys are too close to each other for many later insertions, or if
  ///   `lower` is not before `upper`.
  /// - Complexity: O(count).
  package static func spread(_ count: Int, between lower: OrderKey?, _ upper: OrderKey?) -> [OrderKey]? {
    if let lower, let upper, lower >= upper { return nil }
    for length in stride(from: levelLength, through: spreadLengthMax, by: levelLength) {
      let low = BigFraction(lower, length)
      let high = upper.map { BigFraction($0, length) } ?? .one(length)
      guard let distance = high.distance(from: low, dividedBy: count + 1), distance.isAtLeast(spreadRoomMin)
      else { continue }
      var number = low
      var keys: [OrderKey] = []
      for _ in 0..<count {
        number.add(distance)
        var key = number
        if key.endsWithZero { _ = key.add(1) }
        keys.append(key.key)
      }
      return keys
    }
    return nil
  }

  /// The maximum length of spread keys. It leaves an equal number of bytes for later insertions.
  private static let spreadLengthMax = 12
  /// The minimum distance of spread keys, in units of the last byte.
  private static let spreadRoomMin = 65_536
}

/// A fraction for calculations, with 24 bytes after the point: three words, most significant first,
/// and a carry above them for the number 1.
private struct BigFraction {
  private var words: (UInt64, UInt64, UInt64)
  /// The carry: 1 for the number 1, otherwise 0.
  private var whole: UInt64
  private let count: Int

  private init(_ words: (UInt64, UInt64, UInt64), whole: UInt64, _ count: Int) {
    (self.words, self.whole, self.count) = (words, whole, count)
  }

  /// The first bytes of a key; 0 for none.
  init(_ key: OrderKey?, _ count: Int) {
    self.init((0, 0, 0), whole: 0, count)
    guard let key else { return }
    for place in 0..<count { self[place] = key[place] }
  }

  static func one(_ count: Int) -> BigFraction { BigFraction((0, 0, 0), whole: 1, count) }

  private subscript(place: Int) -> UInt8 {
    get {
      let word = place < 8 ? words.0 : place < 16 ? words.1 : words.2
      return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (place % 8)))
    }
    set {
      let bits = UInt64(newValue) << UInt64(56 - 8 * (place % 8))
      switch place / 8 {
      case 0: words.0 |= bits
      case 1: words.1 |= bits
      default: words.2 |= bits
      }
    }
  }

  var endsWithZero: Bool { self[count - 1] == 0 }

  /// The key with these bytes. The last byte must not be zero.
  var key: OrderKey {
    guard let key = OrderKey((0..<count).map { self[$0] }) else {
      preconditionFailure("A key must not end with a zero byte.")
    }
    return key
  }

  /// A number of units of the last byte, as a fraction.
  private func units(_ number: UInt64) -> BigFraction {
    var result = BigFraction((0, 0, 0), whole: 0, count)
    let shift = 8 * (OrderKey.lengthMax - count)
    // No caller passes a number that gives a result of 1 or more, so the shifts lose no bits.
    let (low, rest) =
      shift < 64 ? (number << UInt64(shift), shift == 0 ? 0 : number >> UInt64(64 - shift)) : (0, 0)
    switch shift / 64 {
    case 0: result.words = (0, rest, low)
    case 1:
      let bits = UInt64(shift - 64)
      result.words = (bits == 0 ? 0 : number >> (64 - bits), number << bits, 0)
    default: result.words = (number << UInt64(shift - 128), 0, 0)
    }
    return result
  }

  /// Adds units of the last byte. Returns whether the result is between 0 and 1. If not, the value
  /// is unspecified.
  mutating func add(_ step: Int) -> Bool {
    let amount = units(step.magnitude == 0 ? 0 : UInt64(step.magnitude))
    if step >= 0 {
      add(amount)
    } else {
      guard !isBefore(amount) else { return false }
      subtract(amount)
    }
    return whole == 0 && words != (0, 0, 0)
  }

  mutating func add(_ other: BigFraction) {
    let (low, carry0) = words.2.addingReportingOverflow(other.words.2)
    let (middle, carry1) = Self.sum(words.1, other.words.1, carry0)
    let (high, carry2) = Self.sum(words.0, other.words.0, carry1)
    words = (high, middle, low)
    whole += other.whole + (carry2 ? 1 : 0)
  }

  private mutating func subtract(_ other: BigFraction) {
    let (low, borrow0) = words.2.subtractingReportingOverflow(other.words.2)
    let (middle, borrow1) = Self.difference(words.1, other.words.1, borrow0)
    let (high, borrow2) = Self.difference(words.0, other.words.0, borrow1)
    words = (high, middle, low)
    whole = whole &- other.whole &- (borrow2 ? 1 : 0)
  }

  private static func sum(_ left: UInt64, _ right: UInt64, _ carry: Bool) -> (UInt64, Bool) {
    let (sum, first) = left.addingReportingOverflow(right)
    let (all, second) = sum.addingReportingOverflow(carry ? 1 : 0)
    return (all, first || second)
  }

  private static func difference(_ left: UInt64, _ right: UInt64, _ borrow: Bool) -> (UInt64, Bool) {
    let (rest, first) = left.subtractingReportingOverflow(right)
    let (all, second) = rest.subtractingReportingOverflow(borrow ? 1 : 0)
    return (all, first || second)
  }

  private func isBefore(_ other: BigFraction) -> Bool {
    (whole, words.0, words.1, words.2) < (other.whole, other.words.0, other.words.1, other.words.2)
  }

  func isBetween(_ low: BigFraction, _ high: BigFraction) -> Bool { low.isBefore(self) && isBefore(high) }

  /// Half of the sum, rounded down to the last byte.
  static func middle(_ left: BigFraction, _ right: BigFraction) -> BigFraction {
    var sum = left
    sum.add(right)
    return sum.divided(by: 2)
  }

  /// The distance to a smaller number divided by `divisor`, rounded down to the last byte; nil if
  /// the other number is not smaller.
  func distance(from other: BigFraction, dividedBy divisor: Int) -> BigFraction? {
    guard other.isBefore(self) else { return nil }
    var distance = self
    distance.subtract(other)
    return distance.divided(by: UInt64(divisor))
  }

  private func divided(by divisor: UInt64) -> BigFraction {
    var rest = whole % divisor
    var result = self
    result.whole = whole / divisor
    (result.words.0, rest) = divisor.dividingFullWidth((rest, words.0))
    (result.words.1, rest) = divisor.dividingFullWidth((rest, words.1))
    (result.words.2, rest) = divisor.dividingFullWidth((rest, words.2))
    result.cutBehindLastByte()
    return result
  }

  private mutating func cutBehindLastByte() {
    func mask(_ keptBits: Int) -> UInt64 {
      keptBits >= 64 ? .max : keptBits <= 0 ? 0 : ~(UInt64.max >> UInt64(keptBits))
    }
    words = (
      words.0 & mask(8 * count), words.1 & mask(8 * count - 64), words.2 & mask(8 * count - 128)
    )
  }

  func isAtLeast(_ number: Int) -> Bool { !isBefore(units(UInt64(number))) }
}
