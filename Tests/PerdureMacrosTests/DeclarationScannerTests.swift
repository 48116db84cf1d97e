import Testing

@testable import PerdureMacros

@Suite("Scanner of declarations")
struct DeclarationScannerTests {
  /// The variables of a class body as "name: type = initializer".
  func variables(_ body: String) -> [String] {
    DeclarationScanner.type("class C: D {\n\(body)\n}").variables.map { variable in
      variable.bindings.map { binding in
        var text = binding.name ?? "?"
        if let type = binding.type { text += ": " + type }
        if let initializer = binding.initializer { text += " = " + initializer }
        switch binding.accessors {
        case .none: break
        case .computed(let isSettable): text += isSettable ? " {get set}" : " {}"
        case .observers: text += " {did}"
        }
        return text
      }.joined(separator: ", ")
    }
  }

  @Test("The head of a type has modifiers, a name and inherited types")
  func head() {
    let type = DeclarationScanner.type(
      "/* x */ @Entity(\"a {\") @available(macOS 15, *)\npublic final class `Class`<T>: Mod.Base<A, B>, @unchecked Sendable\n where T: X { }"
    )
    #expect(type.modifiers == ["public", "final"])
    #expect(type.keyword == "class" && type.name == "Class" && type.isGeneric)
    #expect(type.inheritance == ["Mod.Base<A, B>", "Sendable"])
    #expect(DeclarationScanner.type("struct S {}").keyword == "struct")
    #expect(DeclarationScanner.type("class A { }").inheritance == [])
    #expect(
      DeclarationScanner.type("nonisolated(unsafe) open class A: B{}").modifiers == [
        "nonisolated(unsafe)", "open",
      ])
  }

  @Test("The scanner distinguishes computed variables with and without a setter")
  func settable() {
    #expect(
      variables(
        """
        var a: Int { get { 1 } set { b = newValue } }
        var b: Int { get { 1 } nonmutating set(value) { get { value } } }
        var c: Int { @inline(never) get throws { 1 } }
        var d: Int { get { 1 } }
        var e: Int { set(1); return get { 2 } }
        var f: Int { _read { yield x } _modify { yield &x } }
        """) == ["a: Int {get set}", "b: Int {get set}", "c: Int {}", "d: Int {}", "e: Int {}", "f: Int {}"])
  }

  @Test("The scanner finds the end of each variable's type")
  func types() {
    #expect(
      variables(
        """
        var a: Int
        var b: [String: (Int, Bool) -> Void]?
        var c: ToMany<Project>
        var d: Dictionary<String, Array<Int>>?  // comment {
        var e: any P &
          Q
        var f: (Int) async throws
          -> Int; var g: A.B?
        var h: Optional<Int>
        private(set) var i: `Type`
        """) == [
          "a: Int", "b: [String: (Int, Bool) -> Void]?", "c: ToMany<Project>",
          "d: Dictionary<String, Array<Int>>?", "e: any P &\n  Q", "f: (Int) async throws\n  -> Int",
          "g: A.B?",
          "h: Optional<Int>", "i: `Type`",
        ])
  }

  @Test("The scanner finds the end of each initial value")
  func initializers() {
    #expect(
      variables(
        """
        var a: Int = 1 + 2 // + 3
        var b: String = "}" ; var c: Int = -5
        var d: Data = { [1] in Data() }()
        var e: Int = x
          .map { $0 }
          ?? 3
        var f: Bool = a ? b :
          c
        var g: [Int] = [1, 2], h: Int = 4
        var i: Int = f { } other: { }
        var j = Array<Int>.self
        var k: Int = 5 as
          Int
        var l: String = \"\"\"
          { "
          \"\"\"
        """) == [
          "a: Int = 1 + 2", "b: String = \"}\"", "c: Int = -5", "d: Data = { [1] in Data() }()",
          "e: Int = x\n  .map { $0 }\n  ?? 3", "f: Bool = a ? b :\n  c", "g: [Int] = [1, 2], h: Int = 4",
          "i: Int = f { } other: { }", "j = Array<Int>.self", "k: Int = 5 as\n  Int",
          "l: String = \"\"\"\n  { \"\n  \"\"\"",
        ])
  }

  @Test("Computed variables and observers are distinguished")
  func accessors() {
    #expect(
      variables(
        """
        var a: Int { 1 }
        var b: Int { get { 1 } set { } }
        var c: Int { @inlinable get { 1 } }
        var d: Int { willSet { } }
        var e: Int = 5 { didSet(old) { } }
        var f: Int
        {
          willSets
        }
        var g: Int { }
        """) == [
          "a: Int {}", "b: Int {get set}", "c: Int {}", "d: Int {did}", "e: Int = 5 {did}", "f: Int {}",
          "g: Int {}",
        ])
  }

  @Test("Members other than variables are skipped")
  func otherMembers() {
    #expect(
      variables(
        """
        init(a: Int = { 1 }()) { var x: Int = 0 }
        convenience init?(b: Int) throws { }
        deinit { let y = 1 }
        func f<T: P>(_ a: [Int] = []) -> some Q where T: R { var z: Int }
        var a: Int
        subscript(i: Int) -> Int { get { 1 } set { } }
        typealias T = Dictionary<String, Int>
        struct Inner { var no: Int }
        class Nested: Base { var no: Int }
        class func g() { var no = 1 }
        enum E: String { case one, two }
        static func + (l: C, r: C) -> C { l }
        var b: Int
        #warning("var no: Int")
        @objc(foo:bar:) private final func h() { }
        lazy var c: Int = { 5 }()
        #Preview { var no: Int = 1 }
        class var d: Int { 1 }
        """) == ["a: Int", "b: Int", "c: Int = { 5 }()", "d: Int {}"])
  }

  @Test("A member without a body ends at the end of its line")
  func withoutBody() {
    let type = DeclarationScanner.type(
      "enum E<A: B>: C {\n case a, b(Int)\n case c\n public var x: Int { 1 }\n func f()\n private var y: Int }"
    )
    #expect(type.variables.map { $0.bindings.first?.name } == ["x", "y"] && type.inheritance == ["C"])
  }

  @Test("Attributes and modifiers keep their arguments")
  func attributes() throws {
    let variable = try #require(
      DeclarationScanner.variable(
        "@Attribute(.unique, originalName: \"a)\") @Perdure.Transient @objc\n public private(set) var x: Int")
    )
    #expect(variable.attributes.map(\.name) == ["Attribute", "Transient", "objc"])
    #expect(variable.attribute("Attribute")?.arguments == ".unique, originalName: \"a)\"")
    #expect(variable.attribute("Transient")?.arguments == nil)
    #expect(variable.modifiers == ["public", "private(set)"])
  }

  @Test("Variables inside #if are marked as conditional")
  func conditions() {
    let type = DeclarationScanner.type(
      """
      class C: D {
        #if os(Linux) && !X
        var a: Int
        #if Y
        var b: Int
        #endif
        #else
        var c: Int
        #endif
        var d: Int
      }
      """)
    #expect(type.variables.map(\.isConditional) == [true, true, true, false])
  }

  @Test("A member that is not a variable yields nil")
  func noVariable() {
    #expect(DeclarationScanner.variable("func f() { }") == nil)
    #expect(DeclarationScanner.variable("class C { var a: Int }") == nil)
    #expect(DeclarationScanner.variable("") == nil)
  }
}
