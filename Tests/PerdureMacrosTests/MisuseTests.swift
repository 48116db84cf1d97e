import Testing

@testable import PerdureMacros

/// The macros' messages for misuse that the source shows. `MacroMisuseTests` in PerdureTests checks
/// the compiler's messages.
@Suite("Diagnostics for misused macros")
struct MisuseTests {
  /// A macro's diagnostics, each as "message @ source". The source is the nine bytes at the
  /// diagnostic's offset. The first line of the source is the macro's attribute.
  func complaints(
    _ source: String, _ macro: String = "EntityMacro", _ role: String = "member",
    in surroundings: String? = nil
  ) -> [String] {
    let attribute = String(source.prefix { $0 != "\n" })
    let reply = Expansion.expand(
      .init(
        typeName: macro, role: role, attribute: SyntaxText(attribute, offset: 100),
        declaration: SyntaxText(source, offset: 100), surroundings: surroundings))
    guard case .expansion(_, let diagnostics) = reply else { return ["no expansion"] }
    return diagnostics.map { diagnostic in
      let rest = source.utf8.dropFirst(diagnostic.offset - 100).prefix(9)
      return diagnostic.message.prefix { $0 != "." } + " @ " + String(decoding: rest, as: UTF8.self)
    }
  }

  func member(_ member: String) -> [String] { complaints("@Entity\nclass A: B {\n\(member)\nvar ok: Int\n}") }

