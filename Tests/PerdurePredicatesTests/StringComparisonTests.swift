import PerdureTestSupport
import Testing

@testable import PerdurePredicates

@Suite("Comparison of text") struct StringComparisonTests {
  private let c: StringOptions = .caseInsensitive
  private let d: StringOptions = .diacriticInsensitive
  private let cd: StringOptions = [.caseInsensitive, .diacriticInsensitive]

  @Test("Equality ignores case or diacritics only with the option for it")
  func equality() {
    #expect(StringFolding.equal("é", "e\u{301}", []))
    #expect(!StringFolding.equal("é", "e\u{301}", .normalized))
    #expect(!StringFolding.equal("abc", "ABC", []))
    #expect(StringFolding.equal("abc", "ABC", c))
    #expect(!StringFolding.equal("abc", "ABC", d))
    #expect(!StringFolding.equal("abc", "ABC", [.caseInsensitive, .normalized]))
    #expect(StringFolding.equal("cafe", "Café", cd))
    #expect(!StringFolding.equal("cafe", "Café", c))
    #expect(StringFolding.equal("straße", "STRASSE", c))
    #expect(!StringFolding.equal("@[`{", "`{@[", c))
  }

  @Test(
    "Matches of prefixes, suffixes and parts do not separate a letter from its marks unless these are ignored"
  )
  func boundaries() {
    for accented in ["é", "e\u{301}"] {
      #expect(!StringFolding.hasPrefix(accented + "a", "e", []))
      #expect(StringFolding.hasPrefix(accented + "a", "e", d))
      #expect(StringFolding.hasPrefix(accented + "a", "é", []))
      #expect(StringFolding.hasPrefix(accented + "a", "e\u{301}", []))
      #expect(!StringFolding.contains("x" + accented + "y", "e", []))
      #expect(StringFolding.contains("x" + accented + "y", "É", c))
      #expect(!StringFolding.contains("x" + accented, "\u{301}", []))
      #expect(StringFolding.hasSuffix("x" + accented, "é", []))
      #expect(!StringFolding.hasSuffix("x" + accented, "\u{301}", []))
      #expect(StringFolding.contains("e" + accented + "e", "ee", d))
    }
    #expect(!StringFolding.hasPrefix("각", "가", []))
    #expect(StringFolding.hasPrefix("각하", "각", []))
    #expect(StringFolding.hasPrefix("\u{212A}x", "K", []))
    #expect(StringFolding.contains("Kölner Dom", "LN", c))
  }

  @Test("The empty text is a prefix, suffix and part of every text")
  func empty() {
    for text in ["", "a", "é"] {
      #expect(StringFolding.hasPrefix(text, "", []))
      #expect(StringFolding.hasSuffix(text, "", c))
      #expect(StringFolding.contains(text, "", cd))
      #expect(StringFolding.like(text, "*", []))
      #expect(StringFolding.like(text, "", []) == text.isEmpty)
    }
    #expect(!StringFolding.hasPrefix("", "a", []))
    #expect(!StringFolding.hasSuffix("", "a", []))
    #expect(!StringFolding.contains("", "a", []))
  }

  @Test(
    "Patterns of LIKE match the expected texts",
    arguments: [
      ("abc", "abc", true), ("abc", "a?c", true), ("abc", "a*", true), ("abc", "*c", true),
      ("abc", "*b*", true),
      ("abc", "b*", false), ("abc", "???", true), ("abc", "??", false), ("abc", "????", false),
      ("abc", "a*c*", true),
      ("é", "?", true), ("e\u{301}", "?", true), ("é", "e*", false), ("né", "n?", true), ("nés", "n?s", true),
      ("a*c", "a\\*c", true), ("abc", "a\\*c", false), ("a?", "a\\?", true), ("a\\", "a\\\\", true),
      ("mississippi", "m*iss*ip*i", true), ("mississippi", "m*iss*ip*x", false), ("👨‍👩‍👧", "*", true),
      ("", "**", true),
      ("aXbXc", "*X*X*", true), ("aXbc", "*X*X*", false), ("ab", "*?", true), ("", "?", false),
      ("éé", "*é", true),
      ("x", "*é", false),
    ])
  func patterns(_ text: String, _ pattern: String, _ matches: Bool) {
    #expect(StringFolding.like(text, pattern, []) == matches)
    #expect(StringFolding.like(text.uppercased(), pattern, c) == matches)
  }

