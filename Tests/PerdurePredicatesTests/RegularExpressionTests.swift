import PerdureTestSupport
import Testing
import _StringProcessing

@testable import PerdurePredicates

@Suite("Regular expressions")
struct RegularExpressionTests {
  private func matches(
    _ pattern: String, _ text: String, _ options: StringOptions = []
  ) throws -> Bool {
    try RegularExpression(pattern, options: options).matches(text)
  }

  @Test(
    "Patterns that need exponential time in a backtracking engine match quickly",
    arguments: [
      "(a+)+b", "(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*a){20}b", "((a+)*)*b", "(?:a?){30}a{30}b",
      "(?=(a+)+b).*", "(?:(?=.*b)a)*b", "(?=.*(?=.*(?=.*(?=.*(?=.*b))))).*",
    ])
  func exponential(_ pattern: String) throws {
    let expression = try RegularExpression(pattern, options: [])
    #expect(try !expression.matches(String(repeating: "a", count: 40)))
    #expect(try !expression.matches(String(repeating: "a", count: 40) + "é"))
    _ = try expression.matches(String(repeating: "a", count: 39) + "b")
  }

  @Test(
    "A match that takes too many steps throws matchTooLong",
    .enabled(if: LongRun.isOptimized, "takes a minute without optimisation"))
  func tooManySteps() throws {
    let expression = try RegularExpression("(?:(?=.*x)[a-z]{0,50})*", options: [])
    let text = String(repeating: "abcdefghij", count: 3_000) + "x"
    let error = #expect(throws: PredicateEvaluationError.self) { try expression.matches(text) }
    #expect(error?.code == .matchTooLong)
    // Without lookahead, the same match takes linear time.
    #expect(try matches("(?:[a-z]{0,50})*", text))
  }

  @Test(
    "Parsing rejects a malformed pattern and unsupported constructs",
    arguments: [
      "(", ")", "[", "[a", "a**", "*a", "+", "(a)\\1", "\\k<x>", "(?<=a)b", "(?<!a)b", "(?>a)", "a++", "a*+",
      "a{2,1}", "\\", "\\y", "[b-a]", "[a-\\d]", "\\p{Klingon}", "[[:nonsense:]]", "(?z)a", "\\x{}",
      "(?#abc", "(?<abc", "(?P<abc", "\\u{e9", "\\p{Lu", "[\\u{41", "[a&&", "[a--", "[a&&[b", "(?i", "(?",
      "\\u{110000}",
      "(a{1000}){1000}", String(repeating: "(", count: 60) + String(repeating: ")", count: 60),
      String(repeating: "a", count: 10_001),
    ])
  func refused(_ pattern: String) {
    let error = #expect(throws: PredicateEvaluationError.self) { try matches(pattern, "a") }
    #expect(error?.code == .invalidPattern)
    #expect("\(String(describing: error))".count < 500)
  }

  @Test("Parsing a pattern with huge repetitions of an empty group terminates")
  func repeatedNothing() throws {
    #expect(try matches("(((){999999999}){999999999}){999999999}a", "a"))
  }

