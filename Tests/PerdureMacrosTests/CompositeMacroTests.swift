import Testing

@testable import PerdureMacros

@Suite("Expansion of composite attributes")
struct CompositeMacroTests {
  /// Returns the extension that `@Composite` adds, and each diagnostic as "message @ source". The
  /// message is cut before its first full stop. The source is the nine bytes at the diagnostic's
  /// offset.
  private func composite(_ source: String, extending type: String? = nil) -> (String?, [String]) {
    let reply = Expansion.expand(
      .init(
        typeName: "CompositeMacro", role: "extension", attribute: SyntaxText("@Composite"),
        declaration: SyntaxText(source, fileName: "f.swift", offset: 100), extendedType: type))
    guard case .expansion(let text, let diagnostics) = reply else { return (nil, ["no expansion"]) }
    let complaints = diagnostics.map { diagnostic in
      let rest = source.utf8.dropFirst(diagnostic.offset - 100).prefix(9)
      return diagnostic.message.prefix { $0 != "." } + " @ " + String(decoding: rest, as: UTF8.self)
    }
    return (text, complaints)
  }

  private func complaints(_ member: String) -> [String] {
    composite("struct A {\n\(member)\nvar ok: Int\n}").1
  }

  @Test("A struct gets elements, names and conversions in both directions")
  func golden() {
    let (text, complaints) = composite(
      """
      @Composite public struct Address: Hashable {
        @Attribute(.length(1...80)) public var street: String?
        var place: Place = Place()
        var key: UUID = UUID()
        var `class`: Int? = nil
        static let none = Address()
        var line: String { street ?? "" }
        init(street: String?) { self.street = street }
      }
      """, extending: "Outer.Address")
    #expect(complaints == [])
    #expect(text == Self.expansion)
  }

  private static let expansion = """
    extension Outer.Address: Perdure.CompositeAttributeValue {
      public static var compositeElements: [Perdure.PropertyDescription] {
        var elements = Perdure._CompositeAssembly()
        elements.add("street", (String?).self, .length(1...80))
        elements.add("place", (Place).self, default: Place())
        elements.add("key", (UUID).self, made: .newUUID)
        elements.add("class", (Int?).self)
        return elements.elements
      }
      public static var compositeNames: [AnyKeyPath: String] {
        [\\Self.street: "street", \\Self.place: "place", \\Self.key: "key", \\Self.`class`: "class"]
      }
      public init(compositeContent content: Perdure.CompositeContent) {
        self.street = content._get("street", (String?).self)
        self.place = content._get("place", (Place).self)
        self.key = content._get("key", (UUID).self)
        self.`class` = content._get("class", (Int?).self)
      }
      public var compositeContent: Perdure.CompositeContent {
        var content = Perdure.CompositeContent()
        content._set("street", self.street)
        content._set("place", self.place)
        content._set("key", self.key)
        content._set("class", self.`class`)
        return content
      }
    }
    """

