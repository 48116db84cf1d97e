import PerdureTestSupport
import Testing

@testable import PerdureFormat
@testable import PerdureNumbers

/// A simple integer of any length: its sign, and its digits of base 2^16, the lowest first.
private struct Naive: Equatable {
  var isNegative = false
  var digits: [UInt32] = []

  init() {}

  init(_ value: UInt128) {
    var rest = value
    while rest > 0 {
      digits.append(UInt32(rest & 0xFFFF))
      rest >>= 16
    }
  }

  var isZero: Bool { digits.isEmpty }

  func times(_ factor: UInt32) -> Naive {
    var (result, carry) = (Naive(), UInt32(0))
    result.isNegative = isNegative
    for digit in digits {
      carry += digit * factor
      result.digits.append(carry & 0xFFFF)
      carry >>= 16
    }
    if carry > 0 { result.digits.append(carry) }
    return result
  }

  func times(_ factor: UInt32, power: Int) -> Naive {
    (0..<power).reduce(self) { result, _ in result.times(factor) }
  }

  /// Divides the number and returns the remainder.
  mutating func divide(by divisor: UInt32) -> UInt32 {
    var rest: UInt32 = 0
    for place in digits.indices.reversed() {
      rest = rest << 16 | digits[place]
      digits[place] = rest / divisor
      rest %= divisor
    }
    while digits.last == 0 { digits.removeLast() }
    return rest
  }

  static func isLess(_ a: [UInt32], _ b: [UInt32]) -> Bool {
    a.count != b.count ? a.count < b.count : a.reversed().lexicographicallyPrecedes(b.reversed())
  }

  static func < (a: Naive, b: Naive) -> Bool {
    if a.isZero || b.isZero || a.isNegative != b.isNegative {
      return a.isNegative && !a.isZero || a.isZero && !b.isZero && !b.isNegative
    }
    return a.isNegative ? isLess(b.digits, a.digits) : isLess(a.digits, b.digits)
  }

  static func + (a: Naive, b: Naive) -> Naive {
    if a.isZero { return b }
    if b.isZero { return a }
    var result = Naive()
    if a.isNegative == b.isNegative {
      result.isNegative = a.isNegative
      var carry: UInt32 = 0
      for place in 0..<max(a.digits.count, b.digits.count) {
        carry +=
          (place < a.digits.count ? a.digits[place] : 0) + (place < b.digits.count ? b.digits[place] : 0)
        result.digits.append(carry & 0xFFFF)
        carry >>= 16
      }
      if carry > 0 { result.digits.append(carry) }
    } else {
      let (large, small) = isLess(a.digits, b.digits) ? (b, a) : (a, b)
      result.isNegative = large.isNegative
      var borrow: Int32 = 0
      for place in large.digits.indices {
        var digit = Int32(large.digits[place]) - borrow
        if place < small.digits.count { digit -= Int32(small.digits[place]) }
        borrow = digit < 0 ? 1 : 0
        result.digits.append(UInt32(digit + (borrow << 16)))
      }
      while result.digits.last == 0 { result.digits.removeLast() }
      if result.isZero { result.isNegative = false }
    }
    return result
  }

  static prefix func - (a: Naive) -> Naive {
    var result = a
    if !a.isZero { result.isNegative.toggle() }
    return result
  }
}

/// A sum in units of 2^-1078 or 10^-200. These are the units of the lowest digit (base 128 or 100).
private struct NaiveSum {
  let radix: ExactSum.Radix
  var value = Naive()
  private static let bits = 1078
  private static let places = 200

  func units(of term: ExactSum.Term) -> Naive {
    let (magnitude, shift, isNegative): (UInt128, Int, Bool) =
      switch term {
      case .integer(let value): (UInt128(value.magnitude), 0, value < 0)
      case .double(let value):
        // 2^52 times the significand is an integer.
        value == 0
          ? (0, 0, false)
          : (UInt128(value.significand * 0x1p52), Int(value.exponent) - 52, value < 0)
      case .decimal(let isNegative, let coefficient, let exponent): (coefficient, exponent, isNegative)
      }
    var units = Naive(magnitude)
    var places = shift + (radix == .binary ? Self.bits : Self.places)
    if radix == .binary, places >= 0 {
      units = units.times(1 << 15, power: places / 15).times(1 << UInt32(places % 15))
    } else if radix == .binary {
      while places < 0 {
        _ = units.divide(by: 2)
        places += 1
      }
    } else {
      units = units.times(10, power: places)
    }
    return isNegative ? -units : units
  }

  mutating func apply(_ term: ExactSum.Term, isRemoval: Bool) {
    let units = units(of: term)
    value = value + (isRemoval ? -units : units)
  }