  @Test("Each construct of the syntax matches the expected texts")
  func parts() throws {
    let cases: [(String, String, Bool)] = [
      ("", "", true), ("", "a", false), ("a|b|", "", true), ("a{2,3}", "aaa", true),
      ("a{2,3}", "aaaa", false),
      ("a{2}", "aa", true), ("a{2,}", "a", false), ("a{,2}", "aa", true), ("a{", "a{", true),
      ("a??b", "b", true),
      ("(?i)ABC", "abc", true), ("AB(?i)c", "ABC", true), ("AB(?i)c", "abc", false), ("(?i:A)B", "aB", true),
      ("(?i:A)B", "ab", false), ("a(?#note)b", "ab", true),
      (".", "\n", false), ("(?s).", "\n", true), ("a$(?s:.)^b", "a\nb", false),
      ("(?m)a$(?s:.)^b", "a\nb", true),
      ("\\Qa.b\\E", "a.b", true), ("\\Qa.b\\E", "axb", false), ("\\bfoo\\b.*", "foo bar", true),
      ("foo\\B.*", "foo bar", false), ("(?=.*\\d)(?=.*[a-z]).{4,}", "abc1", true),
      ("(?=.*\\d)(?=.*[a-z]).{4,}", "abcd", false), ("(?!.*\\d).*", "abcd", true),
      ("(?!.*\\d).*", "ab1d", false),
      ("[^a-c]+", "xyz", true), ("[^a-c]+", "xbz", false), ("[a-z&&[^aeiou]]+", "xyz", true),
      ("[a-z&&[^aeiou]]+", "xaz", false), ("[\\w--\\d]+", "ab", true), ("[\\w--\\d]+", "a1", false),
      ("[a-z&&[^b]&&[^c]]+", "ad", true), ("[a-z&&[^b]&&[^c]]", "b", false),
      ("[a-z&&[^b]&&[^c]]", "c", false), ("[a-z&&[^b]&&[^c]]", "&", false), ("[a-e--b--[cd]]+", "ae", true),
      ("[a-e--b--[cd]]", "d", false), ("\\Qa.b", "a.b", true),
      ("[]a]+", "]a", true), ("[a-]+", "a-", true), ("[\\-a]+", "-a", true), ("[[:alpha:]]+", "aé", true),
      ("[[:^alpha:]]+", "12", true), ("\\p{Lu}\\p{Ll}+", "Ab", true), ("\\P{L}+", "12", true),
      ("\\x41", "A", true),
      ("\\u00e9", "e\u{301}", true), ("\\u{1F600}", "\u{1F600}", true), ("\\t\\n\\r", "\t\n\r", true),
      (".", "\r\n", false), ("\\R", "\r\n", true), ("\\X", "👨‍👩‍👧", true), (".", "👨‍👩‍👧", true),
      ("é", "e\u{301}", true),
      ("[à-ÿ]", "é", true), ("[a-z]", "e\u{301}", false), ("(?<year>\\d{4})-(?P<m>\\d\\d)", "2024-05", true),
      ("\\s\\S\\h", " x\t", true), ("a\\.b", "a.b", true), ("a\\.b", "axb", false), ("\\Aab\\z", "ab", true),
    ]
    for (pattern, text, expected) in cases {
      #expect(try matches(pattern, text) == expected, "\(pattern) on \(text.debugDescription)")
    }
    #expect(try matches("straße", "STRASSE", .caseInsensitive) == false)
    #expect(try matches("É[a-c]+", "ébC", .caseInsensitive))
    #expect(try matches("resume", "résumé", .diacriticInsensitive))
    #expect(try matches("[e]+", "éè", .diacriticInsensitive))
  }

  @Test("Escapes of a character's scalars match the character, even in sets")
  func joinedEscapes() throws {
    let cases: [(String, String, Bool)] = [
      ("a\\r\\nb", "a\r\nb", true), ("\\x0D\\x0A", "\r\n", true), ("\\r\\n", "\n", false),
      ("e\\u0301", "é", true), ("\\u0065\\u0301", "é", true), ("\\Qe\\E\\u{301}", "é", true),
      ("(?:a\\r\\n)+", "a\r\na\r\n", true), ("\\r\\n{2}", "\r\n\r\n", true), ("\\r\\n?", "", true),
      ("xe\\u0301*", "xéé", true), ("xe\\u0301*", "x", true), ("e\\u0301?", "e", false),
      ("\\r(?#note)\\n", "\r\n", false), ("\\u{1F1E9}\\u{1F1EA}", "🇩🇪", true),
      ("[\\r\\n]+", "\r\n\n\r", true), ("[\\n\\r]+", "\r\n", true), ("[^\\n\\r]*", "a\r\nb", false),
      ("[^\\r\\n]", "\r\n", false), ("[\r\n]+", "\n\r\n", true), ("[\\x00-\\x1F]", "\r\n", true),
      ("[\\r]", "\r\n", false), ("[e\\u0301x]+", "éx", true), ("[e\\u0301]", "e", false),
      ("\\uD83D\\uDE00", "😀", true), ("[\\uD83D\\uDE00]", "😀", true),
    ]
    for (pattern, text, expected) in cases {
      #expect(try matches(pattern, text) == expected, "\(pattern) on \(text.debugDescription)")
    }
    #expect(try matches("E\\u0301", "é", .caseInsensitive))
    #expect(try matches("r\\u00e9sum\\u00e9", "resume", .diacriticInsensitive))
    #expect(try matches("re\\u0301[\\u00e0-\\u00e9]", "réa", .diacriticInsensitive))
    for pattern in ["\\N{DIGIT ONE}", "\\uD83D", "\\uD83Dx", "\\uD83D\\u0041"] {
      #expect(throws: PredicateEvaluationError.self, "\(pattern)") { try matches(pattern, "1") }
    }
  }

