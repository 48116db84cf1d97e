import PerdureTestSupport
import Testing

@testable import PerdureFormat
@testable import PerdureNumbers

/// Sums of the smallest and the largest numbers, and encodings beyond them.
@Suite("Limits of exact sums")
struct ExactSumLimitTests {
  private func decoded(_ bytes: [UInt8]) throws -> ExactSum {
    try bytes.withUnsafeBytes { try ExactSum(decoding: $0) }
  }

  private func decimal(_ coefficient: UInt128, _ exponent: Int, isNegative: Bool = false) -> ExactSum.Term {
    .decimal(isNegative: isNegative, coefficient: coefficient, exponent: exponent)
  }

  private func sum(_ radix: ExactSum.Radix, _ terms: ExactSum.Term...) -> ExactSum {
    var sum = ExactSum(radix)
    for term in terms { sum.apply(term, isRemoval: false) }
    return sum
  }

  /// The term that results from encoding and decoding `term`, as in an index.
  private func throughBytes(_ term: ExactSum.Term) -> ExactSum.Term {
    var bytes: [UInt8] = []
    term.append(to: &bytes)
    return bytes.withUnsafeBytes { ExactSum.Term(decoding: $0) }
  }

  @Test("Checking counts near their maximum does not overflow")
  func counts() {
    var sum = ExactSum(.binary)
    (sum.termCount, sum.notNumberCount, sum.positiveInfinityCount) = (.max, .max, 1)
    #expect(!sum.isPossible)
    sum.positiveInfinityCount = 0
    #expect(sum.isPossible)
    (sum.notNumberCount, sum.negativeInfinityCount) = (-1, .max)
    #expect(!sum.isPossible)
  }

  @Test("A decimal with an exponent outside -2,048 to 2,047 counts as NaN")
  func exponents() throws {
    for exponent in [-2048, 2047] {
      let sum = sum(.decimal, throughBytes(decimal(7, exponent)))
      #expect(sum.decimal == (false, "7", exponent) && sum.isFinite)
      #expect(try decoded(sum.encoded) == sum)
    }
    for exponent in [-2049, 2048, -32_768, 32_767] {
      let sum = sum(.decimal, throughBytes(decimal(7, exponent)))
      #expect(sum.notNumberCount == 1 && sum.double.isNaN && sum.orderKey == [0x10])
      #expect(try decoded(sum.encoded) == sum)
    }
  }

  @Test("A sum of the smallest and the largest number is exact, and the largest can be removed")
  func bothEnds() throws {
    let (least, most) = (decimal(1, -2048), decimal(.max, 2047, isNegative: true))
    var wide = sum(.decimal, least, most)
    #expect(wide.encoded.count > 2000)
    wide = try decoded(wide.encoded)
    #expect(wide == sum(.decimal, most, least) && wide.decimal.isNegative)
    #expect(wide.decimal.text.count == 4095 + 39 && wide.decimal.exponent == -2048)
    wide.apply(most, isRemoval: true)
    #expect(wide == sum(.decimal, least))

    let doubles = [Double.leastNonzeroMagnitude, .greatestFiniteMagnitude]
    var binary = sum(.binary, .double(doubles[0]), .double(doubles[1]))
    binary = try decoded(binary.encoded)
    #expect(binary.double == doubles[1] && binary.decimal.exponent == -1074)
    binary.apply(.double(doubles[1]), isRemoval: true)
    #expect(binary == sum(.binary, .double(doubles[0])))
  }

  @Test("A sum of the largest numbers, with the maximum count, can be decoded")
  func many() throws {
    for (radix, term) in [
      (ExactSum.Radix.binary, ExactSum.Term.double(-.greatestFiniteMagnitude)),
      (.decimal, decimal(.max, 2047)),
    ] {
      var sum = sum(radix, term)
      for _ in 0..<62 { sum.merge(sum) }
      #expect(try decoded(sum.encoded) == sum && sum.termCount == 1 << 62)
      #expect(abs(sum.double) == .infinity && sum.isFinite)
    }
  }

  @Test("Bytes with a digit at the first or last possible position are decoded, and beyond it refused")
  func places() throws {
    // The bytes are the kind with the sign, a position of 16 bits, a digit, and a count of one.
    for (kind, least, most) in [(0 as UInt8, -154, 155), (1, -1024, 1052)] {
      for (isNegative, place) in [(false, least), (false, most), (true, least), (true, most)] {
        func bytes(_ place: Int, _ digits: [UInt8] = [2]) -> [UInt8] {
          let biased = UInt16(place + 32_768)
          let number = [UInt8(biased >> 8), UInt8(biased & 0xFF)] + digits
          return [kind << 4 | (isNegative ? 2 : 4)] + number.map { isNegative ? ~$0 : $0 } + [2]
        }
        let sum = try decoded(bytes(place))
        #expect(sum.encoded == bytes(place) && sum.decimal.isNegative == isNegative)
        for beyond in [least - 1, most + 1, -32_768, 32_767] {
          #expect(throws: FormatError(.illegalField, in: "sum of a group", at: 1)) {
            try decoded(bytes(beyond))
          }
        }
        #expect(try decoded(bytes(least + 1, [3, 2])).encoded == bytes(least + 1, [3, 2]))
        #expect(throws: FormatError(.illegalField, in: "sum of a group", at: 4)) {
          try decoded(bytes(least, [3, 2]))
        }
      }
    }
  }
}