  @Test("A pattern with thousands of stars is evaluated correctly")
  func manyStars() {
    let text = String(repeating: "a", count: 5_000)
    #expect(!StringFolding.like(text, String(repeating: "*a", count: 1_000) + "b", []))
    #expect(StringFolding.like("é" + text, String(repeating: "*", count: 5_000), d))
  }

  @Test("For random texts, patterns have the same results as a recursive matcher")
  func patternsAgainstReference() {
    func reference(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
      guard let mark = pattern.first else { return text.isEmpty }
      switch mark {
      case "*":
        return reference(text, pattern.dropFirst()) || (!text.isEmpty && reference(text.dropFirst(), pattern))
      case "?": return !text.isEmpty && reference(text.dropFirst(), pattern.dropFirst())
      default: return text.first == mark && reference(text.dropFirst(), pattern.dropFirst())
      }
    }
    var generator = SeededGenerator.forTest("string comparison")
    for _ in 0..<20_000 {
      let text = String((0..<Int.random(in: 0...6, using: &generator)).map { _ in generator.pick("abéb") })
      let pattern = String(
        (0..<Int.random(in: 0...5, using: &generator)).map { _ in generator.pick("ab?*é*") })
      let expected = reference(Array(text)[...], Array(pattern)[...])
      if StringFolding.like(text, pattern, []) != expected { Issue.record("\(text) LIKE \(pattern)") }
    }
  }

  @Test("Fast paths for ASCII agree with folding")
  func fastPaths() {
    var generator = SeededGenerator.forTest("string comparison")
    let letters = "aAbB@[`{éÉ"
    for _ in 0..<20_000 {
      let text = String((0..<Int.random(in: 0...6, using: &generator)).map { _ in generator.pick(letters) })
      let part = String((0..<Int.random(in: 0...3, using: &generator)).map { _ in generator.pick(letters) })
      for options in [[], c, d, cd] as [StringOptions] {
        let (long, short) = (
          StringFolding.folded(text, options: options), StringFolding.folded(part, options: options)
        )
        let (a, b) = (Array(long), Array(short))
        #expect(StringFolding.equal(text, part, options) == (a == b))
        #expect(StringFolding.hasPrefix(text, part, options) == a.starts(with: b))
        #expect(StringFolding.hasSuffix(text, part, options) == a.reversed().starts(with: b.reversed()))
        let isPart = a.indices.contains { a[$0...].starts(with: b) } || b.isEmpty
        #expect(StringFolding.contains(text, part, options) == isPart)
      }
    }
  }

  private func decomposed(_ text: String) -> [UInt8] {
    text.unicodeScalars.flatMap { scalar -> [UInt8] in
      switch scalar {
      case "é": Array("e\u{301}".utf8)
      case "É": Array("E\u{301}".utf8)
      default: Array(String(scalar).utf8)
      }
    }
  }

  @Test("Texts are ordered by their folded form, or without options by their decomposed form")
  func order() {
    var generator = SeededGenerator.forTest("string comparison")
    for _ in 0..<5_000 {
      let left = String((0..<3).map { _ in generator.pick("abzéÉZ\u{10FFFF}\u{FFFD}") })
      let right = String((0..<3).map { _ in generator.pick("abzéÉZ\u{10FFFF}\u{FFFD}") })
      let expected: ValueOrder =
        left == right
        ? .same : decomposed(left).lexicographicallyPrecedes(decomposed(right)) ? .ascending : .descending
      #expect(StringFolding.order(left, right, []) == expected)
    }
    #expect(StringFolding.order("B", "a", []) == .ascending)
    #expect(StringFolding.order("B", "a", c) == .descending)
    #expect(StringFolding.order("É", "f", d) == .ascending)
    #expect(StringFolding.order("É", "F", []) == .ascending)
    #expect(StringFolding.order("é", "E", cd) == .same)
  }
}
