// The values that the attributes of a probe's object get. Code that parses values accepts the first
// value of each kind, such as a text of digits or a small number. Later values are special cases
// for computed properties: empty values, negative numbers, capitals, spaces, and the ends of
// ranges.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

enum ProbeValues {
  /// The maximum number of values of a kind.
  static let count = 24

  /// The value of a kind in a round; nil for `absent`.
  static func value(of kind: FieldKind, _ round: Int) -> Value? {
    switch kind {
    case .bool: .bool(round % 2 == 0)
    case .int16: .integer(Int64(Int16(clamping: integers[round % integers.count])))
    case .int32: .integer(Int64(Int32(clamping: integers[round % integers.count])))
    case .int64: .integer(integers[round % integers.count])
    case .float: .double(Double(Float(doubles[round % doubles.count])))
    case .double: .double(doubles[round % doubles.count])
    case .decimal: .decimal(decimals[round % decimals.count])
    case .string: .string(texts[round % texts.count])
    case .date: .date(Date(timeIntervalSinceReferenceDate: dates[round % dates.count]))
    case .data: .data(data[round % data.count])
    case .uuid: .uuid(uuid(UInt8(truncatingIfNeeded: round &* 37 &+ 1)))
    case .url: URL(string: urls[round % urls.count]).map(Value.url)
    case .reference: .objectID("x-perdure://probe/Probe/p\(round + 1)")
    case .absent: nil
    }
  }

  /// The zero of a kind; nil if it has none. An accessor may return it if there is no value.
  static func zero(of kind: FieldKind) -> Value? {
    switch kind {
    case .bool: .bool(false)
    case .int16, .int32, .int64: .integer(0)
    case .float, .double: .double(0)
    case .decimal: .decimal(0)
    case .string: .string("")
    case .data: .data(Data())
    default: nil
    }
  }

  private static let integers: [Int64] = [
    1, 7, -3, 100, 1_000, -1_000, 0, 2, 10, 65_536, -65_537, 255, 1_000_001, -1_000_001,
    2_147_483_648, -2_147_483_649, 1 << 53, -1, 12, 99_999, .max, .min, .max - 1, .min + 1,
  ]

  private static let doubles: [Double] = [
    1.5, -2.25, 0, 100.01, 1e6 + 0.5, -1e6 - 0.5, 0.1, 1e-9, -1e-9, 3, 99.999, 1e300, -1e300,
    .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity, .nan, 0.5, -0.5, 1e15 + 0.3,
  ]

  private static let decimals: [Decimal] = [
    Decimal(sign: .plus, exponent: -1, significand: 15),
    Decimal(sign: .minus, exponent: -2, significand: 225), 0, 1_000_001, -1_000_001,
    Decimal(sign: .plus, exponent: -20, significand: 1),
    Decimal(sign: .minus, exponent: -20, significand: 1), Decimal(sign: .plus, exponent: 100, significand: 1),
    .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, 1, -1,
    Decimal(sign: .plus, exponent: -4, significand: 12_345),
  ]

  private static let texts: [String] = [
    "12345678", "mixed Case Ä", " Odd words ", "", "x", "0", "-5", "true", "e\u{301}", "É", "🙂",
    "two\nlines\t", String(repeating: "Long text. ", count: 1_000), "a-b_c.d/e@f", "\u{0}\r\n", "ß ﬁ İ",
    "nil", "UPPER", "(none)", "\u{FEFF}x\u{200B}", "  ", "A", "unknown", "…",
  ]

  private static let dates: [Double] = [
    700_000_000, 1_000.5, 0, -1_000.5, -978_307_200, 1e10, -1e10, 63_113_904_000, -63_114_076_800, 0.001,
  ]

  private static let data: [Data] = [
    Data("12345678".utf8), Data([0]), Data(), Data(repeating: 0xFF, count: 10_000), Data([0xFF, 0xFE]),
  ]

  private static let urls = [
    "https://example.org/a?b=c#d", "a/b", "file:///a/b", "mailto:x@example.org", "HTTP://EXAMPLE.ORG",
  ]

  private static func uuid(_ byte: UInt8) -> UUID {
    UUID(uuid: (byte, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, ~byte))
  }
}