  @Test("A type that cannot be an entity's class is diagnosed")
  func shapes() {
    #expect(
      complaints("@Entity\nclass A: Codable { var a: Int }")
        == ["\"Codable\" is not a class of managed objects @ Codable {"])
    #expect(
      complaints("@Entity\n@MainActor class A: B { var a: Int }") == [
        "Objects stay in the isolation of their context, which need not be the main actor's @ @MainActo"
      ])
    #expect(complaints("@Entity\nactor A { var a: Int }").count == 1)
    #expect(complaints("@Entity\nclass A<T>: B { let a: Int }").count == 1)
  }

  @Test("A second @Entity is diagnosed once and adds nothing")
  func twice() {
    let source = "@Entity\n@Entity(\"x\") class A: B { var a: Int }"
    #expect(complaints(source) == ["A class has one entity @ @Entity(\""])
    let second = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member", attribute: SyntaxText("\n@Entity(\"x\")", offset: 107),
        declaration: SyntaxText(source, offset: 100)))
    #expect(second == .expansion(nil, []))
  }

  @Test(
    "Members of a type that cannot be an entity's class are not marked"
  )
  func membersOfWrongTypes() {
    func mark(_ surroundings: String?) -> Reply {
      Expansion.expand(
        .init(
          typeName: "EntityMacro", role: "memberAttribute", attribute: SyntaxText("@Entity"),
          declaration: SyntaxText("var a: Int"), surroundings: surroundings))
    }
    #expect(mark("@Entity class A: B {}") == .expansion("@Managed", []))
    #expect(mark(nil) == .expansion("@Managed", []))
    for wrong in [
      "@Entity struct A {}", "@Entity class A {}", "@Entity class A<T>: B {}",
      "@Entity @Entity class A: B {}",
    ] {
      #expect(mark(wrong) == .expansion(nil, []), "\(wrong)")
    }
  }

  @Test("A class with an error gets an initializer, so that the compiler reports no second error")
  func initializer() {
    for (source, has) in [
      ("class A: B { let a: Int }", true), ("class A<T>: B {}", true), ("class A: B {}", false),
    ] {
      let reply = Expansion.expand(
        .init(
          typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
          declaration: SyntaxText(source)))
      guard case .expansion(let text?, _) = reply else {
        return #expect(Bool(false), "no expansion of \(source)")
      }
      #expect(text.contains("required init(") == has, "\(source)")
    }
  }

  @Test("A repeated marker is diagnosed")
  func repeatedMarkers() {
    #expect(
      member("@Attribute(.unique) @Attribute(.indexed) var a: Int") == [
        "One @Attribute is enough @ @Attribut"
      ]
    )
    #expect(member("@Relationship @Relationship var a: B?") == ["One @Relationship is enough @ @Relation"])
  }

  @Test("An invalid name of a property is diagnosed")
  func names() {
    #expect(
      member("var _a: Int") == [
        "\"_a\" begins with an underscore, as do the names that Perdure generates @ _a: Int\nv"
      ])
    #expect(
      member("var `a b`: Int") == [
        "\"a b\" is not a name of a property: use letters, digits and underscores @ `a b`: In"
      ])
    for name in ["isDeleted", "objectID", "description", "entity"] {
      #expect(
        member("var \(name): Int").first?.hasPrefix(
          "\"\(name)\" is the name of a member of every managed object")
          == true)
    }
    #expect(member("var größe_2: Int\nvar `default`: Int") == [])
  }

  @Test("Options that contradict each other, the type or the initial value are diagnosed")
  func options() {
    #expect(
      member("@Attribute(.transient, derived: \"b.@count\") var a: Int")
        == ["\"a\" is derived, and so is never stored @ @Attribut"])
    #expect(
      member("@Attribute(derived: \"b.@count\") var a: Int = 5")
        == ["\"a\" is derived, and so has no default @ a: Int = "])
    for option in ["unique", "indexed"] {
      #expect(
        member("@Attribute(.\(option), .transient) var a: Int = 5")
          == ["\"a\" is transient, so no store can compare or find its values @ @Attribut"])
    }
    #expect(
      member("@Relationship(inverse: \"x\", maxCount: 3) var a: B?")
        == ["\"a\" leads to one object at most @ @Relation"])
    #expect(member("@Relationship(inverse: \"x\", minCount: 1) var a: B?") == [])
    #expect(
      member("@Relationship(inverse: \"x\") var a: B? = b")
        == ["\"a\" leads to an object, and has no default @ a: B? = b"])
    #expect(
      member("@Relationship(minCount: 1, maxCount: 3) var a: ToMany<B>\n@Relationship var b: B? = nil") == [])
  }

  @Test("Names of options inside the expression of an argument are not options")
  func optionsWithinExpressions() {
    for innocent in [
      ".maximum(Limits.transient)", ".minimum(least(derived: 1))", ".rules([Rule.unique, .indexed])",
      ".rules(make { .transient })", "wide ? .unique : .indexed", "Rules.transient", "x ? derived : optional",
      "originalName: \".transient\"", ".minimum(x[.transformed])",
    ] {
      let source = "@Attribute(\(innocent)) var a: Int = 1"
      guard let variable = DeclarationScanner.variable(source) else {
        return #expect(Bool(false), "no variable: \(source)")
      }
      #expect(!ManagedProperty.isTransient(variable) && !ManagedProperty.isTransformed(variable), "\(source)")
      #expect(!ManagedProperty.isDerived(variable) && member(source) == [], "\(source)")
      let accessors = ManagedExpansion.accessors(SyntaxText(source))
      #expect(accessors?.contains("get { _get(_Slot.a) }") == true, "\(source)")
      #expect(accessors?.contains("set { _set(_Slot.a, newValue) }") == true, "\(source)")
    }
    for option in [".transient", "AttributeOption.transient", "Perdure.AttributeOption . transient"] {
      for source in [
        "@Attribute(\(option)) var a: Int", "@Attribute(.minimum(f(1, 2)), \(option)) var a: Int",
      ] {
        #expect(DeclarationScanner.variable(source).map(ManagedProperty.isTransient) == true, "\(source)")
      }
    }
  }

  @Test("An isolated property and an optional relationship of a required type are diagnosed")
  func isolation() {
    #expect(
      member("@MainActor var a: Int")
        == ["\"a\" belongs to its object, which stays in its context's isolation @ @MainActo"])
    #expect(
      member("@Relationship(optional: true) var a: B")
        == ["\"a\" always leads to an object, as its type is not optional @ @Relation"])
  }

  @Test("A type whose values cannot be stored is diagnosed")
  func types() {
    for type in ["Any?", "(any P)?", "some P", "AnyObject?"] {
      #expect(member("var a: \(type)").first?.hasPrefix("\"a\" is of an unspecified type") == true, "\(type)")
    }
    for (type, words) in [
      ("UInt", "is a UInt, which is not a type of an attribute"),
      ("Character?", "is a Character, which is not a type"),
      ("Set<Issue>", "is a Set, which no property can be"),
      ("Swift.Set<A.B>?", "is a Set, which no property"),
    ] {
      #expect(member("var a: \(type)").first?.hasPrefix("\"a\" \(words)") == true, "\(type)")
      #expect(
        member("@Transient var a: \(type)") == [] && member("@Attribute(.transient) var a: \(type)") == [])
    }
    #expect(member("@Relationship var a: [Issue]").first?.hasPrefix("\"a\" is an array") == true)
    #expect(member("var a: [Issue]\nvar b: [String: Set<Int>]") == [])
    #expect(member("var a: Int??") == ["\"a\" is optional twice, which cannot be stored @ a: Int??\n"])
  }

  @Test("A marker without an effect is diagnosed")
  func places() {
    let entity = "@Entity\nfinal class A: B {}"
    #expect(complaints("@Attribute(.unique)\nvar a: Int", "MarkerMacro", "peer", in: entity) == [])
    #expect(complaints("@Attribute(.unique)\nvar a: Int", "MarkerMacro", "peer", in: nil) == [])
    #expect(complaints("@Attribute\nfunc a() {}", "MarkerMacro", "peer", in: entity).count == 1)
    #expect(complaints("@Transient\ninit() {}", "MarkerMacro", "peer", in: entity).count == 1)
    #expect(
      complaints("@Attribute\nvar a: Int", "MarkerMacro", "peer", in: "struct S {}") == [
        "@Attribute has an effect only in a class with @Entity @ @Attribut"
      ])
    #expect(
      complaints("@Managed\nvar a: Int", "ManagedMacro", "accessor", in: "class S: ManagedObject {}") == [
        "@Managed has an effect only in a class with @Entity @ @Managed\n"
      ])
    #expect(complaints("@Transient\nvar a = 1", "MarkerMacro", "peer", in: "class S {}") == [])
  }

  @Test("An explicit @Managed is accepted in an entity's class")
  func managed() {
    #expect(member("@Managed var a: Int") == [])
  }
}
