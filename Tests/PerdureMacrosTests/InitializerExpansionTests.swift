import Testing

@testable import PerdureMacros

@Suite("Expansion of the initializer with the properties as parameters")
struct InitializerExpansionTests {
  /// The initializer that `@Entity` writes for a class, and its default values in `_Slot`.
  func initializer(_ source: String) -> (source: String?, defaults: [String]) {
    let reply = Expansion.expand(
      .init(
        typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
        declaration: SyntaxText(source)))
    guard case .expansion(let text?, _) = reply else { return (nil, []) }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let defaults = lines.filter { $0.contains("_defaultOf_") && $0.contains("static var") }
    guard let begin = lines.firstIndex(where: { $0.contains("convenience init(") }),
      let end = lines[begin...].firstIndex(of: "}")
    else { return (nil, defaults) }
    return (lines[begin...end].joined(separator: "\n"), defaults)
  }

  /// The parameters after the context.
  func parameters(_ source: String) -> [String]? {
    initializer(source).source.map {
      $0.split(separator: "\n").dropFirst(2).prefix { $0 != ") {" }
        .map { $0.drop { $0 == " " }.trimmingSuffix { $0 == "," } }
    }
  }

  @Test("The options .optional and .required decide whether a parameter is optional, not the declared type")
  func options() {
    #expect(
      parameters(
        """
        @Entity final class Guest: ManagedObject {
          @Attribute(.optional) var age: Int16
          @Attribute(.required) var name: String?
        }
        """) == ["age: Int16? = nil", "name: String"])
  }

  @Test("Parameters are in declaration order, and only required properties have no default")
  func golden() {
    let (source, defaults) = initializer(
      """
      @Entity final class Worker: Person {
        @Attribute(.unique) var email: String
        var salary: Double = 0
        var born: Date?
        var unit: String? = "kg"
        @Attribute(.composite) var place: Place
        @Relationship(inverse: "workers") var company: Company?
        @Relationship(inverse: "workers", optional: false) var office: Office?
        @Relationship(inverse: "chief") var chief: Worker
        @Relationship(inverse: "members") var projects: ToMany<Project>
        @Relationship var queue: OrderedToMany<Task>
      }
      """)
    #expect(
      source == """
        convenience init(
          context: Perdure.ManagedObjectContext,
          email: String,
          salary: Double? = nil,
          born: Date? = nil,
          unit: String? = _Slot._defaultOf_unit,
          place: Place? = nil,
          company: Company? = nil,
          office: Office,
          chief: Worker,
          projects: [Project] = [],
          queue: [Task] = []
        ) {
          self.init(context: context)
          self.email = email
          if let salary { self.salary = salary }
          if let born { self.born = born }
          self.unit = unit
          if let place { self.place = place }
          if let company { self.company = company }
          self.office = office
          self.chief = chief
          for object in projects { self.projects.insert(object) }
          for object in queue { self.queue.append(object) }
        }
        """)
    #expect(defaults == ["  static var _defaultOf_unit: String? { \"kg\" }"])
  }

  @Test("Derived, read-only, transient, computed and less visible properties are not parameters")
  func omitted() {
    #expect(
      parameters(
        """
        @Entity final class A: B {
          var a: Int
          @Attribute(derived: "x.@count") private(set) var b: Int
          private(set) var c: Int = 1
          @Attribute(.transient) var d: Int = 1
          @Transient var e = 1
          var f: Int { 1 }
          private var g: Int = 1
          fileprivate var h: Int
          @Attribute(.transformed(by: "x")) var i: (() -> Int)?
        }
        """) == ["a: Int"])
  }

  @Test(
    "The initializer has its class's access level, and less visible properties are omitted",
    arguments: [
      ("public ", "public ", ["a: Int"]), ("open ", "public ", ["a: Int"]),
      ("package ", "package ", ["a: Int", "b: Int"]), ("", "", ["a: Int", "b: Int", "c: Int"]),
      ("private ", "", ["a: Int", "b: Int", "c: Int"]),
    ])
  func access(modifier: String, access: String, found: [String]) {
    let source = "@Entity \(modifier)class A: B {\n public var a: Int\n package var b: Int\n var c: Int\n}"
    #expect(initializer(source).source?.hasPrefix("\(access)convenience init(") == true)
    #expect(parameters(source) == found)
  }

  @Test("A class without parameters, or with its own context initializer, gets no initializer")
  func unwritten() {
    #expect(initializer("@Entity class A: B { @Transient var a = 1 }").source == nil)
    for own in [
      "convenience init(context: C) { }", "public convenience init?(context c: C, x: Int) {}",
      "convenience init<T: P>(context: T) throws {}",
      "#if A\n convenience init(context: C, b: Int) {}\n#endif",
    ] {
      #expect(initializer("@Entity class A: B {\n var a: Int\n \(own)\n}").source == nil, "\(own)")
    }
    for other in [
      "convenience init(named: String) {}", "required init(_ seed: ObjectSeed) { super.init(seed) }",
      "class C { init(context: D) {} }", "func initialize(context: C) {}",
    ] {
      #expect(initializer("@Entity class A: B {\n var a: Int\n \(other)\n}").source != nil, "\(other)")
    }
  }

  @Test("Types that are not names get parentheses when they become optional")
  func types() {
    #expect(
      parameters("@Entity class A: B { var a: [String] = []\n var b: P & Q = c\n var `in`: Optional<Int> }")
        == ["a: [String]? = nil", "b: (P & Q)? = nil", "`in`: Optional<Int> = nil"])
  }

  @Test("A designated initializer that does not take an object seed is diagnosed at its position")
  func designated() {
    func complaints(_ member: String) -> [String] {
      let source = "@Entity class A: B {\n var a: Int\n \(member)\n}"
      let reply = Expansion.expand(
        .init(
          typeName: "EntityMacro", role: "member", attribute: SyntaxText("@Entity"),
          declaration: SyntaxText(source)))
      guard case .expansion(_, let diagnostics) = reply else { return ["no expansion"] }
      return diagnostics.map {
        $0.message.prefix { $0 != "." } + " @ "
          + String(decoding: source.utf8.dropFirst($0.offset).prefix(6), as: UTF8.self)
      }
    }
    #expect(complaints("init(a: Int) {}") == ["Contexts make the objects of \"A\" @ init(a"])
    #expect(complaints("public init() {}") == ["Contexts make the objects of \"A\" @ init()"])
    #expect(complaints("required init(_ seed: ObjectSeed) { super.init(seed) }") == [])
    #expect(complaints("convenience init(a: Int, in c: C) {}") == [])
  }
}

extension Substring {
  fileprivate func trimmingSuffix(_ isDropped: (Character) -> Bool) -> String {
    var copy = self
    while let last = copy.last, isDropped(last) { copy.removeLast() }
    return String(copy)
  }
}
