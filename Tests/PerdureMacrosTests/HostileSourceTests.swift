import Testing

@testable import PerdureMacros

/// Scans source that does not parse. The compiler never sends such source, but the plugin must not
/// trap on it.
@Suite("Scanning of invalid source")
struct HostileSourceTests {
  /// Scans a source as a type and as a member, and returns the number of steps of both scans.
  func scan(_ source: String) -> Int {
    var type = DeclarationScanner(source)
    _ = type.typeDeclaration()
    var member = DeclarationScanner(source)
    _ = member.member(isConditional: false)
    return type.steps + member.steps
  }

  @Test(
    "A long repetition is scanned in linear time",
    arguments: [
      "(", ")", "{", "}", "[", "<", ">", ",", ";", ".", "@", "@a(", "@a<", "@a.", "@a::", "#", "##", "# ",
      "#if\n", "#else\n",
      "#endif\n", "#if\n@a\n", "#if a\n.b\n", "#a(", "\"", "\"\\(", "#\"\\#(", "##\"", "\"\"\"\n\\(",
      "#\"\"\" ", "#\"\"\"\\#(", "`", "/", "=/a",
      "(/\\/", "=/(", "#/", "/*", "*/", "//", "$", "class ", "class private ", "var a = ", "var a = b < c, ",
      "var a = b<",
      "a<b,", "a<b>", "var a: B<", "var a: B>=", "var a = { ", "var a = x { @b( } ", "var a = x { @b< } ",
      "var a { @b ",
      "var a\n#if b\n", "var a = b\n#if c\n.d ", "var a = if ", "if {} else ", "switch { ", "= as B<C", "as ",
      "? : ",
      "func ", "override func ", "typealias a = b<", "case ", "#a {} b: ", "enum a: b<c, ", "where ",
      "\u{2200}", "é", "\0",
      "\u{feff}", "private(", "var (", "var `", "-> ", "..", ".?", "!", "\\",
    ])
  func repetitions(piece: String) {
    let count = 150
    for start in ["", "@A class B: C {\n", "var a = "] {
      let source = start + String(repeating: piece, count: count)
      let steps = scan(source)
      #expect(steps <= 6 * source.utf8.count, "\(start)\(piece)")
    }
  }

  static let declaration = """
    @Entity("a {", unique: [["b"]]) public final class `C`<T: P, let N: Int>: Mod.Base<A, [B]>, @unchecked Q where T: R {
      #if A && !B
      @Attribute(.unique, .length(1...3)) var a: String? = nil
      #endif
      #if C
      @D(1)
      #endif
      @Attribute({ a, b in a < b }) public private(set) var b = Dictionary<String, Int>() { didSet { } }
      lazy var c: Int = x ?? { "\\(1 + f("}")) \\\\ " }(); var d: ToMany<E> { get { 1 } }, e = #"" \\#(x)"#, f = /a\\/}/
      override func willSave() async throws -> [T] where T: P { /* } /* */ */ }
      var g = if a, b { 1 } else { 2 }
      typealias U = (A) -> B; enum V: W { case a, b(Int) }
      var h = i.j
        #if K
        .l { 1 } m: { 2 }
        #endif
        .n as? O<P, Q>
      let (r, s): (Int, Int) = (1, 2)
    }
    """

  @Test("A declaration that is cut, or that has a missing or repeated token, is scanned in linear time")
  func mutations() {
    let source = Array(Self.declaration.utf8)
    for (index, token) in Lexer.tokens(of: Self.declaration).enumerated() {
      let before = source[..<token.range.lowerBound]
      let behind = source[token.range.upperBound...]
      let twice = before + source[token.range] + source[token.range] + behind
      for mutant in index % 4 == 0 ? [before, behind] : [before + behind, twice] {
        let steps = scan(String(decoding: mutant, as: UTF8.self))
        #expect(steps <= 6 * mutant.count)
      }
    }
  }
}