  @Test("Escaped characters match like literal characters in random patterns")
  func escapesAndCharacters() throws {
    var random = SeededGenerator.forTest("escapes in patterns")
    let scalars: [Unicode.Scalar] = [
      "a", "e", "E", "\u{301}", "\u{308}", "\r", "\n", "é", "1", "\u{200D}", "👨", "👧", "\u{1F1E9}",
      "\u{1F1EA}",
      "\u{1112}", "\u{1161}", "\u{11AB}", "\u{FE0F}", "ﬁ",
    ]
    var matched = 0
    for _ in 0..<1_000 {
      func text(_ length: ClosedRange<Int>) -> [Unicode.Scalar] {
        ["x"] + (0..<Int.random(in: length, using: &random)).map { _ in random.pick(scalars) }
      }
      let content = text(1...5)
      let isSet = random.chance(30)
      let quantifier = random.chance(30) ? random.pick(["*", "+", "?", "{2}"]) : ""
      func pattern(_ content: String) -> String { (isSet ? "[" + content + "]" : content) + quantifier }
      let literal = pattern(String(String.UnicodeScalarView(content)))
      let escaped = pattern(content.map { Self.escaped($0, &random) }.joined())
      let options = StringOptions(rawValue: UInt8.random(in: 0...3, using: &random))
      let repeated = content + content.suffix(Int.random(in: 0...2, using: &random))
      for scalars in [content, repeated, text(0...3), Array(content.dropFirst())] {
        let text = String(String.UnicodeScalarView(scalars))
        let expected = try matches(literal, text, options)
        if expected { matched += 1 }
        #expect(
          try matches(escaped, text, options) == expected,
          "\(escaped) for \(literal.debugDescription) on \(text.debugDescription), \(options.rawValue)")
      }
    }
    #expect(matched > 500)
  }

  @Test(
    "If diacritics are ignored, escapes in a set match like the literal characters of the folded pattern")
  func foldedSets() throws {
    for text in ["🇪\u{301}🇪", "🇪🇪"] {
      for pattern in [#"[x🇪\u{301}🇪]"#, #"[x🇪\u{301}\u{1f1ea}]"#, #"[\u{1f1ea}\u{301}\u{1f1ea}x]"#] {
        #expect(try matches(pattern, text, .diacriticInsensitive), "\(pattern) on \(text)")
      }
    }
    #expect(try matches(#"[\d\u{301}a]"#, "a", .diacriticInsensitive))
    #expect(try !matches(#"[\d\u{301}]"#, "a", .diacriticInsensitive))
    #expect(try !matches(#"[x🇪\u{301}\u{1f1ea}]"#, "🇪🇪", []))
  }

  private static func escaped(_ scalar: Unicode.Scalar, _ random: inout SeededGenerator) -> String {
    let digits = String(scalar.value, radix: 16)
    let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return "\\u{\(digits)}"
    case 1 where scalar.value < 0x10000: return "\\u" + padded
    case 2 where scalar.value < 0x100: return "\\x" + padded.suffix(2)
    case 3 where scalar == "\r": return "\\r"
    case 3 where scalar == "\n": return "\\n"
    default: return String(Character(scalar))
    }
  }

  @Test("A match of a thousand lookaheads on a million characters throws matchTooLong")
  func manyLookaheads() throws {
    let expression = try RegularExpression("(?:(?=a)){1000}a*", options: [])
    let error = #expect(throws: PredicateEvaluationError.self) {
      try expression.matches(String(repeating: "a", count: 1_000_000))
    }
    #expect(error?.code == .matchTooLong)
  }

  @Test("Each random text, and each of its prefixes, is a pattern or throws invalidPattern")
  func anyText() {
    var random = SeededGenerator.forTest("texts as regular expressions")
    let parts = [
      "(", ")", "[", "]", "{", "}", "?", "*", "+", "|", "^", "$", ".", "\\", "-", "&&", "--", ":", "<", ">",
      "=", "!", "#",
      "a", "1", ",", "i", "u", "p", "x", "Q", "E", "P", "[:", ":]", "é", "\r\n",
    ]
    var readable = 0
    for _ in 0..<3_000 {
      let pattern = (0..<Int.random(in: 1...8, using: &random)).map { _ in random.pick(parts) }.joined()
      for end in pattern.indices + [pattern.endIndex] {
        do {
          _ = try matches(String(pattern[..<end]), "a1")
          readable += 1
        } catch {
          #expect((error as? PredicateEvaluationError)?.code == .invalidPattern, "\(pattern[..<end])")
        }
      }
    }
    #expect(readable > 1_000)
  }

  @Test("Random patterns match the same texts as in the standard library's engine")
  func differential() throws {
    var random = SeededGenerator.forTest("regular expressions")
    var matched = 0
    for _ in 0..<1_500 {
      let pattern = Self.pattern(3, &random)
      // The other engine backtracks, so the texts are short and unlimited repetitions are not
      // nested.
      guard let regex = try? Regex(pattern) else { continue }
      let ignoresCase = random.chance(30)
      let other = ignoresCase ? regex.ignoresCase() : regex
      let expression = try RegularExpression(pattern, options: ignoresCase ? .caseInsensitive : [])
      for _ in 0..<8 {
        let text = Self.text(&random)
        let expected = try other.wholeMatch(in: text) != nil
        if expected { matched += 1 }
        #expect(try expression.matches(text) == expected, "\(pattern) on \(text.debugDescription)")
      }
    }
    #expect(matched > 300)
  }

  private static func text(_ random: inout SeededGenerator) -> String {
    (0..<Int.random(in: 0...5, using: &random)).map { _ in
      random.pick(["a", "b", "B", "1", "_", " ", "é", "e\u{301}", "E", ".", "-", "日"])
    }.joined()
  }

  private static func pattern(_ depth: Int, _ random: inout SeededGenerator) -> String {
    switch Int.random(in: 0..<(depth > 0 ? 10 : 4), using: &random) {
    case 0, 1: return random.pick(["a", "b", "B", "1", "é", "_", "\\.", "日", "-"])
    case 2: return random.pick([".", "\\d", "\\w", "\\s", "\\D", "\\S", "[ab]", "[^a]", "[a-e1]", "[^\\w]"])
    case 3: return random.pick(["", "\\w", "."])
    case 4, 5: return pattern(depth - 1, &random) + pattern(depth - 1, &random)
    case 6: return "(?:" + pattern(depth - 1, &random) + "|" + pattern(depth - 1, &random) + ")"
    case 7: return "(" + pattern(0, &random) + ")" + random.pick(["*", "+", "?", "{2}", "{1,2}", "*?", "??"])
    case 8: return random.pick(["(?=", "(?!"]) + pattern(depth - 1, &random) + ")"
    default: return "(?:" + pattern(1, &random) + ")" + random.pick(["?", "{0,2}", "{2}"])
    }
  }
}
