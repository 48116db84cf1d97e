import Testing

@testable import PerdureMacros

@Suite("Expansion of entities and their members")
struct ExpansionTests {
  /// The members that `@Entity` adds, and its diagnostics, each as "message @ source". The source
  /// is the eight bytes at the diagnostic's offset.
  func entity(_ source: String, _ attribute: String = "@Entity") -> (String, [String]) {
    let reply = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member", attribute: SyntaxText(attribute),
        declaration: SyntaxText(source, fileName: "f.swift", offset: 100)))
    guard case .expansion(let text, let diagnostics) = reply else { return ("", ["no expansion"]) }
    let complaints = diagnostics.map { diagnostic in
      let rest = source.utf8.dropFirst(diagnostic.offset - 100).prefix(8)
      return diagnostic.message.prefix { $0 != "." } + " @ " + String(decoding: rest, as: UTF8.self)
    }
    return (text ?? "", complaints)
  }

  func expand(_ type: String, _ role: String, _ source: String) -> String? {
    let request = Request.AttachedExpansion(
      typeName: type, role: role, attribute: SyntaxText("@X"), declaration: SyntaxText(source))
    guard case .expansion(let text, let diagnostics) = Expansion.expand(request), diagnostics.isEmpty else {
      return "refused"
    }
    return text
  }

  @Test("A class gets slots, names, a description, and functions for its to-many properties")
  func golden() {
    let (text, complaints) = entity(
      """
      @Entity("W", isAbstract: false) public final class Worker: Person {
        @Attribute(.unique) public var email: String
        var salary: Double = 0  // a comment
        var born: Date? = nil
        @Relationship(inverse: "members") public var projects: ToMany<Project>
        @Transient var cache: Int = 1
        @Attribute(.transient) var mark: Mark = Mark()
        var upper: String { email }
      }
      """, "@Entity(\"W\", isAbstract: false)")
    #expect(complaints == [])
    #expect(text == Self.workerExpansion)
  }

  static let workerExpansion = """
    @dynamicMemberLookup
    public enum _Slot {
      @inlinable public static var email: Int { Person._Slot._count + 0 }
      @inlinable public static var salary: Int { Person._Slot._count + 1 }
      @inlinable public static var born: Int { Person._Slot._count + 2 }
      @inlinable public static var projects: Int { Person._Slot._count + 3 }
      @inlinable public static var mark: Int { Person._Slot._count + 4 }
      @inlinable public static var _count: Int { Person._Slot._count + 5 }
      @available(*, unavailable, message: "Worker has no property of this name. Its own are: email, salary, born, \
    projects, mark.")
      public static subscript(dynamicMember name: String) -> Int { 0 }
      public static func _names<_Root: Worker>(_ root: _Root.Type) -> [AnyKeyPath: String] {
        var names = Person._Slot._names(root)
        names[\\_Root.email] = "email"
        names[\\_Root.salary] = "salary"
        names[\\_Root.born] = "born"
        names[\\_Root.projects] = "projects"
        names[\\_Root.mark] = "mark"
        return names
      }
      static let _nameTable = Perdure._PropertyNames(_names(Worker.self))
      static let _description: Perdure.EntityDescription = {
        var entity = Perdure._EntityAssembly("W", isAbstract: false)
        entity.add("email", (String).self, .unique)
        entity.add("salary", (Double).self, default: 0)
        entity.add("born", (Date?).self)
        entity.add("projects", (ToMany<Project>).self, inverse: "members")
        entity.addTransient("mark", (Mark).self, default: Mark(), .transient)
        return entity.description(of: "Worker", superclass: Person.self, after: Person._Slot._count)
      }()
    }

    public override class var _entityName: String {
      Perdure._EntityAssembly("W", isAbstract: false).entityName(of: "Worker")
    }

    public override class var entityDescription: Perdure.EntityDescription { _Slot._description }

    public override class var _propertyNamesByKeyPath: [AnyKeyPath: String] {
      _Slot._nameTable.names
    }

    public override class var _lifeCycle: Perdure._LifeCycle { Person._lifeCycle }

    /// Connects an object to `projects`.
    public func addToProjects(_ object: Project) { projects.insert(object) }

    /// Connects objects to `projects`.
    public func addToProjects(_ objects: some Sequence<Project>) {
      for object in objects { projects.insert(object) }
    }

    /// Connects the objects of an `NSSet` or a similar collection to `projects`.
    @_disfavoredOverload
    public func addToProjects(_ objects: some Sequence<Any>) { projects.insert(contentsOf: objects) }

    /// Disconnects an object from `projects`.
    public func removeFromProjects(_ object: Project) { projects.remove(object) }

    /// Disconnects objects from `projects`.
    public func removeFromProjects(_ objects: some Sequence<Project>) {
      for object in objects { projects.remove(object) }
    }

    /// Disconnects the objects of an `NSSet` or a similar collection from `projects`.
    @_disfavoredOverload
    public func removeFromProjects(_ objects: some Sequence<Any>) { projects.remove(contentsOf: objects) }

    /// Inserts a new object and sets its properties. An omitted parameter keeps the value of its
    /// property; an optional property with an initial value gets that value.
    public convenience init(
      context: Perdure.ManagedObjectContext,
      email: String,
      projects: [Project] = []
    ) {
      self.init(context: context)
      self.email = email
      for object in projects { self.projects.insert(object) }
    }
    """

  @Test(
    "A relationship gets a reference to its inverse if the macro can read both names")
  func inverses() {
    func peer(_ source: String) -> String {
      let attribute = source.prefix { $0 != ")" } + ")"
      let request = Request.AttachedExpansion(
        typeName: "MarkerMacro", role: "peer", attribute: SyntaxText(String(attribute)),
        declaration: SyntaxText(source), surroundings: "@Entity class A: B {}")
      guard case .expansion(let text, let diagnostics) = Expansion.expand(request), diagnostics.isEmpty
      else { return "refused" }
      return text ?? ""
    }
    for (type, destination) in [
      ("Order?", "Order"), ("Shop.Order", "Shop.Order"), ("ToMany<Order>", "Order"),
    ] {
      #expect(
        peer("@Relationship(deleteRule: .deny, inverse: \"lines\") var a: \(type)")
          == "private static func _inverseOf_a() { _ = \(destination)._Slot.lines }")
    }
    for source in [
      "@Relationship(deleteRule: .deny) var a: Order?", "@Relationship(inverse: name) var a: Order?",
      "@Relationship(inverse: #\"a\"#) var a: Order?", "@Relationship(inverse: \"a b\") var a: Order?",
      "@Relationship(inverse: nil) var a: Order?", "@Relationship(inverse: \"a\") var a: Optional<Order>",
      "@Relationship(inverse: \"a\") let a: Order?", "@Attribute(derived: \"a\") var a: Int",
    ] {
      #expect(peer(source) == "", "\(source)")
    }
  }

  @Test("The macro lists the overridden hooks, even inside #if, but not in nested types")
  func hooks() {
    func lifeCycle(_ source: String) -> String? {
      entity(source).0.split(separator: "\n").first { $0.contains("_lifeCycle:") }
        .map { String($0.drop { $0 != "{" }) }
    }
    #expect(lifeCycle("final class A: B { var x: Int }") == "{ B._lifeCycle }")
    #expect(lifeCycle("class A: B { var x: Int }") == "{ self == A.self ? B._lifeCycle : .all }")
    #expect(
      lifeCycle(
        """
        final class A: B {
          public override func willSave() { override() }
          #if DEBUG
            override final func validateForInsert() throws {}
          #endif
          func didSave() {}
          override class func awakeFromFetch() {}
          override func awake(fromSnapshotEvents events: SnapshotEventType) {}
          override func `prepareForDeletion`() {}
          override func other() {}
          class C: D { override func awakeFromInsert() {} }
          var text: String { "override func willTurnIntoFault() {}" }
        }
        """)
        == "{ B._lifeCycle.union([.willSave, .prepareForDeletion, .validateForInsert, "
        + ".awakeFromSnapshotEvents]) }")
  }

  @Test("A class without properties still has slots and a description")
  func empty() {
    let (text, complaints) = entity("@Entity class A: ManagedObject {}")
    #expect(complaints == [])
    #expect(
      text.hasPrefix(
        "@dynamicMemberLookup\nenum _Slot {\n  static var _count: Int { ManagedObject._Slot._count + 0 }"))
    #expect(text.contains("    ManagedObject._Slot._names(root)\n  }"))
    #expect(text.contains("    let entity = Perdure._EntityAssembly()\n    return entity.description"))
  }

  @Test(
    "Generated members have the access level of their class",
    arguments: [
      ("open ", "public enum", "@inlinable public static", "open override"),
      ("public ", "public enum", "@inlinable public static", "public override"),
      ("package ", "package enum", "@inlinable package static", "package override"),
      ("", "enum", "static", "override"), ("internal ", "enum", "static", "override"),
      ("private ", "fileprivate enum", "fileprivate static", "fileprivate override"),
    ])
  func access(modifier: String, slots: String, constant: String, overriding: String) {
    let (text, _) = entity("@Entity \(modifier)class A: B { var x: Int }")
    #expect(text.hasPrefix("@dynamicMemberLookup\n\(slots) _Slot {\n  \(constant) var x"))
    #expect(text.contains("\n\n\(overriding) class var entityDescription"))
  }

  @Test("Backticks are kept in code but are not part of a name")
  func backticks() {
    let (text, _) = entity("class A: B { var `default`: ToMany<C> }")
    #expect(text.contains("static var `default`: Int"))
    #expect(text.contains("names[\\_Root.`default`] = \"default\""))
    #expect(text.contains("func addToDefault(_ object: C) { `default`.insert(object) }"))
  }

  @Test("A variable that cannot be managed is diagnosed at its position")
  func refusals() {
    func complaints(_ member: String) -> [String] { entity("class A: B {\n  \(member)\n  var ok: Int\n}").1 }
    #expect(complaints("let a: Int") == ["\"a\" is a constant, which a context cannot load @ let a: I"])
    #expect(
      complaints("var é = 5").map { $0.prefix(25) + "…" } == ["\"é\" needs its type writte…"])
    #expect(
      complaints("var c: Int = 1 { didSet { } }").first?.hasSuffix(" @ didSet {") == true)
    #expect(
      complaints("var d: Int, e: Int") == ["Declare each managed property in a separate \"var\" @ var d: I"]
    )
    #expect(complaints("var (d, e): (Int, Int)").count == 1)
    #expect(
      complaints("@X weak var f: B?") == ["\"f\" is weak, but the context retains its object @ @X weak "]
    )
    #expect(complaints("#if A\n  var g: Int\n  #endif").first?.hasSuffix(" @ var g: I") == true)
    #expect(complaints("let a: Int\n  let b: Int").count == 2)
    #expect(complaints("var h: Int!") == ["\"h\" is implicitly unwrapped @ h: Int!\n"])
    #expect(complaints("@Transient let a: Int = 1") == [])
    #expect(complaints("static let a = 1\n lazy var b = 2\n override var c: Int { didSet {} }") == [])
  }

  @Test("The message about observers contains the code to write instead, with the options of the variable")
  func observers() {
    func message(_ member: String) -> String {
      let reply = Expansion.expand(
        .init(
          typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
          declaration: SyntaxText("class A: B { \(member) }")))
      guard case .expansion(_, let found) = reply, found.count == 1 else { return "\(reply)" }
      return found[0].message
    }
    let start = "\"a\" has observers, which would not be called when the context changes it. "
    let setter = "willChangeValue(forKey: \"a\"); primitiveA = newValue; didChangeValue(forKey: \"a\")"
    #expect(
      message("@Attribute(.unique) var a: String? { didSet { n += 1 } }") == start
        + "Write accessors instead: @Attribute(.unique) var a: String? { get { primitiveA } set { \(setter) } }. "
        + "Or mark the property @Transient.")
    #expect(
      message("var a: String = \"\" { willSet {} didSet {} }") == start
        + "Write accessors instead: @Attribute var a: String { get { primitiveA } set { \(setter) } }. "
        + "Set the initial value in awakeFromInsert(). Or mark the property @Transient.")
    for member in [
      "@Relationship(inverse: \"b\") var a: C? { didSet {} }", "var a: ToMany<C> { didSet {} }",
      "@Attribute(.composite) var a: C? { didSet {} }",
      "@Attribute(.transformed(by: \"T\")) var a: C? { didSet {} }",
    ] {
      #expect(
        message(member) == start
          + "React to changes in willSave(), or in an observer of the context: context.observe { … }. Or mark the "
          + "property @Transient.")
    }
  }

  @Test("Contradictory markers and types are diagnosed at their positions")
  func contradictions() {
    func complaint(_ member: String) -> String? {
      let found = entity("class A: B {\n  \(member)\n  var ok: Int\n}").1
      return found.count == 1 ? found[0] : found.isEmpty ? nil : "\(found)"
    }
    #expect(
      complaint("@Attribute(.unique) var a: Int { 1 }")
        == "\"a\" is computed, so Perdure does not manage it @ @Attribu")
    #expect(
      complaint("@Transient @Relationship var a: B?")
        == "\"a\" is marked @Transient, so Perdure does not manage it @ @Relatio")
    #expect(complaint("@Attribute static var a = 1")?.hasPrefix("\"a\" is static, so") == true)
    #expect(complaint("@Attribute lazy var a = 1")?.hasPrefix("\"a\" is lazy, so") == true)
    #expect(
      complaint("@Attribute @Relationship var a: B?")
        == "\"a\" is marked as attribute and as relationship @ @Relatio")
    #expect(complaint("@Attribute var a: ToMany<B>") == "\"a\" leads to objects @ @Attribu")
    #expect(
      complaint("@Relationship(inverse: \"b\") var a: String?")
        == "\"a\" is a value, not an object @ @Relatio")
    #expect(
      complaint("var a: Perdure.ToMany<B>?")
        == "\"a\" is never nil, with or without objects in it @ a: Perdu")
    #expect(complaint("var a: ToMany<B> = []") == "\"a\" begins empty, and has no default @ a: ToMan")
    #expect(complaint("var a: (Int) -> Int") == "\"a\" is a function, which cannot be stored @ a: (Int)")
    #expect(complaint("var a: (Int, Int)") == "\"a\" is a tuple, which cannot be stored @ a: (Int,")
    #expect(complaint("var a: any B") == "\"a\" is of an unspecified type, which cannot be stored @ a: any B")
    #expect(complaint("@Transient var a: (Int) -> Int = { $0 }") == nil)
    #expect(complaint("@Attribute(.transient) var a: (Int) -> Int") == nil)
    #expect(complaint("@Attribute(.indexed) var a: (Int)") == nil)
    #expect(complaint("@Relationship var a: Price?") == nil)
    #expect(
      complaint("#if A\n@Attribute(.unique)\n#endif\nvar a: Int")
        == "@Attribute of \"a\" is inside #if, so the model would depend on the build @ @Attribu")
  }

  @Test("An entity is a class with a superclass and without type parameters")
  func shape() {
    #expect(
      entity("@Entity struct S { }").1 == [
        "@Entity belongs on a class: objects of an entity have identity @ struct S"
      ])
    #expect(
      entity("@Entity class A { }").1.map { $0.prefix(43) } == ["An entity's class inherits from ManagedObje"]
    )
    #expect(entity("@Entity class A<T>: B { }").1.count == 1)
  }

  @Test("A rejected property does not remove the other properties")
  func partial() {
    let (text, complaints) = entity("class A: B { let a: Int\n var b: Int }")
    #expect(complaints.count == 1 && text.contains("static var b: Int"))
  }

  @Test("Only variables that Perdure manages are marked")
  func memberAttribute() {
    func mark(_ source: String) -> String? { expand("EntityMacro", "memberAttribute", source) }
    #expect(mark("@Attribute(.indexed) public var a: Int = 1") == "@Managed")
    for other in [
      "@Transient var a: Int", "var a: Int { 1 }", "static var a: Int", "lazy var a: Int = 1", "func f() {}",
      "let a: Int", "@Managed var a: Int", "init() {}", "var a = 1", "enum E { case a }",
    ] {
      #expect(mark(other) == nil, "\(other)")
    }
  }

  @Test("Accessors use slots, and a derived property has no setter unless it is private(set)")
  func accessors() {
    func accessors(_ source: String) -> String? { expand("ManagedMacro", "accessor", source) }
    #expect(accessors("var a: Int = 5") == "{\n  get { _get(_Slot.a) }\n  set { _set(_Slot.a, newValue) }\n}")
    #expect(accessors("var `in`: Int")?.contains("_Slot.`in`") == true)
    #expect(
      accessors("@Attribute(.indexed, derived: \"x.@count\") var n: Int") == "{\n  get { _get(_Slot.n) }\n}")
    #expect(accessors("@Attribute(derived: \"x.@count\") private(set) var n: Int")?.contains("set {") == true)
    #expect(accessors("@Attribute(originalName: \"derived:\") var n: Int")?.contains("set {") == true)
    #expect(
      accessors("@Attribute(.transient, .length(1...3)) var n: Foo? = Foo()") == """
        {
          get { _transient(_Slot.n, (Foo?).self, default: Foo()) }
          set { _setTransient(_Slot.n, newValue) }
        }
        """)
    #expect(
      accessors("@Attribute(.transient) var n: Date = .now")?.contains(
        "get { _transient(_Slot.n, (Date).self, made: .now) }") == true)
    #expect(
      accessors("@Attribute(.pattern(\".transient\")) var n: String") == """
        {
          get { _get(_Slot.n) }
          set { _set(_Slot.n, newValue) }
        }
        """)
  }

  @Test("Markers add no code, and an unknown macro is diagnosed")
  func others() {
    #expect(expand("MarkerMacro", "peer", "var a: Int") == "")
    #expect(expand("OtherMacro", "peer", "var a: Int") == "refused")
  }
}
