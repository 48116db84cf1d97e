import ArgumentParser
import Perdure
import PerdureLog
import PerdureTestSupport
import PerdureText
import Testing

@testable import PerdureCommands

@Suite("perdure model show")
struct ModelCommandTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("Staff.perdure") }

  init() throws {
    directory = try TemporaryDirectory()
    let person = EntityDescription(
      "Person", isAbstract: true, className: "Human",
      properties: [
        .string("name", optional: false, default: "new\nbody", rules: [.minimumLength(1)]),
        .attribute("joined", .date, default: .now),
        .composite("address", [.string("street"), .string("city", optional: false)]),
        .attribute(AttributeDescription("mood", .string, isTransient: true)),
      ], uniquenessConstraints: [["name"]])
    let worker = EntityDescription(
      "Worker", superentity: "Person",
      properties: [
        .attribute("salary", .double, optional: false, default: 0.5),
        .relationship(
          RelationshipDescription(
            "company", to: "Company", inverse: "workers", maxCount: 1, isOptional: false)),
      ],
      indexes: [
        FetchIndexDescription("rich", [.descending("salary"), "name"], where: "salary > 1000")
      ])
    let company = EntityDescription(
      "Company",
      properties: [
        .toMany("workers", "Worker", inverse: "company", deleteRule: .cascade),
        .derived("workerCount", "workers.@count"),
      ])
    let model = try ManagedObjectModel([person, worker, company], versionIdentifiers: ["7"])
    let container = PersistentContainer(name: "Staff", model: model, at: path)
    try container.loadPersistentStores()
    try container.close()
  }

  /// A store whose model has a template and a fetched property.
  private func requests() throws -> String {
    let path = directory.file("Requests.perdure")
    let note = EntityDescription(
      "Note", properties: [.string("text"), .int64("size")],
      fetchedProperties: [
        FetchedPropertyDescription(
          "larger", "Note", "size > $FETCH_SOURCE.size", sortDescriptors: [FetchOrder("size")],
          fetchLimit: 3, isCached: false)
      ])
    let model = try ManagedObjectModel(
      [note, EntityDescription("Other", properties: [])],
      templates: [
        FetchRequestTemplate(
          "large", "Note", "size > $least", sortDescriptors: [FetchOrder("size", ascending: false)])
      ])
    let container = PersistentContainer(name: "Notes", model: model, at: path)
    try container.loadPersistentStores()
    try container.close()
    return path
  }

  @Test("Templates and fetched properties are listed, with the types of variables")
  func listsRequests() throws {
    let path = try requests()
    let fetched = "fetched larger: Note where size > $FETCH_SOURCE.size, by size, at most 3, live"
    let template = "large: Note where size > $least, by size descending; $least is an int64"
    #expect(try Outcome("model", "show", path).lines.contains("  " + fetched))
    #expect(try Outcome("model", "show", path).lines.suffix(3) == ["", "Templates", "  " + template])
    let markdown = try Outcome("model", "show", path, "--format", "markdown").lines
    #expect(markdown.contains("- " + fetched))
    #expect(markdown.suffix(4) == ["", "## Templates", "", "- " + template])
    #expect(!(try Outcome("model", "show", path, "--entity", "Other").lines.contains("Templates")))
    let json = try Outcome("model", "show", path, "--format", "json").lines.joined()
    #expect(json.contains("\"fetchedProperties\"") && json.contains("\"least\""))
  }

  @Test("Tables show entities, properties, constraints, indexes and rules of the stored model")
  func tables() throws {
    let outcome = try Outcome("model", "show", path)
    #expect(outcome.code == .success && outcome.errors == "")
    #expect(
      outcome.lines[0].hasPrefix("3 entities, version hash ") && outcome.lines[0].hasSuffix("versions 7"))
    #expect(
      outcome.lines.dropFirst() == [
        "",
        "Person, abstract, class Human",
        "  attribute       type       optional  default      derived  transient  indexed",
        "  name            string               \"new\\nbody\"                      yes",
        "  joined          date       yes       now",
        "  address         composite  yes",
        "  address.street  string     yes",
        "  address.city    string",
        "  mood            string     yes                             yes",
        "",
        "  unique: name",
        "  name must have a length of at least 1",
        "",
        "Worker: Person",
        "  attribute  type    optional  default  derived  transient  indexed",
        "  salary     double            0.5                          yes",
        "",
        "  relationship  leads to  inverse  objects  optional  delete rule  ordered  transient",
        "  company       Company   workers  1                  nullify",
        "",
        "  index rich: salary descending, name, where salary > 1000",
        "",
        "Company",
        "  attribute    type   optional  default  derived         transient  indexed",
        "  workerCount  int64                     workers.@count",
        "",
        "  relationship  leads to  inverse  objects    optional  delete rule  ordered  transient",
        "  workers       Worker    company  0 to many  yes       cascade",
      ], "\(outcome.lines.joined(separator: "\n"))")
  }

  @Test("Markdown and JSON show the named entities of the model")
  func formats() throws {
    let markdown = try Outcome("model", "show", path, "--format", "markdown", "--entity", "Company")
    #expect(
      markdown.lines.dropFirst() == [
        "", "## Company", "",
        "| attribute | type | optional | default | derived | transient | indexed |",
        "|---|---|---|---|---|---|---|", "| workerCount | int64 |  |  | workers.@count |  |  |", "",
        "| relationship | leads to | inverse | objects | optional | delete rule | ordered | transient |",
        "|---|---|---|---|---|---|---|---|",
        "| workers | Worker | company | 0 to many | yes | cascade |  |  |",
      ])
    let json = try Outcome("model", "show", path, "--format", "json", "--entity", "Worker")
    let line = try #require(json.lines.first)
    #expect(json.lines.count == 1)
    #expect(line.contains(#""versionIdentifiers":["7"]"#))
    #expect(line.contains(#"{"name":"Worker","superentity":"Person","abstract":false,"class":"Worker""#))
    #expect(line.contains(#""name":"salary","type":"double","optional":false,"default":0.5,"#))
    #expect(
      line.contains(#"{"name":"rich","elements":["salary descending","name"],"where":"salary > 1000"}"#))
    #expect(!line.contains("Human"))
  }

  @Test("HTML is one page with the same tables, and texts of the model are escaped")
  func html() throws {
    let page = try Outcome("model", "show", path, "--format", "html").lines
    #expect(page.first == "<!DOCTYPE html>" && page.last == "</html>")
    #expect(page.contains("<h1>Staff</h1>") && page.contains("<h2>Person, abstract, class Human</h2>"))
    let cells =
      "<td>name</td><td>string</td><td></td><td>&quot;new\\nbody&quot;</td><td></td><td></td><td>yes</td>"
    #expect(page.contains("<tr>\(cells)</tr>"))
    #expect(page.contains("<li>index rich: salary descending, name, where salary &gt; 1000</li>"))
    #expect(page.count { $0 == "<table>" } == 5 && page.count { $0 == "</table>" } == 5)
  }

  @Test("Notes name configurations, earlier names, transformers and user info")
  func notes() throws {
    let attribute = AttributeDescription(
      "face", .transformable, renamingIdentifier: "photo", valueTransformerName: "Pixels",
      userInfo: ["a": "<b>"])
    let entity = EntityDescription(
      "Person", properties: [.attribute(attribute)], renamingIdentifier: "Human",
      userInfo: ["owner": "team\n1"])
    let model = try ManagedObjectModel([entity], configurations: ["Cloud": ["Person"]])
    let lines = ModelReport(model, model.entities).lines(title: { $0 })
    #expect(
      lines.suffix(6) == [
        "  face uses the transformer Pixels", "  face was called photo", "  user info of face: a = <b>",
        "  Person was called Human", "  user info of Person: owner = team\\n1", "  in configurations Cloud",
      ])
    #expect(
      ModelReport(model, model.entities).json.text.contains(#""configurations":["Cloud"],"attributes""#))
  }

  @Test("An unknown entity, a store without objects and a missing store are errors")
  func refused() throws {
    let near = try Outcome("model", "show", path, "--entity", "Wrker", "--format", "json")
    #expect(
      near.code == .failed && near.errors.contains("The model has no entity Wrker. Did you mean Worker?"))
    #expect(near.lines.first?.hasPrefix(#"{"error":{"message":"The model has no entity Wrker"#) == true)
    try Store(at: directory.file("plain")).close()
    let plain = try Outcome("model", "show", directory.file("plain"))
    #expect(
      plain.code == .failed && plain.errors.contains("has no objects. `perdure dump` prints its records"))
    #expect(try Outcome("model", "show", directory.file("none")).code == .failed)
  }
}
