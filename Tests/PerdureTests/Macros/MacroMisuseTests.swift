import Foundation
import Testing

/// Compiles misuse of the macros, and checks the messages of the compiler and their lines.
@Suite("Macro misuse is reported at its line")
struct MacroMisuseTests {
  /// Each `error:` comment has a part of the compiler's message for that line. Other lines have no
  /// message.
  static let source = """
    import Foundation
    import Perdure

    @Entity final class Good: ManagedObject { var name: String; var other: Good?; @Managed var byHand: Int }
    @Entity struct Value { var a: Int } // error: @Entity belongs on a class
    @Entity actor Actor { var a: Int = 1 } // error: @Entity belongs on a class
    @Entity final class Alone { var a: Int } // error: inherits from ManagedObject
    @Entity final class Coded: Codable { var a: Int } // error: "Codable" is not a class of managed objects
    @Entity final class Generic<T>: ManagedObject { var a: Int } // error: cannot be generic
    @Entity @MainActor final class Main: ManagedObject { var a: Int } // error: Remove @MainActor
    @Entity @Entity final class Twice: ManagedObject { var a: Int } // error: Remove the second @Entity
    enum Outer {
      @Entity final class Nested: ManagedObject { private var a: Int; fileprivate var b: ToMany<Good> }
      struct Inner { @Entity private final class Deep: ManagedObject { var a: Int } }
    }
    func local() { @Entity final class Local: ManagedObject { var a: Int }; _ = Local.self }
    @Entity final class Constant: ManagedObject { let a: Int } // error: "a" is a constant
    @Entity final class Inferred: ManagedObject { var a = 5 } // error: needs its type written out
    @Entity final class Observed: ManagedObject { var a: Int { didSet {} } } // error: has observers
    @Entity final class Begun: ManagedObject { var a: String = "" { didSet {} } } // error: Set the initial value in awakeFrom
    @Entity final class Heeded: ManagedObject { @Relationship var a: Good? { didSet {} } } // error: React to changes in
    @Entity final class Several: ManagedObject { var a: Int, b: Int } // error: in a separate "var"
    @Entity final class Pattern: ManagedObject { var (a, b): (Int, Int) } // error: in a separate "var"
    @Entity final class Weak: ManagedObject { weak var a: Good? } // error: "a" is weak
    @Entity final class Unowned: ManagedObject { unowned var a: Good } // error: "a" is unowned
    @Entity final class Underscore: ManagedObject { var _count: Int } // error: begins with an underscore
    @Entity final class Unsure: ManagedObject { var a: Any? } // error: of an unspecified type
    @Entity final class Isolated: ManagedObject { @MainActor var a: Int } // error: Remove @MainActor
    @Entity final class Unsigned: ManagedObject { var a: UInt } // error: "a" is a UInt, which is not a type of
    @Entity final class Letter: ManagedObject { var a: Character = "x" } // error: Write String. Attributes are Bool
    @Entity final class Grouped: ManagedObject { var a: Set<Good> } // error: Write ToMany<Good> for a relationship
    @Entity final class Listed: ManagedObject { @Relationship(inverse: "x") var a: [Good] } // error: Write ToMany<Good>
    @Entity final class Made: ManagedObject { var a: Int; init(a: Int) { self.a = a } } // error: Write "convenience init"
    @Entity final class Marked: ManagedObject { @Attribute(.unique) @Attribute var a: Int } // error: One @Attribute
    @Entity final class Both: ManagedObject { @Attribute @Relationship var a: Good? } // error: Remove one
    @Entity final class Held: ManagedObject { @Relationship var a: URL? } // error: Write @Attribute instead
    @Entity final class Computed: ManagedObject { @Attribute var a: Int { 1 } } // error: "a" is computed
    @Entity final class Watched: ManagedObject { var a: Int? { willSet {} } } // error: get { primitiveA } set { willChange
    @Entity final class Own: ManagedObject { @Attribute(.unique) var a: Int? { get { primitiveA } set { primitiveA = newValue } } }
    @Entity final class Part: ManagedObject { @Attribute(.composite) var a: Place { get { .init() } set {} } } // error: Give the
    @Entity final class Knot: ManagedObject { @Relationship var a: Good? { get { nil } set {} } } // error: "a" is computed
    @Entity final class Lazy: ManagedObject { @Attribute lazy var a: Int = 1 } // error: "a" is lazy
    @Entity final class Counted: ManagedObject { @Relationship(maxCount: 3) var a: Good? } // error: Remove maxCount
    @Entity final class Sure: ManagedObject { @Relationship(optional: true) var a: Good } // error: Remove "optional"
    @Entity final class Passing: ManagedObject { @Attribute(.unique, .transient) var a: Int } // error: Remove .unique
    @Entity final class Derived: ManagedObject { @Attribute(derived: "b.@count") var a: Int = 1 } // error: no default
    @Entity final class Function: ManagedObject { @Attribute func a() {} } // error: belongs on a variable
    @Accessors final class Listing: ManagedObject { var a: Int; var b: Good?; @Attribute(.transient) var c: Any? }
    @Accessors struct Views { var a: Int } // error: @Accessors belongs on a class
    @Accessors @Entity final class Doubled: ManagedObject { var a: Int } // error: Remove @Accessors
    @Accessors final class Started: ManagedObject { var a: Int = 1 } // error: "a" has an initial value, but the model
    @Accessors final class Ended: ManagedObject { @Relationship(inverse: "other") var a: Good? } // error: Remove @Rel
    @Accessors final class Kept: ManagedObject { @Attribute(.unique) var a: Int? } // error: Move .unique there
    @Accessors final class Summed: ManagedObject { @Attribute(derived: "b.@count") var a: Int } // error: Move "derived:
    @Entity final class Free: ManagedObject { @Attribute(.optional) var a: Int?; var b: Int } // error: Remove .optional
    @Entity final class Tied: ManagedObject { @Attribute(.required) var a: Int; var b: Int } // error: Remove .required
    @Entity final class Torn: ManagedObject { @Attribute(.required, .optional) var a: Int? } // error: cannot be both
    @Entity final class Sum: ManagedObject { @Attribute(.required, derived: "b.@count") var a: Int } // error: is derived, so
    @Entity(propertiesInExtension: true) final class Spread: ManagedObject { var a: Int }
    @EntityProperties extension Spread { var b: Int; @Relationship(inverse: "c") var d: Spread?; @Fetched var e: [Spread] }
    extension Spread { @EntityProperties struct Inner { var c: Int } } // error: belongs on an extension
    @EntityBase class Based: ManagedObject { @Attribute(.unique) var a: Int; var b: Good?; var c: ToMany<Good> }
    @Entity final class OnBase: Based { var d: Int }
    @EntityBase class Reversed: ManagedObject { @Relationship(inverse: "other") var a: Good? } // error: remove the inverse
    @Composite struct Wanted { @Attribute(.required) var a: Int? } // error: Remove .required
    struct Plain { @Attribute(.unique) var a: Int } // error: Mark "Plain" with @Entity
    @Composite struct Place { var city: String?; @Attribute(.minimum(1)) var code: Int = 1 }
    @Composite struct Fixed { let a: Int } // error: "a" is a constant
    @Composite struct Linked { @Relationship var a: Good? } // error: leads to no objects
    @Composite struct Sole { @Attribute(.unique) var a: Int } // error: Only an entity that has the value
    @Composite struct Told { @Attribute(.composite) var a: Place? } // error: Remove .composite
    @Composite final class Shared { var a: Int = 1 } // error: needs a struct without
    extension Outer { @Composite struct Inside { var a: Place?; private var b: Int } }
    @Entity final class Housed: ManagedObject { @Attribute(.composite) var a: Outer.Inside?; var b: Int }
    @Entity final class Ruled: ManagedObject { @Attribute(.composite, .unique) var a: Place } // error: Remove .unique
    @Entity final class Nothing: ManagedObject { var a: Int = nil } // error: 'nil' cannot initialize
    @Entity final class Objects: ManagedObject { var a: ToMany<String> } // error: inherit from 'ManagedObject'
    @Entity final class Rule: ManagedObject { @Relationship(deleteRule: .no) var a: Good? } // error: no member 'no'
    """

