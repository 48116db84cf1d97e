import PerdureTestSupport
import Testing

@testable import PerdurePredicates

@Suite("Text functions") struct TextFunctionTests {
  @Test(
    "Case conversion maps each scalar independently of its context",
    arguments: [
      ("Straße", "straße", "STRASSE"), ("ΌΣΟΣ", "όσοσ", "ΌΣΟΣ"), ("İi", "i\u{307}i", "İI"),
      ("ﬁ", "ﬁ", "FI"), ("ǅ", "ǆ", "Ǆ"), ("\u{212A}", "k", "\u{212A}"), ("e\u{301}", "e\u{301}", "E\u{301}"),
      ("\u{1F80}", "\u{1F80}", "\u{1F08}\u{399}"), ("𐐀𐐨", "𐐨𐐨", "𐐀𐐀"), ("aZ09_", "az09_", "AZ09_"),
      ("", "", ""),
    ])
  func examples(_ text: String, _ lower: String, _ upper: String) {
    #expect(Array(TextFunction.lowercase.applied(to: text).utf8) == Array(lower.utf8))
    #expect(Array(TextFunction.uppercase.applied(to: text).utf8) == Array(upper.utf8))
  }

  /// Whether the tables' version of Unicode contains a scalar.
  private static func isKnown(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.age.map { $0.major <= 14 } ?? false
  }

  @Test("Case conversion agrees with the standard library for scalars of Unicode 14")
  func standardLibrary() {
    for value in (UInt32(0)...0x1FFFF) {
      guard let scalar = Unicode.Scalar(value), Self.isKnown(scalar) else { continue }
      let properties = scalar.properties
      for (function, expected) in [
        (TextFunction.lowercase, properties.lowercaseMapping), (.uppercase, properties.uppercaseMapping),
      ] where expected.unicodeScalars.allSatisfy(Self.isKnown) {
        if !function.applied(to: String(scalar)).utf8.elementsEqual(expected.utf8) {
          Issue.record("\(function) of U+\(String(value, radix: 16))")
        }
      }
    }
  }

  @Test("Folding case, then diacritics, gives the canonical text, except with U+0345")
  func caseThenMarks() {
    // Texts that are equal without case have equal canonical texts. Therefore an index of canonical
    // text can answer comparisons with [c].
    for value in (UInt32(0x80)...0x1FFFF) where value != 0x345 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let decomposed = StringFolding.fold(String(scalar), [])
      if String(decoding: decomposed, as: UTF8.self).unicodeScalars.contains("\u{345}") { continue }
      let folded = StringFolding.fold(String(scalar), .caseInsensitive)
      let both = folded.withUnsafeBytes { StringFolding.fold($0, .diacriticInsensitive) }
      if both != TextFunction.canonical.applied(to: decomposed) {
        Issue.record("U+\(String(value, radix: 16))")
      }
    }
  }

  @Test("Only a property path or a text function of a path is parsed")
  func parsing() {
    #expect(TextFunction.parse("name")! == (nil, "name"))
    #expect(TextFunction.parse("address.street")! == (nil, "address.street"))
    #expect(TextFunction.parse("canonical:(name)")! == (.canonical, "name"))
    #expect(TextFunction.parse("uppercase:(address.street)")! == (.uppercase, "address.street"))
    for text in [
      "canonical:name", "canonical:()", "length:(name)", "canonical:(lowercase:(name))", "canonical(name)",
      "canonical:(name", "canonical:(na:me)", ":(name)", "name)",
    ] { #expect(TextFunction.parse(text) == nil, "\(text)") }
  }

  @Test("Functions that are applied to invalid UTF-8 give valid UTF-8")
  func hostileBytes() {
    var random = SeededGenerator.forTest("hostile bytes")
    for _ in 0..<500 {
      let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      for function in TextFunction.allCases {
        let made = bytes.withUnsafeBytes { function.applied(to: $0) }
        if String(validating: made, as: UTF8.self) == nil { Issue.record("\(function) of \(bytes)") }
      }
    }
  }
}

extension TextFunction {
  fileprivate func applied(to bytes: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { applied(to: $0) }
  }
}
