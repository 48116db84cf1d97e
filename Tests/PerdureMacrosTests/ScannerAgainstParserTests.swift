import Testing

@testable import PerdureMacros

/// Source that the scanner once read differently from SwiftParser. `make scanner-comparison`
/// searches for more such source.
@Suite("Agreement of the scanner and SwiftParser")
struct ScannerAgainstParserTests {
  func type(_ body: String) -> TypeSyntax { DeclarationScanner.type("class C: D {\n\(body)\n}") }

  /// The variables of a class body as "name: type = initializer".
  func variables(_ body: String) -> [String] { DeclarationScannerTests().variables(body) }

  @Test(
    "Generic arguments with commas in an initial value are not comparisons",
    arguments: [
      "a = Dictionary<String, Int>()", "a = Dictionary<String, Array<Int>>(), b = Set<A>.self",
      "a = Foo<A, B>?.none, b = 3", "a = [Foo<A, B>](), b = Foo<(A, B) -> C, [D: E]> { 1 }",
      "a = x as? Foo<A, B> ?? nil", "a = x is Foo<A, B>, b = x as [Foo<A, B>: C]", "a = Foo<-1, B>.self",
      "a = Foo < Int , String > ( )", "a = Foo<A.B?, any P & Q, inout (A, B) throws -> C>(1)",
    ])
  func genericArguments(bindings: String) {
    #expect(variables("var \(bindings)\nvar c: Int") == [bindings, "c: Int"])
  }

  @Test("A comma ends a comparison")
  func comparisons() {
    #expect(variables("var a = b < c, d = 3 > 4") == ["a = b < c, d = 3 > 4"])
    #expect(variables("var a = b<c, d = e>f, g = h > (i)") == ["a = b<c, d = e>f, g = h > (i)"])
    #expect(variables("var a = b < c\nvar d: Foo<Int> = e") == ["a = b < c", "d: Foo<Int> = e"])
    #expect(variables("var a = 0..<b, c = d > (e)") == ["a = 0..<b, c = d > (e)"])
    #expect(variables("var a = b < (c < d), e = f > (g)") == ["a = b < (c < d), e = f > (g)"])
  }

  @Test("Attributes inside #if belong to the unconditional variable after #endif")
  func conditionalAttributes() throws {
    let body = """
      #if A
      @B
      #elseif C
        #if D
        @E(1)
        #endif
      #else
      @F
      #endif
      @G var a: Int
      #if A
      @B var b: Int
      #endif
      var c: Int
      """
    let variables = type(body).variables
    #expect(variables.map(\.isConditional) == [false, true, false])
    #expect(variables[0].attributes.map(\.name) == ["B", "E", "F", "G"])
    #expect(variables[0].attributes.map(\.isConditional) == [true, true, true, false])
    #expect(variables[1].attributes.map(\.isConditional) == [false])
    let alone = try #require(DeclarationScanner.variable("#if A\n@B\n#endif\nvar a: Int"))
    #expect(alone.attributes.map(\.name) == ["B"] && alone.bindings.first?.name == "a")
  }

  @Test("Member accesses inside #if belong to the preceding expression, but declarations do not")
  func postfixConditions() {
    let value = "x\n  #if A\n    #if B\n    .b { a in a }\n    #endif\n  #else\n  .c(1, 2)\n  #endif\n  .d"
    #expect(variables("var a = \(value)\nvar e: Int") == ["a = \(value)", "e: Int"])
    #expect(variables("var a = x\n#if A\nvar b: Int\n#endif") == ["a = x", "b: Int"])
  }

  @Test("if and switch expressions are read as initial values")
  func conditionalValues() {
    let value = "if let b, c { 1 } else if d { 2 }\n  else { 3 }"
    #expect(variables("var a = \(value), e = 4") == ["a = \(value), e = 4"])
    #expect(variables("var a = switch b { case 1: 2 default: 3 }, c = 4").first?.hasSuffix(", c = 4") == true)
    #expect(variables("var a = b.if, c = d.switch { 1 }") == ["a = b.if, c = d.switch { 1 }"])
  }

