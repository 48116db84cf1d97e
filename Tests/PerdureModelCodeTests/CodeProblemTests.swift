import Foundation
import PerdureModelCode
import PerdurePredicates
import Testing

@Suite("Problems of generated code")
struct CodeProblemTests {
  private func problems(
    _ entities: [EntityDescription], _ hints: ModelCodeHints = ModelCodeHints(),
    _ options: ModelCodeOptions = ModelCodeOptions(), templates: [FetchRequestTemplate] = []
  ) throws -> [String] {
    let model = try ManagedObjectModel(entities, templates: templates)
    do throws(ModelCodeError) {
      _ = try ModelCode.file(of: model, named: "Model", hints: hints, options: options)
      return []
    } catch {
      return error.problems.map { problem in
        #expect(!problem.message.isEmpty && problem.message.hasSuffix(".") && problem.remedy.hasSuffix("."))
        let place = [problem.entity, problem.property].compactMap { $0 }.joined(separator: ".")
        return "\(place) \(problem.kind.rawValue)"
      }
    }
  }

  private func entity(
    _ name: String, class className: String? = nil, _ properties: [PropertyDescription] = []
  )
    -> EntityDescription
  {
    EntityDescription(name, className: className, properties: properties)
  }

  @Test("The error's text, debug text and localized description are the same")
  func oneForm() throws {
    let model = try ManagedObjectModel([entity("Thing", class: "A B")])
    let thrown = #expect(throws: ModelCodeError.self) {
      _ = try ModelCode.file(of: model, named: "Model", hints: ModelCodeHints(), options: ModelCodeOptions())
    }
    let error = try #require(thrown)
    #expect(error.localizedDescription == "\(error)" && String(reflecting: error) == "\(error)")
    #expect("\(error)".hasPrefix("Thing: "))
  }

  @Test(
    "A text that is not the name of a class is refused",
    arguments: ["A.B.C", "A B", "1A", "A;import B", "A..B", "Type", ".", "Module.Self", "a-b.C"])
  func classNames(_ name: String) throws {
    #expect(try problems([entity("Thing", class: name)]) == ["Thing syntax"])
  }

  @Test(
    "The forms Class, .Class and Module.Class are accepted, even for the base class and for a keyword",
    arguments: ["A", ".A", "Module.A", "ManagedObject", "NSManagedObject", "class"])
  func acceptedClassNames(_ name: String) throws {
    #expect(try problems([entity("Thing", class: name)]).isEmpty)
  }

  @Test(
    "A text that is not the name of a type is refused",
    arguments: ["Int; import Evil", "Int { get }", "\"", "[Int", "Int]", "Int\n", "() -> Int", "`a`"])
  func typeNames(_ type: String) throws {
    var hints = ModelCodeHints()
    hints.attributeTypes["Thing.value"] = type
    #expect(try problems([entity("Thing", [.transient("value")])], hints) == ["Thing.value syntax"])
  }

  @Test("All name clashes are reported together")
  func clashes() throws {
    let entities = [
      entity("A", class: "Same", [.toMany("b", "A"), .toMany("B", "A"), .string("Date")]),
      entity("B", class: "Same"), entity("Date"), entity("BEntity"),
      entity("C", [.composite("x", [.string("a")]), .composite("X", [.string("b")]), .string("Same")]),
    ]
    let found = try problems(
      entities,
      templates: [
        FetchRequestTemplate("all of", "A"), FetchRequestTemplate("allOf", "A"),
        FetchRequestTemplate("!", "A"),
      ])
    #expect(
      found == [
        "C.X nameClash", "B nameClash", "BEntity nameClash", "Date nameClash", "A.B nameClash",
        "A.Date nameClash", "C.Same nameClash", "! nameClash", "allOf nameClash",
      ])
  }

  @Test("Parts that macros cannot express are reported together")
  func macros() throws {
    var options = ModelCodeOptions()
    options.style = .macros
    var link = RelationshipDescription("link", to: "A", minCount: 1, maxCount: 1)
    link.isOptional = true
    let request = FetchedPropertyDescription("f", FetchRequestDescription("A"))
    var faults = FetchRequestDescription("A")
    faults.returnsObjectsAsFaults = false
    let entity = EntityDescription(
      "A",
      properties: [
        .transient("scratch"), .attribute(AttributeDescription("bytes", .transformable)), .string("no"),
        .relationship(link), .composite("c", [.string("x", default: "y")]),
        .composite("d", [.string("x")], optional: false),
        .composite("e", [.composite("x", [.string("y")], optional: false)]),
        .composite("i", [.composite(Self.informed)]),
      ], fetchedProperties: [request, FetchedPropertyDescription("g", faults)])
    // The least count of a relationship to one object, and defaults of the elements of an optional
    // composite, can be expressed.
    let names = ["g", "scratch", "bytes", "no", "d", "e", "i"]
    #expect(try problems([entity], ModelCodeHints(), options) == names.map { "A.\($0) notExpressible" })
    #expect(try problems([entity]).isEmpty)
    options.entityCode = .categoryExtension
    #expect(try problems([self.entity("A")], ModelCodeHints(), options) == ["A notExpressible"])
  }

  private static let informed = CompositeAttributeDescription("x", [.string("y")], userInfo: ["k": "v"])

  @Test("Classes of another module are imported, and not generated")
  func otherModule() throws {
    var options = ModelCodeOptions()
    options.module = "App"
    let model = try ManagedObjectModel([
      entity("A", class: "App.A"), entity("B", class: "Shared.B"), entity("C", class: ".C"),
    ])
    let text = try ModelCode.file(of: model, named: "M", options: options).text
    #expect(text.contains("import Shared\n") && !text.contains("import App\n"))
    #expect(text.contains("class A:") && text.contains("class C:") && !text.contains("class B"))
  }

  @Test("Public code has public imports only of the modules whose types it exposes")
  func imports() throws {
    var options = ModelCodeOptions()
    (options.module, options.access) = ("App", .public)
    let entities = [
      entity("A", class: ".A", [.toOne("b", "B"), .attribute(AttributeDescription("list", .transformable))]),
      entity("B", class: "Shared.B"), entity("C", class: "Other.C", [.date("day")]),
    ]
    var hints = ModelCodeHints()
    hints.attributeTypes["A.list"] = "[Int64]"
    let plain = try imports(entities, hints, options)
    #expect(
      plain == [
        "public import Perdure", "import Other", "public import Shared", "import FoundationEssentials",
        "import Foundation",
      ])
    hints.attributeTypes["A.list"] = "Colour"
    options.imports = ["Colours"]
    let own = try imports(entities, hints, options)
    #expect(
      own == [
        "public import Perdure", "public import Colours", "import Other", "public import Shared",
        "import Foundation",
      ])
  }

  private func imports(
    _ entities: [EntityDescription], _ hints: ModelCodeHints, _ options: ModelCodeOptions
  ) throws -> [String] {
    let text = try ModelCode.file(
      of: ManagedObjectModel(entities), named: "M", hints: hints, options: options
    ).text
    return text.split(separator: "\n").map { $0.drop { $0 == " " } }
      .filter { $0.hasPrefix("import ") || $0.hasPrefix("public import ") }.map(String.init)
  }

  @Test("Property names that are reserved in Swift are escaped, and other names are not")
  func keywords() throws {
    let reserved = ["case", "in", "default", "Any", "repeat", "inout", "nil", "throws"]
    let others = ["async", "some", "any", "actor", "get", "text"]
    let model = try ManagedObjectModel([entity("Word", (reserved + others).map { .string($0) })])
    let text = try ModelCode.file(of: model, named: "M").text
    for (word, spelling) in reserved.map({ ($0, "`\($0)`") }) + others.map({ ($0, $0) }) {
      #expect(text.contains("  var \(spelling): String? {\n"), "\(word)")
      #expect(text.contains("    static let \(spelling) = \"\(word)\"\n"), "\(word)")
    }
  }
}
