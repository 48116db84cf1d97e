import Testing

@testable import PerdureMacros

@Suite("Expansion of properties in extensions and in bases")
struct PropertiesExtensionTests {
  private func expand(
    _ macro: String, _ source: String, _ role: String = "member", in surroundings: String? = nil
  ) -> (text: String, complaints: [String]) {
    let attribute = source.prefix { !"\n ".contains($0) }
    let reply = Expansion.expand(
      .init(
        typeName: macro, role: role, attribute: SyntaxText(String(attribute)),
        declaration: SyntaxText(source), surroundings: surroundings))
    guard case .expansion(let text, let diagnostics) = reply else { return ("", ["no expansion"]) }
    let complaints = diagnostics.map { diagnostic in
      "\(diagnostic.message.prefix { $0 != "." }) @ "
        + String(decoding: source.utf8.dropFirst(diagnostic.offset).prefix(8), as: UTF8.self)
    }
    return (text ?? "", complaints)
  }

  @Test("An extension gets slots after those of its class, and functions for the class's code")
  func golden() {
    let (text, complaints) = expand(
      "EntityPropertiesMacro",
      """
      @EntityProperties extension Shop.User {
        @Attribute(.unique) public var login: String?
        @Attribute(.composite) var home: Home
        var count: Int { 0 }
        var age: Int16 = 3
        @Fetched("age > 3") var old: [User]
      }
      """)
    #expect(complaints == [])
    #expect(
      text == """
        enum _ExtensionSlot {
          static var login: Int { Shop.User._ExtensionBase._count + 0 }
          static var home: Int { Shop.User._ExtensionBase._count + 1 }
          static let _endOf_home: Int = Shop.User._ExtensionBase._count + 1 + Perdure._EntityAssembly._width((Home).self)
          static var age: Int { _endOf_home + 0 }
          static var _count: Int { _endOf_home + 1 }
          static func _names<_Root: Shop.User>(_ names: inout [AnyKeyPath: String], _ root: _Root.Type) {
            names[\\_Root.login] = "login"
            names[\\_Root.home] = "home"
            names[\\_Root.age] = "age"
          }
          static func _describe(_ entity: inout Perdure._EntityAssembly, _ type: Perdure._ExtensionOf<Shop.User>) {
            Shop.User._ExtensionBase._accept(type)
            entity.add("login", (String?).self, .unique)
            entity.addComposite("home", (Home).self, .composite)
            entity.add("age", (Int16).self, default: 3)
            entity.addFetched("old", of: ([User]).self, "age > 3")
          }
        }
        """)
  }

  @Test("If a class announces an extension, the class counts, names and describes the extension's properties")
  func announced() {
    let reply = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member",
        attribute: SyntaxText("@Entity(\"U\", propertiesInExtension: true)"),
        declaration: SyntaxText("@Entity public class User: Person { public var a: Int }")))
    guard case .expansion(let text?, let diagnostics) = reply else { return #expect(Bool(false)) }
    #expect(diagnostics.isEmpty)
    for line in [
      "  @inlinable public static var _ownCount: Int { Person._Slot._count + 1 }\n",
      "  public static var _count: Int { User._ExtensionSlot._count }\n",
      "    User._ExtensionSlot._names(&names, root)\n",
      "    User._ExtensionSlot._describe(&entity, Perdure._ExtensionOf<User>())\n",
      "enum _ExtensionBase {\n  static var _count: Int { User._Slot._ownCount }\n",
    ] { #expect(text.contains(line), "\(line)\(text)") }
    #expect(!text.contains("unavailable"))
  }

  @Test("The accessors of a variable use the slots of the declaration that contains it")
  func accessors() {
    let head = "@EntityProperties extension User {}"
    let accessors = expand("ManagedMacro", "@Managed var a: Int", "accessor", in: head)
    #expect(
      accessors.text == "{\n  get { _get(_ExtensionSlot.a) }\n  set { _set(_ExtensionSlot.a, newValue) }\n}")
    let mark = expand("EntityPropertiesMacro", "var a: Int", "memberAttribute", in: head)
    #expect(mark.text == "@Managed" && mark.complaints == [])
    #expect(expand("EntityPropertiesMacro", "var a: Int { 1 }", "memberAttribute", in: head).text == "")
  }

  @Test("Mistakes in an extension and in its class are reported with the remedy")
  func mistakes() {
    #expect(
      expand("EntityPropertiesMacro", "@EntityProperties class A: B { var a: Int }").complaints
        == ["@EntityProperties belongs on an extension @ @EntityP"])
    #expect(
      expand(
        "EntityPropertiesMacro",
        "@EntityProperties extension A { @Attribute var a: Int { get { 1 } set {} } }"
      )
      .complaints == ["\"a\" has its own accessors, so an extension cannot contain it @ @Attribu"])
    #expect(
      expand("EntityPropertiesMacro", "@EntityProperties extension A { let a: Int }").complaints
        == ["\"a\" is a constant, which a context cannot load @ let a: I"])
    let managed = expand("ManagedMacro", "@Managed var a: Int", "accessor", in: "extension A {}")
    #expect(managed.complaints == ["An extension has no stored properties @ @Managed"])
    let reply = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member",
        attribute: SyntaxText("@Entity(propertiesInExtension: yes())"),
        declaration: SyntaxText("@Entity(propertiesInExtension: yes()) class A: B { var a: Int }")))
    guard case .expansion(_, let diagnostics) = reply else { return #expect(Bool(false)) }
    #expect(
      diagnostics.map(\.message).first?.hasSuffix("Write propertiesInExtension: true or false.") == true)
  }

  @Test("A base has slots and adds its properties, and has no entity")
  func base() {
    let (text, complaints) = expand("EntityBaseMacro", "@EntityBase class Base: Root { var a: Int = 1 }")
    #expect(complaints == [])
    #expect(text.contains("static var a: Int { Root._Slot._count + 0 }"))
    #expect(
      text.contains(
        """
        override class func _addProperties(
          to entity: inout Perdure._EntityAssembly, after count: Int
        ) {
          super._addProperties(to: &entity, after: count)
          if Root._Slot._count < count { return }
            entity.add("a", (Int).self, default: 1)
        }
        """), "\(text)")
    #expect(!text.contains("entityDescription") && !text.contains("_entityName") && !text.contains("init("))
  }

  @Test("Mistakes in a base are reported with the remedy")
  func baseMistakes() {
    func complaints(_ source: String) -> [String] { expand("EntityBaseMacro", source).complaints }
    #expect(
      complaints("@EntityBase class A: B { @Relationship(inverse: \"x\") var a: C? }")
        == ["\"a\" has an inverse for one entity, but each subclass has its own entity @ @Relatio"])
    #expect(
      complaints("@EntityBase class A: B { @FetchTemplate static func f() -> FetchRequest<A> }")
        == ["\"f\" fetches objects of one entity, but \"A\" has none @ f() -> F"])
    #expect(
      complaints("@EntityBase struct A {}") == [
        "@EntityBase belongs on a class: objects of an entity have identity @ struct A"
      ])
    // Only one of two attributes reports that they exclude each other.
    #expect(complaints("@EntityBase @Entity class A: B {}") == [])
    #expect(
      expand("EntityMacro", "@Entity @EntityBase class A: B {}").complaints
        == ["@EntityBase is for classes without an entity @ @EntityB"])
  }
}