  @Test("A keyword that is a member's name does not continue an expression")
  func memberNames() {
    #expect(variables("var a: S = .any\nvar b: S = .is\nvar c: A.some\nvar d: Int").count == 4)
    #expect(
      variables("var a: Int = b as!\n  Int\nvar c = try?\n  d") == ["a: Int = b as!\n  Int", "c = try?\n  d"])
  }

  @Test("A labelled trailing closure may begin a line")
  func labelledClosures() {
    #expect(variables("var a = b { 1 }\n  c: { 2 }\nvar d: Int") == ["a = b { 1 }\n  c: { 2 }", "d: Int"])
  }

  @Test("Operators may begin with a dot or contain characters beyond ASCII")
  func operators() {
    for value in ["b ∪ c\n  ∩ d", "0 ..<\n  5", "b\n  .+ c", "b...", "b .==\n  c"] {
      #expect(variables("var a = \(value)\nvar e: Int") == ["a = \(value)", "e: Int"])
    }
    #expect(variables("static func ∪ (l: C, r: C) -> C { l }\nvar größe名: Int") == ["größe名: Int"])
  }

  @Test("A name may contain $, be in backticks, or be an underscore")
  func names() {
    let scanned = type("var _$a = B()\nvar `a \"b\"`: Int\nvar _: Int = 3").variables
    #expect(scanned.map { $0.bindings.first?.name } == ["_$a", "a \"b\"", nil])
  }

  @Test("An equal sign ends a type, even without a space before it")
  func gluedEqualSign() {
    #expect(
      variables("var a: Set<Int>=[]\nvar b: Int?=nil\nvar c: Array<Int>?=nil\nvar d: Int=5") == [
        "a: Set<Int> = []", "b: Int? = nil", "c: Array<Int>? = nil", "d: Int = 5",
      ])
  }

  @Test("Members may be separated by semicolons")
  func semicolons() {
    #expect(
      variables("func f() {}; var a: Int { 1 }; typealias T = A<B, C>; var b: Int; ; var c: Int") == [
        "a: Int {}", "b: Int", "c: Int",
      ])
    #expect(DeclarationScanner.type("enum E { case a; case b; var c: Int { 1 } }").variables.count == 1)
  }

  @Test("Macros among the members are skipped with all their arguments")
  func macros() {
    #expect(
      variables(
        "#foo<A, B>(1) { var no: Int }\n  other: { var no: Int }\n@A #bar { var no: Int }\nvar a: Int")
        == ["a: Int"])
  }

  @Test("The keyword class is a modifier or declares a class, depending on the next word")
  func classModifier() {
    let scanned = type(
      "class private(set) var a: Int { 1 }\nclass prefix { var no: Int }\nclass override func f() {}\nvar b: Int"
    )
    #expect(scanned.variables.map { $0.bindings.first?.name } == ["a", "b"])
    #expect(scanned.variables[0].modifiers == ["class", "private(set)"])
  }

  @Test(
    "Attributes may have generic arguments, closures as arguments, and a module name before ::"
  )
  func attributes() {
    let scanned = type("@A<B, C>.D<E>(x) @F({ a, b in a < b }) @M::G(1) var a: Int").variables
    #expect(scanned.first?.attributes.map(\.name) == ["D", "F", "G"])
    #expect(scanned.first?.attributes.map(\.arguments) == ["x", "{ a, b in a < b }", "1"])
  }

  @Test("The isolation of an isolated conformance is skipped")
  func isolatedConformances() {
    #expect(
      DeclarationScanner.type("class A: B, nonisolated P, @MainActor Q, @unchecked R {}").inheritance
        == ["B", "P", "Q", "R"])
  }

  @Test("A raw string that contains a quote does not begin a multi-line string")
  func rawQuotes() {
    #expect(variables("var a = #\"\"\"#, b = \"}\"") == ["a = #\"\"\"#, b = \"}\""])
    #expect(variables("var a = \"\\(b /* ) */ + \"}\")\", c = 1") == ["a = \"\\(b /* ) */ + \"}\")\", c = 1"])
  }

  @Test("A regular expression must have balanced parentheses, and must not end with a space")
  func regularExpressions() {
    #expect(variables("var a = f(/, \"}\"), b = c / d / e") == ["a = f(/, \"}\"), b = c / d / e"])
    #expect(variables("var a = f(/a}(b)/), b = 1") == ["a = f(/a}(b)/), b = 1"])
  }

  @Test("Static functions are not overridden hooks")
  func overrides() {
    #expect(
      type("override static func f() {}\noverride class func g() {}\noverride func h() {}")
        .overriddenFunctions == ["h"])
  }
}