  /// A message with its file and line. Generated code has its own files.
  private struct Message {
    let file: String
    let line: Int
    let text: String
  }

  private func errors(_ source: String) throws -> [Message] {
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let pattern = /(?m)^(.+?):([0-9]+):[0-9]+: error: (.*)$/
    return try compiler.check(source).matches(of: pattern).map {
      Message(file: String($0.1), line: Int($0.2) ?? 0, text: String($0.3))
    }
  }

  @Test("Each misuse has its message on its line, and correct classes have none")
  func lines() throws {
    let found = try errors(Self.source).filter { !$0.file.contains("__swiftmacro") }
    for (index, line) in Self.source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let messages = found.filter { $0.line == index + 1 }.map(\.text)
      guard let expected = line.split(separator: "// error: ").dropFirst().first else {
        #expect(messages == [], "\(line)")
        continue
      }
      #expect(messages.count == 1 && messages.first?.contains(expected) == true, "\(line): \(messages)")
    }
  }

  @Test("Misuse that a macro reports causes no further errors in the generated code")
  func once() throws {
    let known = Self.source.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !["Nothing:", "Objects:", "Rule:"].contains(where: $0.contains) }
    let others = try errors(known.joined(separator: "\n")).filter { $0.file.contains("__swiftmacro") }
    #expect(others.map(\.text) == [])
  }

  @Test("A class must declare that an extension has properties, and the extension must exist")
  func extensions() throws {
    let found = try errors(
      """
      import Perdure
      @Entity final class Silent: ManagedObject { var a: Int }
      @EntityProperties extension Silent { var b: Int }
      @Entity(propertiesInExtension: true) final class Alone: ManagedObject { var a: Int }
      @Entity(propertiesInExtension: true) class Above: ManagedObject { var a: Int }
      @EntityProperties extension Above { var b: Int }
      @Entity(propertiesInExtension: true) final class Beneath: Above { var c: Int }
      """)
    for part in [
      "Mark it @Entity(propertiesInExtension: true)", "No extension of the class has @EntityProperties",
      "'_ExtensionOf<Beneath>' to expected argument type '_ExtensionOf<Above>'",
    ] { #expect(found.contains { $0.text.contains(part) }, "\(part): \(found)") }
  }

  @Test("An unsuitable type that the macro cannot resolve is refused once, at its property")
  func types() throws {
    let found = try errors(
      """
      import Perdure
      enum Plain { case a }
      struct Pod { var a = 1 }
      @Entity final class Good: ManagedObject { var name: String }
      @Entity final class Enums: ManagedObject { var a: Plain; var b: Plain? = .a; var c: [String: Pod] = [:] }
      @Entity final class Arrays: ManagedObject { var a: [Pod]; var b: [Pod]? }
      @Entity final class Objects: ManagedObject { var a: [Good]; @Attribute(originalName: "c") var b: Plain }
      @Entity final class Marked: ManagedObject { @Attribute(.unique) var good: Good? }
      """)
    #expect(
      found.count { $0.text.contains("No property can have this type. Attributes are Bool, Int,") } == 4)
    #expect(found.count { $0.text.contains("write ToMany<Issue> instead of [Issue]") } == 3)
    #expect(found.count { $0.text.contains("Write @Relationship instead of @Attribute") } == 1)
    #expect(found.count == 8, "\(found)")
  }

  @Test("The macros refuse exactly the names that no model accepts")
  func reservedNames() throws {
    let model = try Self.names(in: "Sources/PerdureModel/ReservedNames.swift")
    let macros = try Self.names(in: "Sources/PerdureMacros/Expansion/ReservedNames.swift")
    #expect(model.count > 30 && model == macros)
    let found = try errors(
      """
      import Perdure
      @Entity final class Named: ManagedObject {
        var objectWillChange: Int
        var name: String
      }
      """)
    #expect(found.count == 1 && found.first?.line == 3, "\(found)")
    #expect(found.first?.text.contains("is the name of a member of every managed object") == true)
  }

  /// The strings of the set that a source file declares.
  private static func names(in path: String) throws -> Set<String> {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let source = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    guard let begin = source.range(of: "Set<String> = [") else { return [] }
    let body = source[begin.upperBound...].prefix { $0 != "]" }
    return Set(body.matches(of: /"([A-Za-z]+)"/).map { String($0.1) })
  }

  @Test("If the other @Entity class lacks an inverse, the relationship that names the inverse is refused")
  func inverses() throws {
    let source = """
      import Perdure
      @Entity final class Lender: ManagedObject {
        @Relationship(inverse: "lender") var books: ToMany<Lent>
        @Relationship(inverse: "nobody") var others: ToMany<Lent>
        @Relationship(inverse: "keeper") private var best: Lent?
        @Relationship(inverse: "friend") var friend: Lender?
        @Relationship(inverse: "anything") var plain: Plain?
        @Relationship(inverse: Lender.back, deleteRule: .deny) var computed: Lent?
        static let back = "lender"
      }
      @Entity final class Lent: ManagedObject {
        @Relationship(inverse: "books") var lender: Lender
        @Relationship(inverse: "best") private var keeper: Lender?
        @Relationship(inverse: "computd", deleteRule: .deny) var last: Lender?
      }
      class Plain: ManagedObject {}
      """
    let compiler = try #require(Compiler.found, "There is no swiftc in PATH, or no modules beside the tests.")
    let said = try compiler.check(source)
    let found = try errors(source)
    #expect(
      Set(found.map(\.text)) == [
        "'subscript(dynamicMember:)' is unavailable: Lent has no property of this name. Its own are: lender, "
          + "keeper, last.",
        "'subscript(dynamicMember:)' is unavailable: Lender has no property of this name. Its own are: books, "
          + "others, best, friend, plain, computed.",
      ], "\(said)")
    for name in ["others", "last"] {
      #expect(said.contains("in expansion of macro 'Relationship' on property '\(name)' here"), "\(said)")
    }
  }

  @Test(
    "The messages distinguish a struct without @Composite from a property without @Attribute(.composite)"
  )
  func composites() throws {
    let found = try errors(
      """
      import Perdure
      @Composite struct Place { var city: String? }
      struct Plain { var city: String? }
      @Composite struct Odd { var plain: Plain? }
      @Composite struct Ruled { @Attribute(.minimum(1)) var place: Place?; @Attribute(.minimum(1)) var other: Place }
      @Entity final class Unmarked: ManagedObject { var place: Place?; var other: Place }
      @Entity final class Marked: ManagedObject { @Attribute(.composite) var plain: Plain? }
      """)
    let unmarked = found.filter { $0.text.contains("must be marked @Attribute(.composite)") }
    #expect(unmarked.map { $0.text.prefix(6) } == ["'_get'", "'_get'"], "\(found)")
    let plain = found.filter { $0.text.contains("that is marked @Composite, optional or not") }
    #expect(plain.map { $0.text.prefix(6) }.sorted() == ["'_comp", "'add(_"], "\(found)")
    let ruled = found.filter { $0.text.contains("A composite has no rules or options of its own") }
    #expect(ruled.count == 2, "\(found)")
    #expect(found.count == unmarked.count + plain.count + ruled.count, "\(found)")
  }
}
