import Testing

@testable import PerdureMacros

@Suite("Lexer")
struct LexerTests {
  func texts(_ source: String) -> [String] { Lexer.tokens(of: source).map(\.text) }

  @Test("Comments of all forms are skipped")
  func comments() {
    #expect(texts("a // b { \n c /* d /* e */ \" */ f /// g") == ["a", "c", "f"])
    #expect(texts("a /* never ends") == ["a"])
  }

  @Test(
    "A string literal is one token",
    arguments: [
      #""a{b""#, #""a \" b""#, #""\(f("}", [1: "x"]) + "y")""#, "\"\"\"\n { \" \"\" \n \\\"\"\" \n\"\"\"",
      ##"#"a \ " b"#"##, ##"#"a \#(f(")")) b"#"##, ###"##"a "# b"##"###, "#\"\"\"\n \"\"\" \\( \n\"\"\"#",
    ])
  func strings(literal: String) {
    let tokens = Lexer.tokens(of: "x = \(literal) ; y")
    #expect(tokens.map(\.text) == ["x", "=", literal, ";", "y"])
    #expect(tokens[2].kind == .literal)
  }

  @Test("A slash begins a regular expression only where an expression may begin")
  func regex() {
    #expect(texts("x = /a{/ + y") == ["x", "=", "/a{/", "+", "y"])
    #expect(texts("x = #/a/b{/#") == ["x", "=", "#/a/b{/#"])
    #expect(texts("x = a / b / c") == ["x", "=", "a", "/", "b", "/", "c"])
  }

  @Test("Each postfix mark is a token, and each run of other operator characters is a token")
  func operators() {
    #expect(
      texts("a: Int? = b! ?? c ? d : e") == [
        "a", ":", "Int", "?", "=", "b", "!", "??", "c", "?", "d", ":", "e",
      ])
    #expect(texts("a<B<C>>?") == ["a", "<", "B", "<", "C", ">>?"])
    #expect(texts("1.5e-3 0xFp+2 1_000") == ["1.5e-3", "0xFp+2", "1_000"])
  }

  @Test("Words may be in any script or in backticks, or begin with # or $")
  func words() {
    #expect(texts("größe `default` #if $0 名前") == ["größe", "`default`", "#if", "$0", "名前"])
    #expect(Lexer.tokens(of: "#if").map(\.kind) == [.pound])
  }

  @Test("A token records whether it begins a line, and whether space precedes it")
  func lines() {
    let tokens = Lexer.tokens(of: "a b\nc/*\n*/d /* */ e // \n f")
    #expect(tokens.map(\.startsLine) == [true, false, true, true, false, true])
    #expect(tokens.map(\.hasSpaceBefore) == [true, true, true, true, true, true])
  }

  @Test("Arbitrary source yields ordered tokens within the source")
  func anything() {
    let pieces = [
      "\"", "#", "\\", "(", ")", "{", "}", "/", "*", "`", "é", "\n", "a", "1", ".", "\u{0}", "<", "?",
    ]
    var state: UInt64 = 7
    for _ in 0..<2_000 {
      var source = ""
      for _ in 0..<12 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        source += pieces[Int(state >> 33) % pieces.count]
      }
      var end = 0
      for token in Lexer.tokens(of: source) {
        #expect(token.range.lowerBound >= end && !token.range.isEmpty, "\(source.debugDescription)")
        end = token.range.upperBound
      }
      #expect(end <= source.utf8.count)
      _ = DeclarationScanner.type(source)
      _ = DeclarationScanner.variable("var " + source)
      _ = DeclarationScanner.type("@A class C: D { var a: " + source)
      _ = DeclarationScanner.attribute("@" + source)
    }
  }
}