  /// The order key by the definition in FORMAT.md.
  var orderKey: [UInt8] {
    let kind = radix.rawValue << 4
    if value.isZero { return [kind | 3] }
    let base: UInt32 = radix == .binary ? 128 : 100
    var (rest, digits) = (value, [UInt32]())
    while !rest.isZero { digits.append(rest.divide(by: base)) }
    let place = digits.count - 1 - (radix == .binary ? Self.bits / 7 : Self.places / 2)
    let trimmed = digits.drop { $0 == 0 }.reversed()
    let biased = UInt16(place + 0x8000)
    var bytes = [UInt8(biased >> 8), UInt8(biased & 0xFF)]
    for (index, digit) in trimmed.enumerated() {
      bytes.append(UInt8(digit * 2 + (index < trimmed.count - 1 ? 1 : 0)))
    }
    return value.isNegative ? [kind | 2] + bytes.map { ~$0 } : [kind | 4] + bytes
  }

  /// Whether `double` is the nearest double to the sum. In a tie, it must be the even one.
  func isNearest(_ double: Double) -> Bool {
    func distance(_ other: Double) -> Naive {
      let difference = value + -units(of: .double(other))
      return difference.isNegative ? -difference : difference
    }
    let own = distance(double)
    return [double.nextUp, double.nextDown].allSatisfy { other in
      guard other.isFinite else { return true }
      let theirs = distance(other)
      return own < theirs || own == theirs && double.significandBitPattern & 1 == 0
    }
  }
}

@Suite("Exact sums")
struct ExactSumTests {
  /// The kinds of random numbers.
  enum Kind: String, CaseIterable, Sendable {
    case integers, smallIntegers, decimals, doubles, subnormals, prices, mixed
  }

  private static func term(_ kind: Kind, _ random: inout SeededGenerator) -> ExactSum.Term {
    switch kind {
    case .integers:
      return .integer(Int64(bitPattern: random.next()) >> Int64.random(in: 0...63, using: &random))
    case .smallIntegers: return .integer(.random(in: -20...20, using: &random))
    case .decimals:
      let digits = Int.random(in: 0...38, using: &random)
      let limit = (0..<digits).reduce(UInt128(1)) { power, _ in power * 10 }
      let coefficient = (UInt128(random.next()) << 64 | UInt128(random.next())) % limit
      return .decimal(
        isNegative: .random(using: &random), coefficient: coefficient,
        exponent: .random(in: -128...127, using: &random))
    case .prices:
      return .decimal(
        isNegative: .random(using: &random), coefficient: UInt128(random.next() % 100_000), exponent: -2)
    case .doubles:
      let value = Double(bitPattern: random.next())
      return .double(value.isFinite ? value : 1.5)
    case .subnormals: return .double(Double(bitPattern: random.next() & 0x800F_FFFF_FFFF_FFFF))
    case .mixed:
      return term(random.next() % 2 == 0 ? .integers : .doubles, &random)
    }
  }

  private static func radix(_ kind: Kind) -> ExactSum.Radix {
    kind == .decimals || kind == .prices ? .decimal : .binary
  }

  private func decoded(_ bytes: [UInt8]) throws -> ExactSum {
    try bytes.withUnsafeBytes { try ExactSum(decoding: $0) }
  }

  @Test(
    "Sums equal those of simple arithmetic, and zero after all numbers are removed",
    arguments: Kind.allCases)
  func naive(_ kind: Kind) throws {
    var random = SeededGenerator.forTest("exact sums of \(kind.rawValue)")
    for round in 0..<LongRun.count(12) {
      var sum = ExactSum(Self.radix(kind))
      var naive = NaiveSum(radix: Self.radix(kind))
      var terms: [ExactSum.Term] = []
      let place = "seed \(random.seed), round \(round)"
      for step in 0..<24 {
        if !terms.isEmpty, Int.random(in: 0..<3, using: &random) == 0 {
          let term = terms.remove(at: .random(in: terms.indices, using: &random))
          sum.apply(term, isRemoval: true)
          naive.apply(term, isRemoval: true)
        } else {
          let term = Self.term(kind, &random)
          terms.append(term)
          sum.apply(term, isRemoval: false)
          naive.apply(term, isRemoval: false)
        }
        // Encodes and decodes the sum, as an index does.
        if step % 3 == 0, !terms.isEmpty {
          let again = try decoded(sum.encoded)
          #expect(again == sum && again.encoded == sum.encoded, "\(place), step \(step)")
          sum = again
        }
        #expect(sum.termCount == terms.count && sum.orderKey == naive.orderKey, "\(place), step \(step)")
      }
      if Self.radix(kind) == .binary, sum.double.isFinite {
        #expect(naive.isNearest(sum.double), "\(place): \(sum.double)")
      }
      var shuffled = ExactSum(Self.radix(kind))
      for term in terms.shuffled(using: &random) { shuffled.apply(term, isRemoval: false) }
      #expect(shuffled.encoded == sum.encoded, "\(place)")
      for term in terms.shuffled(using: &random) { shuffled.apply(term, isRemoval: true) }
      #expect(shuffled == ExactSum(Self.radix(kind)) && shuffled.isEmpty, "\(place)")
    }
  }

