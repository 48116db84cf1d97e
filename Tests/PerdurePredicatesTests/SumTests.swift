import Foundation
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Exact sums of values")
struct SumTests {
  private func sum(_ values: [Value]) throws -> Value { try Aggregation.sum(values) }

  private func decimal(_ text: String) throws -> Value { .decimal(try #require(Decimal(string: text))) }

  @Test("A sum of doubles is the exact sum, rounded once, in any order")
  func reals() throws {
    #expect(try sum([.double(-1e16), .double(1), .double(1e16)]) == .double(1))
    #expect(try sum([.double(1e308), .double(1e308), .double(-1e308)]) == .double(1e308))
    #expect(try sum([.integer(.max), .double(0.5), .integer(-.max)]) == .double(0.5))
    #expect(try sum(Array(repeating: .double(0.1), count: 10)) == .double(1))
    #expect(try sum([.double(.infinity), .double(1)]) == .double(.infinity))
    #expect(try sum([.double(.infinity), .double(-.infinity)]).isNotANumber)
    #expect(try sum([.double(.nan), .double(1)]).isNotANumber)
    var random = SeededGenerator.forTest("sums of doubles")
    for _ in 0..<50 {
      let numbers = (0..<20).map { _ in
        Double(Int.random(in: -9...9, using: &random))
          * pow(10, Double(Int.random(in: -20...20, using: &random)))
      }
      let wanted = try sum(numbers.map(Value.double))
      #expect(try sum(numbers.shuffled(using: &random).map(Value.double)) == wanted)
      let negated = try sum((numbers + numbers.map { -$0 }).shuffled(using: &random).map(Value.double))
      #expect(negated == .double(0))
    }
  }

  @Test("A sum of decimals has 38 significant digits, for all exponents")
  func decimals() throws {
    for text in ["1e41", "1e-45", "1e100", "1e127", "-3e-128", "12345678901234567890123456789012345678e89"] {
      #expect(try sum([try decimal(text)]) == decimal(text), "\(text)")
      #expect(try sum([try decimal(text), .integer(5), .integer(-5)]) == decimal(text), "\(text)")
    }
    #expect(try sum([try decimal("1e41"), .integer(1)]) == decimal("1e41"))
    #expect(
      try sum([try decimal("1e41"), try decimal("1e-45"), try decimal("-1e41")]) == decimal("1e-45"))
    #expect(try sum([try decimal("9e127"), try decimal("9e127")]) == decimal("18e127"))
    #expect(
      try sum([try decimal("1e37"), try decimal("0.5"), .integer(0)])
        == decimal("10000000000000000000000000000000000000"))
    // A tie is rounded to an even last digit.
    #expect(
      try sum([try decimal("10000000000000000000000000000000000001"), try decimal("0.5")])
        == decimal("10000000000000000000000000000000000002"))
    #expect(try sum([.decimal(.nan), .integer(1)]).isNotANumber)
  }

  @Test("A sum of integers is an integer, or a decimal if it exceeds 64 bits")
  func wholes() throws {
    #expect(try sum([]) == .integer(0))
    #expect(try sum([.bool(true), .integer(4)]) == .integer(5))
    #expect(try sum([.integer(.max), .integer(.max), .integer(-.max)]) == .integer(.max))
    #expect(try sum([.integer(.max), .integer(1)]) == decimal("9223372036854775808"))
    #expect(try sum([.null, .integer(1)]) == .null)
    #expect(throws: PredicateEvaluationError.self) { try sum([.string("1")]) }
  }

  @Test("In a sum with decimals, a double counts as its shortest decimal if possible")
  func mixed() throws {
    #expect(try sum([try decimal("0.2"), .double(0.1)]) == decimal("0.3"))
    #expect(try sum([try decimal("1"), .double(1e-150)]) == .double(1))
    #expect(try sum([try decimal("1"), .double(.infinity)]) == .double(.infinity))
  }

  @Test("Decimals with exponents beyond 40 are added and subtracted as decimals")
  func arithmetic() throws {
    let object = TestObject(1, ["big": try decimal("1e41"), "small": try decimal("1e-45")])
    for format in [
      "big + 1e41 == 2e41", "big - big == 0", "small + small > small", "small - small == 0",
      "small + small == 2 * small",
    ] {
      #expect(try FetchPredicate(format: format).evaluate(with: object), "\(format)")
    }
  }
}

extension Value {
  fileprivate var isNotANumber: Bool {
    switch self {
    case .double(let double): double.isNaN
    case .decimal(let decimal): decimal.isNaN
    default: false
    }
  }
}
