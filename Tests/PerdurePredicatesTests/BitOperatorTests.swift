import Foundation
import PerdurePredicates
import PerdureTestSupport
import Testing

@Suite("Bitwise operators")
struct BitOperatorTests {
  private func value(_ format: String, _ values: [String: Value] = [:]) throws -> Value {
    try FetchExpression(format: format).value(with: TestObject(1, values))
  }

  @Test("Bitwise operators have the precedence of C, but bind tighter than comparisons")
  func precedence() throws {
    for (format, same) in [
      ("a | b & c", "a | (b & c)"), ("a ^ b & c", "a ^ (b & c)"), ("a | b ^ c", "a | (b ^ c)"),
      ("a & b << 1", "a & (b << 1)"), ("a << 1 + 1", "a << (1 + 1)"), ("a & b + c", "a & (b + c)"),
      ("a << 1 << 2", "(a << 1) << 2"), ("~a & b", "(~a) & b"), ("~a ** 2", "(~a) ** 2"), ("-~a", "-(~a)"),
      ("~-1", "~(-1)"), ("~~a", "~(~a)"), ("a&b|c", "(a & b) | c"), ("bitwiseAnd:with:(a, b)", "a & b"),
    ] {
      #expect(try FetchExpression(format: format) == FetchExpression(format: same), "\(format)")
    }
    for (format, same) in [
      ("a & 4 != 0", "(a & 4) != 0"), ("(a & 4) != 0 || b == 1", "((a & 4) != 0) OR b == 1"),
      ("a & 1 == 1 && b | 2 == 3", "(a & 1) == 1 AND (b | 2) == 3"), ("a<<2>b", "(a << 2) > b"),
      ("a>>2<b", "(a >> 2) < b"), ("a & b IN {1, 2}", "(a & b) IN {1, 2}"),
    ] {
      let predicate = try FetchPredicate(format: format)
      #expect(try predicate == FetchPredicate(format: same), "\(format)")
      #expect(try FetchPredicate(format: predicate.predicateFormat) == predicate, "\(format)")
    }
    for format in ["a &", "a & & b", "| a == 1", "a == ~", "a ^ == 1", "a << > 1"] {
      #expect(throws: PredicateSyntaxError.self, "\(format)") { try FetchPredicate(format: format) }
    }
  }

  @Test("A bitwise operation on a number with a fraction, or with more than 64 bits, yields null")
  func missingBits() throws {
    let tooLarge = Decimal(string: "18446744073709551616")!
    for number: Value in [
      .double(1.5), .double(.nan), .double(.infinity), .double(1e300), .decimal(Decimal(string: "1.5")!),
      .decimal(.nan), .decimal(tooLarge), .decimal(-tooLarge), .decimal(Decimal(string: "1e127")!),
    ] {
      for format in ["a & 1", "1 | a", "a ^ a", "a << 1", "1 >> a", "~a"] {
        #expect(try value(format, ["a": number]) == .null, "\(format) of \(number)")
      }
    }
    for (number, bits): (Value, Int64) in [
      (.double(6), 6), (.double(-0x1p63), .min), (.double(0x1p63), .min), (.decimal(-5), -5),
      (.decimal(Decimal(string: "5.00")!), 5), (.decimal(Decimal(string: "2.5")! * 2), 5),
      (.decimal(Decimal(string: "5e2")!), 500), (.decimal(tooLarge - 1), -1),
      (.decimal(Decimal(Int64.min)), .min),
    ] {
      #expect(try value("a | 0", ["a": number]) == .integer(bits), "\(number)")
    }
  }

  @Test("Bitwise operators give the same results as Swift's operators on Int64")
  func values() throws {
    var random = SeededGenerator.forTest("bit operators")
    for _ in 0..<300 {
      let a = random.chance(30) ? random.pick([0, -1, .min, .max]) : Int64(truncatingIfNeeded: random.next())
      let b =
        random.chance(50)
        ? Int64.random(in: -70...70, using: &random) : Int64(truncatingIfNeeded: random.next())
      let values: [String: Value] = ["a": .integer(a), "b": .integer(b)]
      for (format, expected) in [
        ("a & b", a & b), ("a | b", a | b), ("a ^ b", a ^ b), ("~a", ~a), ("a << b", a << b),
        ("a >> b", a >> b),
      ] {
        #expect(try value(format, values) == .integer(expected), "\(format) of \(a) and \(b)")
      }
    }
    #expect(try value("a & 0x8000000000000000", ["a": .integer(-1)]) == .integer(.min))
    #expect(try value("a & 1", ["a": .null]) == .null)
    #expect(try value("a | 2", ["a": .bool(true)]) == .integer(3))
    for other: Value in [.string("1"), .date(Date()), .list([.integer(1)])] {
      #expect(throws: PredicateEvaluationError.self) { try value("a & 1", ["a": other]) }
    }
  }
}