  @Test(
    "Order keys are in the order of the sums, and no key is a prefix of another",
    arguments: Kind.allCases)
  func order(_ kind: Kind) {
    var random = SeededGenerator.forTest("order of exact sums of \(kind.rawValue)")
    var sums: [(key: [UInt8], value: Naive)] = []
    for _ in 0..<40 {
      var sum = ExactSum(Self.radix(kind))
      var naive = NaiveSum(radix: Self.radix(kind))
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let term = Self.term(kind, &random)
        sum.apply(term, isRemoval: false)
        naive.apply(term, isRemoval: false)
      }
      sums.append((sum.orderKey, naive.value))
    }
    for (a, b) in zip(sums, sums.dropFirst()) {
      #expect(a.key.lexicographicallyPrecedes(b.key) == (a.value < b.value), "seed \(random.seed)")
      #expect((a.key == b.key) == (a.value == b.value), "seed \(random.seed)")
      #expect(
        a.key == b.key || !a.key.starts(with: b.key) && !b.key.starts(with: a.key), "seed \(random.seed)")
    }
  }

  private func sum(_ radix: ExactSum.Radix, _ terms: ExactSum.Term...) -> ExactSum {
    var sum = ExactSum(radix)
    for term in terms { sum.apply(term, isRemoval: false) }
    return sum
  }

  @Test("Sums are encoded as defined in FORMAT.md")
  func golden() throws {
    let examples = [
      sum(.binary, .integer(0)), sum(.binary, .integer(300), .integer(0)), sum(.binary, .integer(-5)),
      sum(.binary, .double(0.5)), sum(.binary, .double(1), .double(.nan), .double(.infinity)),
      sum(.decimal, .decimal(isNegative: true, coefficient: 125, exponent: -1)),
    ]
    #expect(try FormatDocument().bytes(inBlock: "sums") == examples.map(\.encoded))
    #expect(sum(.decimal, .double(.nan)).orderKey == [0x10])
    #expect(sum(.binary, .double(.infinity), .double(-.infinity)).orderKey == [0x00])
    #expect(sum(.binary, .double(-.infinity), .integer(7)).orderKey == [0x01])
    #expect(sum(.binary, .double(.infinity)).orderKey == [0x05])
  }

  @Test("Numbers are encoded as defined in FORMAT.md, and other bytes are not numbers")
  func terms() {
    func bytes(_ term: ExactSum.Term) -> [UInt8] {
      var bytes: [UInt8] = []
      term.append(to: &bytes)
      return bytes
    }
    let zeros = [UInt8](repeating: 0, count: 14)
    let examples: [(ExactSum.Term, [UInt8])] = [
      (.integer(-2), [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE]),
      (.double(1), [1, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0]),
      (.decimal(isNegative: true, coefficient: 0x102, exponent: -2), [2, 1, 0xFF, 0xFE] + zeros + [1, 2]),
    ]
    for (term, expected) in examples {
      #expect(bytes(term) == expected)
      #expect(expected.withUnsafeBytes { ExactSum.Term(decoding: $0) } == term)
      for length in 0..<expected.count where length != 8 && length != 9 {
        let part = expected.prefix(length).withUnsafeBytes { ExactSum.Term(decoding: $0) }
        if case .double(let value) = part { #expect(value.isNaN) } else { Issue.record("\(part)") }
      }
    }
    // A decimal whose exponent exceeds 16 bits also counts as NaN.
    let far = ExactSum.Term.decimal(isNegative: false, coefficient: 1, exponent: 1 << 40)
    #expect(sum(.decimal, far).notNumberCount == 1)
    #expect(bytes(far).withUnsafeBytes { sum(.decimal, ExactSum.Term(decoding: $0)) } == sum(.decimal, far))
  }

  @Test(
    "Sums convert to integers if they fit, and to doubles with one rounding"
  )
  func values() {
    #expect(sum(.binary, .integer(.max), .integer(.min), .integer(3)).int64 == 2)
    #expect(sum(.binary, .integer(.min)).int64 == .min && sum(.binary, .integer(.max)).int64 == .max)
    #expect(sum(.binary, .integer(.max), .integer(1)).int64 == nil && sum(.binary, .double(0.5)).int64 == nil)
    #expect(sum(.decimal, .integer(1 << 40), .integer(0)).int64 == 1 << 40)
    #expect(ExactSum(.binary).int64 == 0 && ExactSum(.decimal).double == 0)
    #expect(sum(.binary, .double(1e308), .double(1e308), .double(-1e308)).double == 1e308)
    #expect(sum(.binary, .double(1e308), .double(1e308)).double == .infinity)
    #expect(sum(.binary, .double(1), .double(1e-300), .double(-1)).double == 1e-300)
    #expect(sum(.binary, .double(.leastNonzeroMagnitude)).double == .leastNonzeroMagnitude)
    // A number halfway between two doubles rounds to the even one. A greater number rounds up.
    #expect(sum(.binary, .integer(1 << 53), .integer(1)).double == 0x1p53)
    #expect(sum(.binary, .integer(1 << 53), .integer(1), .double(0x1p-1000)).double == 0x1p53 + 2)
    let tenth = ExactSum.Term.decimal(isNegative: false, coefficient: 1, exponent: -1)
    #expect(sum(.decimal, tenth, tenth, tenth).double == 0.3)
    #expect(sum(.decimal, .decimal(isNegative: true, coefficient: 1, exponent: 2000)).double == -.infinity)
    #expect(sum(.decimal, .decimal(isNegative: false, coefficient: 1, exponent: -2000)).double == 0)
    #expect(sum(.binary, .double(.nan), .integer(1)).double.isNaN)
    #expect(sum(.binary, .double(.infinity), .integer(1)).double == .infinity)
    #expect(sum(.binary, .decimal(isNegative: false, coefficient: 1, exponent: 0)).double.isNaN)
    #expect(sum(.decimal, .double(1)).double.isNaN)
  }

  @Test("Sums convert to decimals with all digits, or with the nearest 38")
  func decimals() {
    func text(_ sum: ExactSum) -> String {
      let (isNegative, coefficient, exponent) = sum.coefficientAndExponent
      return "\(isNegative ? "-" : "")\(coefficient)e\(exponent)"
    }
    #expect(text(sum(.binary, .integer(.max), .integer(.max))) == "18446744073709551614e0")
    #expect(text(sum(.binary, .double(-0.75))) == "-75e-2")
    #expect(text(sum(.binary, .integer(1_000_000_000))) == "1e9")
    #expect(sum(.binary, .double(.leastNonzeroMagnitude)).decimal.exponent == -1074)
    let nines = (0..<38).reduce(UInt128(0)) { value, _ in value * 10 + 9 }
    let large = ExactSum.Term.decimal(isNegative: false, coefficient: nines, exponent: 3)
    #expect(text(sum(.decimal, large)) == "\(nines)e3")
    let rest = ExactSum.Term.decimal(isNegative: false, coefficient: 501, exponent: 0)
    #expect(text(sum(.decimal, large, rest)) == "1e41")
    let half = ExactSum.Term.decimal(isNegative: false, coefficient: 500, exponent: 0)
    #expect(text(sum(.decimal, large, half)) == "1e41")
    let less = ExactSum.Term.decimal(isNegative: false, coefficient: 499, exponent: 0)
    #expect(text(sum(.decimal, large, less)) == "\(nines)e3")
  }

  @Test("Any bytes decode to a sum or cause an error, and a decoded sum encodes to the same bytes")
  func hostile() throws {
    var random = SeededGenerator.forTest("hostile sums")
    var examples = Kind.allCases.map { kind in
      var sum = ExactSum(Self.radix(kind))
      for _ in 0..<5 { sum.apply(Self.term(kind, &random), isRemoval: false) }
      return sum.encoded
    }
    examples.append(sum(.binary, .double(.nan), .double(-.infinity), .integer(3)).encoded)
    var readCount = 0
    for example in examples {
      for round in 0..<400 {
        var bytes = example
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          switch random.next() % 3 {
          case 0: bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
          case 1 where !bytes.isEmpty:
            bytes[.random(in: bytes.indices, using: &random)] = UInt8(truncatingIfNeeded: random.next())
          default: bytes.append(UInt8(truncatingIfNeeded: random.next()))
          }
        }
        do {
          let sum = try decoded(bytes)
          readCount += 1
          #expect(sum.encoded == bytes, "seed \(random.seed), round \(round)")
          _ = (sum.int64, sum.double, sum.orderKey, sum.coefficientAndExponent)
          var doubled = sum
          doubled.merge(sum)
          _ = doubled.encoded
        } catch let error as FormatError {
          #expect((0...bytes.count).contains(error.offset))
        }
      }
    }
    #expect(readCount > 0)
  }
}
