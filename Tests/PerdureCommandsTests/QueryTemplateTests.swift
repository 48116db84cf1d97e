import ArgumentParser
import FoundationEssentials
import Perdure
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Entity private class Vessel: ManagedObject {
  var name: String?
  var tons: Int32 = 0
  var speed: Double = 0
  var price: Decimal = 0
  var built: Date?
  var isAfloat: Bool = true
  var key: UUID?
  var badge: Data?
  var site: URL?
  @Relationship(inverse: "vessels") var port: Harbour?

  @FetchTemplate("tons > $least AND speed <= $most", order: [FetchOrder("tons", ascending: false)], limit: 2)
  static func heavy(least: Int32, most: Double) -> FetchRequest<Vessel>

  @FetchTemplate("name == $name") static func named(_ name: String?) -> FetchRequest<Vessel>
  @FetchTemplate("name IN $names AND tons BETWEEN $range", order: [FetchOrder("name")])
  static func among(names: [String], range: [Int32]) -> FetchRequest<Vessel>

  @FetchTemplate("built >= $built AND isAfloat == $afloat AND price == $price")
  static func dated(built: Date, afloat: Bool, price: Decimal) -> FetchRequest<Vessel>

  @FetchTemplate("key == $key AND badge == $badge AND site == $site AND port == $port")
  static func exact(key: UUID?, badge: Data?, site: URL?, port: Harbour?) -> FetchRequest<Vessel>

  @FetchTemplate static func vessels() -> FetchRequest<Vessel>
}

@Entity private final class Tug: Vessel {}

@Entity private final class Harbour: ManagedObject {
  @Relationship(inverse: "port") var vessels: ToMany<Vessel>
}

@Suite("perdure query with templates")
struct QueryTemplateTests {
  private static let key = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
  private let directory: TemporaryDirectory
  private var path: String { directory.file("Vessels.perdure") }

  init() throws {
    directory = try TemporaryDirectory()
    let container = try PersistentContainer(
      name: "Vessels", classes: [Vessel.self, Tug.self, Harbour.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    for (index, name) in ["Ada", "Bob", "a=b", nil].enumerated() {
      let vessel = Vessel(context: context, name: name, tons: Int32(100 * index), speed: Double(index) / 2)
      vessel.price = Decimal(string: "12.5")!
      vessel.built = Date(timeIntervalSince1970: 1_700_000_000.5 + Double(index))
    }
    let tug = Tug(context: context, name: "Tug", tons: 50, port: Harbour(context: context))
    (tug.key, tug.badge, tug.site) = (Self.key, Data([0, 0xFF]), URL(string: "https://example.org/t"))
    try context.save()
    try container.close()
  }

  /// Runs the query of a template with values for its variables.
  private func query(_ template: String, _ variables: [String], _ others: String...) throws -> Outcome {
    try Outcome(
      ["query", path, "--template", template, "--columns", "name", "--format", "csv"]
        + variables.flatMap { ["--variable", $0] } + others)
  }

  @Test("A template of the stored model selects, sorts and limits the objects")
  func runs() throws {
    #expect(try query("heavy", ["least=10", "most=1.5"]).lines == ["name", "\"\"", "a=b"])
    #expect(
      try query("heavy", ["least=10", "most=1"], "--limit", "9").lines == ["name", "a=b", "Bob", "Tug"])
    let ordered = try query("heavy", ["most=1", "least=10"], "--order", "name desc", "--offset", "1")
    #expect(ordered.lines == ["name", "Tug", "Bob"])
    #expect(try query("vessels", []).lines.count == 6)
  }

  @Test(
    "Values are read as the types of the variables; a name without a value passes nil, and a list has several values",
    arguments: [
      ("named", ["name=a=b"], ["a=b"]), ("named", ["name"], ["\"\""]), ("named", ["name="], []),
      ("among", ["names=Bob", "names=Ada", "range=0", "range=100"], ["Ada", "Bob"]),
      ("among", ["names=Bob", "range=0", "range=99"], []),
      ("dated", ["built=2023-11-14T22:13:22.500Z", "afloat=true", "price=12.50"], ["a=b", "\"\""]),
      ("dated", ["built=2023-11-14T22:13:23Z", "afloat=true", "price=12.5"], ["\"\""]),
      ("dated", ["built=2023-11-14T22:13:20Z", "afloat=false", "price=12.5"], []),
      (
        "exact",
        [
          "key=E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "badge=0x00ff", "site=https://example.org/t",
          "port=Harbour/p1",
        ],
        ["Tug"]
      ),
      ("exact", ["key", "badge", "site", "port=Harbour/p1"], []),
    ])
  func values(_ template: String, _ variables: [String], _ names: [String]) throws {
    let outcome = try query(template, variables)
    #expect(outcome.errors == "" && outcome.lines == ["name"] + names)
  }

  @Test("An error names every variable whose values are not valid, its type and an example")
  func misfits() throws {
    let outcome = try query("heavy", ["least=ten", "mots=1", "mots=2"])
    #expect(outcome.code == .failed && outcome.lines == [])
    #expect(
      outcome.errors == """
        error: The values on the command line do not match the variables of the fetch request template "heavy".
        - The value ten is not valid for $least. $least is an int32: --variable least=1
        - $most has no value. It is a double: --variable most=1.5
        - The template has no variable $mots. It has $least, $most. Did you mean most?

        """)
    let repeated = try query("named", ["name=a", "name=b"])
    #expect(
      repeated.errors.contains("$name has several values. It is a string: --variable name=text"))
  }

  @Test(
    "A value that does not have the form of its variable's type is not valid",
    arguments: [
      ("dated", "built", "yesterday"), ("dated", "built", "2023-11-14T22:13:20Z."),
      ("dated", "afloat", "maybe"),
      ("dated", "price", "1,5"), ("dated", "price", "0x10"), ("dated", "price", "nan"),
      ("exact", "key", "E621"), ("exact", "badge", "00ff"), ("exact", "badge", "0x0"),
      ("exact", "port", "p1"),
      ("exact", "port", "Harbor/p1"), ("exact", "port", "Harbour/px"), ("among", "range", "a"),
      ("heavy", "least", "1.5.0"),
    ])
  func unreadable(_ template: String, _ name: String, _ text: String) throws {
    let errors = try query(template, ["\(name)=\(text)"]).errors
    #expect(errors.contains("The value \(text) is not valid for $\(name)."), "\(errors)")
  }

  @Test("An object of another entity is not valid")
  func objects() throws {
    let outcome = try query("exact", ["key", "badge", "site", "port=Tug/p1"])
    #expect(outcome.errors.contains("The value Tug/p1 is not valid for $port. $port is a Harbour"))
  }

  @Test("An unknown template is an error with the nearest name")
  func unknown() throws {
    let outcome = try query("heavi", ["least=1"])
    #expect(outcome.code == .failed && outcome.errors.contains("Did you mean heavy?"))
  }

  @Test(
    "A template together with an entity, and variables without a template, are wrong command lines",
    arguments: [
      [], ["Vessel", "--template", "heavy"], ["Vessel", "tons > 1", "--template", "heavy"],
      ["Vessel", "--variable", "x=1"], ["--variable", "x=1"], ["--template", "heavy", "--variable", "=1"],
    ])
  func refused(arguments: [String]) throws {
    let error = #expect(throws: (any Error).self) {
      try Outcome(["query", directory.file("none")] + arguments)
    }
    #expect(PerdureCommand.exitCode(for: try #require(error)) == .validationFailure)
  }
}