  @Test("Slots begin after the superclass's slots and count the width of each composite")
  func slots() {
    let source = """
      @Entity public final class C: B {
        var a: Int
        @Attribute(.composite, originalName: "x") var b: Address?
        var c: Int
        var d: Int
        @Attribute(.composite) var e: Place = Place(code: 1)
      }
      """
    let reply = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
        declaration: SyntaxText(source)))
    guard case .expansion(let text?, let diagnostics) = reply else {
      return #expect(Bool(false), "no expansion")
    }
    #expect(diagnostics == [])
    #expect(
      text.hasPrefix(
        """
        @dynamicMemberLookup
        public enum _Slot {
          @inlinable public static var a: Int { B._Slot._count + 0 }
          @inlinable public static var b: Int { B._Slot._count + 1 }
          static let _endOf_b: Int = B._Slot._count + 1 + Perdure._EntityAssembly._width((Address?).self)
          public static var c: Int { _endOf_b + 0 }
          public static var d: Int { _endOf_b + 1 }
          public static var e: Int { _endOf_b + 2 }
          static let _endOf_e: Int = _endOf_b + 2 + Perdure._EntityAssembly._width((Place).self)
          public static var _count: Int { _endOf_e + 0 }
        """))
    #expect(
      text.contains("    entity.addComposite(\"b\", (Address?).self, .composite, originalName: \"x\")\n"))
    #expect(
      text.contains("    entity.addComposite(\"e\", (Place).self, default: Place(code: 1), .composite)\n"))
    let accessors = Expansion.expand(
      .init(
        typeName: "ManagedMacro", role: "accessor", attribute: SyntaxText("@Managed"),
        declaration: SyntaxText("@Attribute(.composite) var b: Address?")))
    #expect(
      accessors
        == .expansion(
          """
          {
            get { _composite(_Slot.b, (Address?).self) }
            set { _setComposite(_Slot.b, newValue) }
          }
          """, []))
  }

  @Test("@Composite on a class, an enum, a generic struct or a struct without variables is diagnosed")
  func shapes() {
    for (source, place) in [
      ("@Composite final class A { var a: Int }", "class A {"),
      ("@Composite enum A { case a }", "enum A { "), ("@Composite struct A<T> { var a: T }", "struct A<"),
    ] {
      #expect(
        composite(source).1 == [
          "@Composite needs a struct without type parameters, because a composite has fixed elements @ \(place)"
        ])
      #expect(composite(source).0 == nil)
    }
    #expect(
      composite("@Composite struct A { static var a = 1; var b: Int { 1 } }").1
        == ["\"A\" has no stored variable, but a composite needs elements @ struct A "])
  }

  @Test("An invalid element is diagnosed at its position, and the struct stays a composite")
  func elements() {
    #expect(complaints("let a: Int") == ["\"a\" is a constant, which no store can restore @ let a: In"])
    #expect(complaints("lazy var a: Int = 1") == ["\"a\" is lazy, which no store can restore @ lazy var "])
    #expect(
      complaints("@Transient var a: Int = 1")
        == ["\"a\" is a part of the value, and all of it is stored @ @Transien"])
    #expect(complaints("var a, b: Int") == ["Declare each element in a separate \"var\" @ var a, b:"])
    #expect(
      complaints("var a = 1")
        == [
          "\"a\" needs its type written out, for example \"var a: String\": a macro cannot infer it @ a = 1\nvar"
        ])
    #expect(complaints("var a: Int!") == ["\"a\" is implicitly unwrapped @ a: Int!\nv"])
    #expect(complaints("#if X\nvar a: Int\n#endif").first?.hasPrefix("\"a\" is inside #if") == true)
    #expect(complaints("var _a: Int").first?.hasPrefix("\"_a\" is not a name of an element") == true)
    #expect(complaints("var a: Int { didSet {} }\nfunc f() {}\nprivate var b: Int?") == [])
    let (text, _) = composite("struct A { let a: Int }")
    #expect(text?.contains("{\n    fatalError()\n  }") == true && text?.contains("content._get") == false)
  }

  @Test("Markers that only properties of entities may have are diagnosed once each")
  func markers() {
    #expect(
      complaints("@Relationship var a: B?")
        == ["\"a\" is part of a value, but a value leads to no objects @ @Relation"])
    for option in ["unique", "indexed"] {
      #expect(
        complaints("@Attribute(.\(option)) var a: Int").first?
          .hasPrefix("Only an entity that has the value can declare it as \(option)") == true)
    }
    for option in [".transient", ".transformed(by: \"x\")", "derived: \"x\""] {
      #expect(
        complaints("@Attribute(\(option)) var a: Int")
          == ["\"a\" is stored without conversion, like every element of a composite @ @Attribut"])
    }
    #expect(
      complaints("@Attribute(.composite) var a: B")
        == ["The type of \"a\" decides whether it is a composite @ @Attribut"])
    #expect(complaints("@Attribute(.minimum(1)) @Attribute var a: Int").count == 1)
    #expect(complaints("@Attribute var a: Int { 1 }").count == 1)
    #expect(complaints("@Attribute(.minimum(1), originalName: \"b\") var a: Int") == [])
    for option in [".unique", ".transient", ".transformed(by: \"x\")", ".length(1...2)"] {
      let reply = Expansion.expand(
        .init(
          typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
          declaration: SyntaxText("class A: B { @Attribute(.composite, \(option)) var a: C }")))
      guard case .expansion(_, let found) = reply else { return #expect(Bool(false), "no expansion") }
      #expect(found.count == 1 && found[0].message.contains("\"a\" is"), "\(found)")
    }
  }

  @Test(".elementDefaults is valid only for an optional composite without an initial value")
  func elementDefaults() {
    func problems(_ member: String) -> [String] { MisuseTests().member(member) }
    #expect(problems("@Attribute(.composite, .elementDefaults) var a: C?") == [])
    #expect(problems("@Attribute(.composite, .elementDefaults) var a: Optional<C>") == [])
    #expect(
      problems("@Attribute(.elementDefaults) var a: C?")
        == ["\"a\" is not marked as a composite, and has no elements @ @Attribut"])
    #expect(
      problems("@Attribute(.composite, .elementDefaults) var a: C")
        == ["\"a\" begins with the initial values of its elements, as its type is not optional @ @Attribut"])
    #expect(
      problems("@Attribute(.composite, .elementDefaults) var a: C? = C()")
        == ["\"a\" has an initial value, and begins with it @ @Attribut"])
    #expect(complaints("@Attribute(.elementDefaults, originalName: \"b\") var a: C?") == [])
    #expect(
      complaints("@Attribute(.elementDefaults) var a: Int?")
        == ["\"a\" is an attribute, and has no elements @ @Attribut"])
    #expect(complaints("@Attribute(.elementDefaults) var a: C = C()").count == 1)
    let (text, _) = composite("struct A { @Attribute(.elementDefaults) var a: C? }")
    #expect(text?.contains("elements.add(\"a\", (C?).self, .elementDefaults)") == true)
  }

  @Test("The extended type in a request includes the enclosing types")
  func extendedType() {
    let message: JSON = [
      "expandAttachedMacro": [
        "macro": ["moduleName": "PerdureMacros", "typeName": "CompositeMacro", "name": "Composite"],
        "macroRole": "extension", "attributeSyntax": ["source": "@Composite"],
        "declSyntax": ["source": "struct A { var a: Int }"], "extendedTypeSyntax": ["source": "Outer.A"],
      ]
    ]
    guard case .expandAttached(let request) = Request(message) else {
      return #expect(Bool(false), "not read")
    }
    #expect(request.extendedType == "Outer.A")
  }
}
