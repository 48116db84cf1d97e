import FoundationEssentials
import Perdure
import PerdurePredicates
import PerdureTestSupport

/// Random values of each kind. Boundary values are frequent.
enum RandomValue {
  static let texts = [
    "", "a", "A", "ab", "abc", "B", "b", "z", "Z", "é", "e\u{301}", "E", "e", "É", "ä", "ae", "ß", "ss",
    "\u{0}", "a\u{0}", "a\u{0}b", "\u{FF}", "日本", "각", "가\u{11A8}", "\u{1F600}", "o\u{302}\u{323}",
    "\u{1ED9}", "fi", "ﬁ", "a b", "a*", "a?b", "\u{E000}", "\u{10FFFF}",
  ]

  static let doubles: [Double] = [
    0, -0.0, 1, -1, 0.5, 1.5, -1.5, .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
    -.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1e15, 9_007_199_254_740_992, 3,
  ]

  static let integers: [Int64] = [0, 1, -1, 2, 3, 127, -128, 255, 256, 32767, -32768]

  static let decimals = [
    "0", "1", "-1", "0.1", "-0.1", "10", "100", "99.99", "1.5", "-1.5", "1e20", "-1e20", "1e-20",
    "123456789.987",
    "340282366920938463463374607431768211455", "1e127", "1e-128", "NaN", "0.5", "3", "12", "120", "1.2",
  ]

  static func of(_ kind: FieldKind, _ random: inout SeededGenerator) -> Value {
    switch kind {
    case .absent: .null
    case .bool: .bool(random.chance(50))
    case .int16: .integer(random.pick(integers))
    case .int32:
      .integer(
        random.chance(70) ? random.pick(integers) : Int64(Int32.random(in: .min ... .max, using: &random)))
    case .int64:
      .integer(random.chance(70) ? random.pick(integers) : Int64.random(in: .min ... .max, using: &random))
    case .float: .double(Double(Float(random.pick(doubles))))
    case .double: .double(random.pick(doubles))
    case .date: .date(Date(timeIntervalSinceReferenceDate: random.pick(doubles.filter { !$0.isNaN })))
    case .uuid: .uuid(uuid(&random))
    case .decimal: .decimal(Decimal(string: random.pick(decimals)) ?? .nan)
    case .reference: .reference(ObjectReference(rawValue: 1 << 48 | UInt64.random(in: 1...5, using: &random)))
    case .string: .string(random.pick(texts))
    case .data:
      .data(Data((0..<Int.random(in: 0...3, using: &random)).map { _ in random.pick([0, 1, 0x7F, 0xFF]) }))
    case .url: .url(URL(string: "https://example.org/" + random.pick(["", "a", "b", "a/b"]))!)
    }
  }

  private static func uuid(_ random: inout SeededGenerator) -> UUID {
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &bytes) { bytes in
      for position in [0, 7, 15] { bytes[position] = UInt8.random(in: 0...2, using: &random) &* 127 }
    }
    return UUID(uuid: bytes)
  }
}
