import Testing

@testable import PerdureMacros

@Suite("Expansion of literals of Decimal attributes")
struct DecimalLiteralExpansionTests {
  @Test("A literal with a point becomes an exact Decimal with its digits")
  func values() {
    for (literal, text) in [
      ("0.05", "0.05"), ("-3.133", "-3.133"), ("1_000.5", "1000.5"), ("2.5e3", "2.5e3"), ("1e-3", "1e-3"),
      ("2.5E+3", "2.5e+3"), ("12345678901234567890.12345", "12345678901234567890.12345"),
      (" 0.1 /* tenth */", "0.1"),
    ] {
      for type in ["Decimal", "Decimal?", "Foundation.Decimal", "Optional<Decimal>"] {
        #expect(
          DecimalLiteral.initialValue(literal, type: type) == "Perdure._decimal(\"\(text)\")", "\(literal)")
      }
    }
  }

  @Test("Whole numbers, expressions, other types and literals that no Decimal can represent stay unchanged")
  func others() {
    let digits = String(repeating: "1", count: 38)
    for value in ["5", "-5", "0x1p-2", "price(0.05)", "0.05 + 1", "nil", "1e128", "1e-129", "\(digits).5"] {
      #expect(DecimalLiteral.initialValue(value, type: "Decimal") == value)
    }
    for type in ["Double", "Money", "[Decimal]", "Decimal.Part", "Box<Decimal>"] {
      #expect(DecimalLiteral.initialValue("0.05", type: type) == "0.05")
      #expect(DecimalLiteral.options(".minimum(0.05)", type: type) == ".minimum(0.05)")
    }
    #expect(DecimalLiteral.initialValue(nil, type: "Decimal") == nil)
    #expect(DecimalLiteral.options(nil, type: "Decimal") == nil)
  }

  @Test("Bounds are exact at any depth, and the other arguments stay as they are")
  func bounds() {
    for (source, expected) in [
      (".minimum(0.05)", ".minimum(.decimal(Perdure._decimal(\"0.05\")))"),
      (
        ".unique, .minimum( -0.5 ), .maximum(1e3), originalName: \"é .minimum(0.1)\"",
        ".unique, .minimum( .decimal(Perdure._decimal(\"-0.5\")) ), .maximum(.decimal(Perdure._decimal(\"1e3\"))), "
          + "originalName: \"é .minimum(0.1)\""
      ),
      (
        ".rules([.maximum(9.99), .predicate(format: \"SELF != 0.5\")])",
        ".rules([.maximum(.decimal(Perdure._decimal(\"9.99\"))), .predicate(format: \"SELF != 0.5\")])"
      ),
      (".minimum(1), .maximum(.decimal(x)), .minimum(0.1 + y)", nil), (".minimum(", nil),
      ("minimum(0.1)", nil),
    ] as [(String, String?)] {
      #expect(DecimalLiteral.options(source, type: "Decimal?") == expected ?? source)
    }
  }

  @Test("Defaults and bounds of attributes are exact in descriptions, initializers, accessors and composites")
  func places() {
    let (text, complaints) = ExpansionTests().entity(
      """
      class A: B {
        @Attribute(.minimum(0.05)) var price: Decimal = 0.10
        var tax: Decimal? = 0.19
        var weight: Double = 0.5
      }
      """)
    #expect(complaints == [])
    for part in [
      "entity.add(\"price\", (Decimal).self, default: Perdure._decimal(\"0.10\"), "
        + ".minimum(.decimal(Perdure._decimal(\"0.05\"))))",
      "static var _defaultOf_tax: Decimal? { Perdure._decimal(\"0.19\") }",
      "entity.add(\"weight\", (Double).self, default: 0.5)",
    ] {
      #expect(text.contains(part), "\(text)")
    }
    let accessors = ExpansionTests().expand(
      "ManagedMacro", "accessor", "@Attribute(.transient) var n: Decimal = 0.1")
    #expect(accessors?.contains("(Decimal).self, default: Perdure._decimal(\"0.1\")") == true)
    let reply = Expansion.expand(
      .init(
        typeName: "CompositeMacro", role: "extension", attribute: SyntaxText("@Composite"),
        declaration: SyntaxText("struct Money { @Attribute(.maximum(9.99)) var amount: Decimal }")))
    guard case .expansion(let composite?, _) = reply else { return #expect(Bool(false), "no expansion") }
    #expect(composite.contains(".maximum(.decimal(Perdure._decimal(\"9.99\")))"))
  }
}
