import Foundation
import PerdureTestSupport
import Testing

@testable import PerdurePredicates

@Suite("Folding of text") struct StringFoldingTests {
  @Test(
    "Case and diacritics are folded",
    arguments: [
      ("Héllo Wörld", "hello world"), ("STRASSE", "strasse"), ("Straße", "strasse"), ("ÅNGSTRÖM", "angstrom"),
      ("ΌΣΟΣ", "οσοσ"), ("όσος", "οσοσ"), ("ﬁn", "fin"), ("İ", "i"), ("ı", "ı"), ("Łódź", "łodz"),
      ("\u{212A}elvin", "kelvin"), ("e\u{301}\u{323}x", "ex"), ("ЙОД", "иод"),
      ("각", "\u{1100}\u{1161}\u{11A8}"),
      ("", ""), ("🙂", "🙂"),
    ])
  func examples(_ text: String, _ folded: String) {
    #expect(Array(StringFolding.folded(text).unicodeScalars) == Array(folded.unicodeScalars))
  }

  /// All scalars except most ideographs and Hangul syllables, which have neither case nor marks.
  private static let interesting = [
    0x80...0x33FF, 0x4DC0...0x4E10, 0xA000...0xAC40, 0xD780...0x16FFF, 0x1AFF0...0x1FFFF, 0x2F800...0x2FA1F,
    0xE0000...0xE01FF,
  ].flatMap { (range: ClosedRange<UInt32>) in Array(range) }

  @Test("Each option folds only case or only diacritics")
  func options() {
    let text = "Éa"
    #expect(StringFolding.folded(text, options: .caseInsensitive) == "éa")
    #expect(StringFolding.folded(text, options: .diacriticInsensitive) == "Ea")
    #expect(StringFolding.folded(text, options: []) == "Éa")
    #expect(Array(StringFolding.fold("Éa", .normalized)) == Array("Éa".utf8))
    #expect(Array(StringFolding.fold("É", [])) == Array("E\u{301}".utf8))
    // Folding sorts marks into canonical order: below (220) before above (230).
    #expect(StringFolding.fold("a\u{301}\u{323}", []) == StringFolding.fold("a\u{323}\u{301}", []))
  }

  @Test("Folding a folded text changes nothing, with any options")
  func idempotence() {
    for value in Self.interesting {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for bits in UInt8(0)..<4 {
        let options = StringOptions(rawValue: bits)
        let once = StringFolding.fold(String(scalar), options)
        let twice = once.withUnsafeBytes { StringFolding.fold($0, options) }
        if once != twice { Issue.record("U+\(String(value, radix: 16)) with \(bits)") }
      }
    }
  }

  @Test("Decomposition agrees with canonical equivalence of the standard library")
  func decomposition() {
    for value in Self.interesting {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = "a" + String(scalar) + "b"
      let folded = String(decoding: StringFolding.fold(text, []), as: UTF8.self)
      if folded != text { Issue.record("U+\(String(value, radix: 16))") }
    }
  }

  @Test("Equality without options agrees with String for random letters and marks")
  func equivalence() {
    var generator = SeededGenerator.forTest("folding")
    let scalars: [Unicode.Scalar] = [
      "a", "e", "\u{E9}", "\u{301}", "\u{323}", "\u{1EB9}", "\u{315}", "\u{327}", "각", "\u{1100}", "\u{1161}",
      "\u{11A8}",
      "\u{212B}", "\u{C5}", "\u{30A}", "ß", "\u{345}", "\u{3B1}", "\u{1FB3}",
    ]
    func text(_ generator: inout SeededGenerator) -> String {
      var text = ""
      for _ in 0..<Int.random(in: 0...4, using: &generator) {
        text.unicodeScalars.append(generator.pick(scalars))
      }
      return text
    }
    var equal = 0
    for _ in 0..<50_000 {
      let (left, right) = (text(&generator), text(&generator))
      if left == right { equal += 1 }
      if StringFolding.equal(left, right, []) != (left == right) {
        Issue.record("\(left.unicodeScalars.map(\.value)) \(right.unicodeScalars.map(\.value))")
      }
    }
    #expect(equal > 100)
  }

  @Test("Arbitrary bytes are folded to valid UTF-8")
  func hostileBytes() {
    var generator = SeededGenerator.forTest("folding")
    for _ in 0..<5_000 {
      let bytes = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      bytes.withUnsafeBytes { bytes in
        let pattern = FoldedText("é?*", options: .caseInsensitive)
        let folded = StringFolding.fold(bytes, [.caseInsensitive, .diacriticInsensitive])
        #expect(String(validating: folded, as: UTF8.self) != nil)
        _ = pattern.matchesPattern(bytes)
        _ = FoldedText("a", options: [.normalized]).matchesPattern(bytes)
        _ = pattern.isPart(of: bytes)
        _ = pattern.isSuffix(of: bytes)
      }
    }
  }

  @Test("A run of 100,000 marks is sorted into canonical order")
  func longRun() {
    let marks = String(repeating: "\u{301}\u{323}", count: 50_000)
    let folded = StringFolding.fold("a" + marks, [])
    #expect(folded.count == 200_001)
    #expect(folded[1...4].elementsEqual("\u{323}\u{323}".utf8))
  }
}
