import Foundation
import Perdure
import PerdureTestSupport
import Testing

private enum Status: String, AttributeValue, CaseIterable { case open, closed }
private struct Secret: Equatable { var word: String }

/// Stores the letters of a secret in reverse order.
private struct ReversedSecret: ValueTransformer {
  func data(from value: Any) throws -> Data {
    guard let value = value as? Secret else { throw CocoaError(.coderInvalidValue) }
    return Data(value.word.utf8.reversed())
  }

  func value(from data: Data) throws -> Any {
    Secret(word: String(decoding: data.reversed(), as: UTF8.self))
  }
}

private struct Extra: CodableAttributeValue, Equatable {
  var note = "", marks: [Int] = []
  static var zeroValue: Extra { Extra() }
}

@Composite private struct Place: Equatable {
  var city: String?
  var code: Int = 1
}

@Entity private class Person: ManagedObject {
  @Attribute(.unique) var email: String
  var name: String = ""
  var born: Date?
}

@Entity private final class Worker: Person {
  var salary: Decimal = 0
  var ratio: Double?
  var small: Int16 = 0
  var status: Status = .open
  var key: UUID?
  var page: URL?
  var picture: Data?
  var tags: [String] = []
  var extra: Extra?
  var mentor: ManagedObjectID?
  @Attribute(.transformed(by: "ReversedSecret")) var hidden: Secret?
  @Attribute(.composite) var place: Place?
  @Attribute(.transient) var mark: Int = 4
  @Relationship(inverse: "workers") var company: Firm?
  @Relationship(inverse: "members") var projects: ToMany<Venture>
  @Attribute(derived: "company.name") private(set) var companyName: String?
  @Attribute(derived: "company.weight") private(set) var companyWeight: Float?
}

@Entity private final class Firm: ManagedObject {
  @Attribute(.unique) var name: String
  var weight: Float = 0.1
  @Relationship(inverse: "company") var workers: OrderedToMany<Worker>
  @Relationship(inverse: "subsidiaries") var parent: Firm?
  @Relationship(inverse: "parent") var subsidiaries: ToMany<Firm>
  @Relationship(inverse: "firm") var badges: ToMany<Badge>
}

@Entity(unique: [["title", "year"]]) private final class Venture: ManagedObject {
  var title: String = ""
  var year: Int?
  @Relationship(inverse: "projects") var members: ToMany<Worker>
}

@Entity private final class Badge: ManagedObject {
  @Attribute(.composite) var place: Place
  @Relationship(inverse: "badges", optional: false) var firm: Firm?
}

@Entity private final class Boss: ManagedObject {
  @Attribute(.unique) var code: Extra
  var title: String = ""
  @Relationship(inverse: "boss") var teams: ToMany<Team>
}

@Entity private final class Team: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: "teams") var boss: Boss?
}

@Entity(isAbstract: true) private class Figure: ManagedObject { var size: Int = 0 }
@Entity private final class Circle: Figure { var radius: Double = 1 }

@Suite("Objects are read from JSON and written as JSON")
struct ObjectJSONTests {
  private func context() throws -> ManagedObjectContext {
    ValueTransformers.register(ReversedSecret(), named: "ReversedSecret")
    let container = try PersistentContainer(
      name: "Staff",
      classes: [
        Person.self, Worker.self, Firm.self, Venture.self, Badge.self, Boss.self, Team.self, Figure.self,
        Circle.self,
      ],
      description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  private func json(_ text: String) -> Data { Data(text.utf8) }

  @Test("Objects with a known unique key are changed, and other objects are inserted")
  func upsert() throws {
    let context = try context()
    let acme = Firm(context: context, name: "Acme")
    let ada = Worker(context: context, salary: 5, company: acme)
    (ada.email, ada.name) = ("ada@x", "Ada")
    try context.save()
    let unsaved = Firm(context: context, name: "Unsaved")
    let found = try context.decode(
      [Worker].self,
      from: json(
        """
        [{"email": "ada@x", "salary": 4200.25, "company": "Unsaved", "unknown": [1, {}]},
         {"email": "ben@x", "company": {"name": "New", "parent": {"name": "Acme"}}, "tags": ["a"]},
         {"email": "cleo@x", "company": "New", "projects": [{"title": "Moon", "year": 1}]},
         {"email": "ben@x", "name": "Ben", "projects": [{"title": "Moon", "year": 1}, {"title": "Moon"}]}]
        """))
    #expect(found.count == 4 && found[0] === ada && found[1] === found[3])
    #expect(ada.name == "Ada" && ada.salary == Decimal(string: "4200.25") && ada.company === unsaved)
    #expect(found[1].name == "Ben" && found[1].tags == ["a"] && found[1].company?.parent === acme)
    #expect(found[2].company === found[1].company && found[1].projects.count == 2)
    #expect(Array(found[2].projects).allSatisfy(found[1].projects.contains) && found[2].projects.count == 1)
    #expect(try context.fetch(Firm.self).count == 3 && context.fetch(Venture.self).count == 2)
    try context.save()
    #expect(try context.fetch(Worker.self).count == 3)
  }

  @Test("Every type of attribute has the JSON of its Swift type")
  func types() throws {
    let context = try context()
    let acme = Firm(context: context, name: "Acme")
    try context.save()
    let worker = try context.decode(
      Worker.self,
      from: json(
        """
        {"email": "a\\u00e9\\"", "born": 700000000.5, "salary": 12345678901234567890.0123, "ratio": 0.1,
         "small": -7, "status": "closed", "key": "E621E1F8-C36C-495A-93FC-0C247A3E6E5F",
         "page": "https://example.org/a?b=c", "picture": "AAEC", "tags": ["x", ""], "extra": {"note": "n", "marks": [3]},
         "mentor": "\(acme.objectID.uri)", "place": {"city": "Paris"}, "mark": 9, "companyName": "ignored"}
        """))
    #expect(worker.email == "aé\"" && worker.born == Date(timeIntervalSinceReferenceDate: 700_000_000.5))
    #expect(worker.salary == Decimal(string: "12345678901234567890.0123") && worker.ratio == 0.1)
    #expect(worker.small == -7 && worker.status == .closed && worker.picture == Data([0, 1, 2]))
    #expect(worker.key?.uuidString == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    #expect(worker.page?.host() == "example.org" && worker.tags == ["x", ""])
    #expect(worker.extra == Extra(note: "n", marks: [3]) && worker.mentor == acme.objectID)
    #expect(worker.place?.city == "Paris" && worker.mark == 4 && worker.companyName == nil)
    _ = try context.decode(
      Worker.self,
      from: json(#"{"email": "aé\"", "born": null, "place": null, "extra": null, "ratio": null}"#))
    #expect(worker.born == nil && worker.place == nil && worker.extra == nil && worker.ratio == nil)
    try context.save()
  }

  @Test("The JSON key `entity` names a subentity, and is required for an abstract entity")
  func subentities() throws {
    let context = try context()
    let found = try context.decode(
      [Person].self,
      from: json(#"[{"email": "a"}, {"entity": "Worker", "email": "b", "small": 3}]"#))
    #expect(type(of: found[0]) == Person.self && (found[1] as? Worker)?.small == 3)
    #expect(
      message { try context.decode([Figure].self, from: json(#"[{"size": 1}]"#)) }?.contains(
        "[0]: Figure is abstract") == true)
    let circle = try context.decode(
      Figure.self, from: json(#"{"entity": "Circle", "radius": 2.5, "size": 1}"#))
    #expect((circle as? Circle)?.radius == 2.5)
    #expect(
      message { try context.decode(Circle.self, from: json(#"{"entity": "Person"}"#)) }?
        .contains("entity: \"Person\" is not Circle") == true)
  }

  /// The message of the error that a body throws.
  private func message<R>(_ body: () throws -> R) -> String? {
    do {
      _ = try body()
      return nil
    } catch let error as PerdureError where error.code == .invalidJSON {
      return error.message
    } catch {
      return "another error: \(error)"
    }
  }

  @Test("A mistake in the JSON causes an error with its path, and changes nothing")
  func mistakes() throws {
    let context = try context()
    let acme = Firm(context: context, name: "Acme")
    let ada = Worker(context: context, company: acme)
    ada.email = "ada@x"
    let member = try context.decode(Person.self, from: json(#"{"email": "person@x"}"#))
    try context.save()
    let good = #"{"email": "ada@x", "salary": 1, "company": {"name": "Other"}}, {"email": "new@x"}"#
    for (bad, expected) in [
      (#"{"email": 5}"#, "[2].email: "), (#"{"email": null}"#, "[2].email: Worker.email must have a value"),
      (#"{"small": 40000}"#, "[2].small: "), (#"{"small": 1.5}"#, "[2].small: "),
      (#"{"status": "opn"}"#, "[2].status: "),
      (#"{"born": "yesterday"}"#, "[2].born: "), (#"{"key": "x"}"#, "[2].key: "),
      (#"{"picture": "?"}"#, "[2].picture: "),
      (#"{"tags": "x"}"#, "[2].tags: "), (#"{"tags": ["x", 1]}"#, "[2].tags[1]: "),
      (#"{"extra": {"note": 1}}"#, "[2].extra"),
      (#"{"place": {"code": "x"}}"#, "[2].place.code: "), (#"{"place": 3}"#, "[2].place: "),
      (#"{"company": {"name": [1]}}"#, "[2].company.name: "),
      (#"{"company": "Nowhere"}"#, "[2].company: There is no Firm with name"),
      (#"{"company": {"parent": {"parent": "Nowhere"}}}"#, "[2].company.parent.parent: There is no Firm"),
      (#"{"projects": null}"#, "[2].projects: "), (#"{"projects": {}}"#, "[2].projects: "),
      (#"{"projects": ["Moon"]}"#, "[2].projects[0]: Expected an object: Venture has no unique attribute"),
      (#"{"email": "person@x"}"#, "[2]: The object with this unique key is Person, not Worker"),
      (#"{"hidden": [1]}"#, "[2].hidden: "), (#"{"salary": "1"}"#, "[2].salary: Expected"),
      (#"3"#, "[2]: "), (#"{"email": }"#, "JSON: "), (#"{"mentor": "x"}"#, "[2].mentor"),
    ] {
      let found = message { try context.decode([Worker].self, from: json("[\(good), \(bad)]")) }
      #expect(found?.hasPrefix(expected) == true, "\(bad): \(found ?? "accepted")")
      #expect(!context.hasChanges && context.insertedObjects.isEmpty, "\(bad)")
      #expect(ada.salary == 0 && ada.company === acme)
    }
    #expect(message { try context.decode([Worker].self, from: json("{}")) }?.hasPrefix("JSON: ") == true)
    #expect(message { try context.decode(Worker.self, from: json("[]")) }?.hasPrefix("JSON: ") == true)
    #expect(message { try context.decode([Worker].self, from: json("")) }?.hasPrefix("JSON: ") == true)
    #expect(member.email == "person@x")
  }

  @Test("A relationship is not written as a key if the unique value of the related object is a JSON object")
  func codableKey() throws {
    let context = try context()
    let boss = Boss(context: context, code: Extra(note: "n"), title: "Chief")
    let team = Team(context: context, name: "A", boss: boss)
    try context.save()
    let data = try context.encode(team)
    #expect(!String(decoding: data, as: UTF8.self).contains("boss"))
    #expect(try context.decode(Team.self, from: data) === team && team.boss === boss)
    let nested = try context.encode(team, including: ["boss"])
    #expect(try context.decode(Team.self, from: nested).boss === boss)
    #expect(try context.fetch(Boss.self).count == 1)
  }

  @Test("Required composites and relationships refuse null, and the error has the path")
  func requiredMembers() throws {
    let context = try context()
    for (text, name) in [
      (#"{"firm": "Acme", "place": null}"#, "place"), (#"{"firm": null, "place": {}}"#, "firm"),
    ] {
      #expect(
        message { try context.decode([Badge].self, from: json("[\(text)]")) }?
          .hasPrefix("[0].\(name): Badge.\(name) must have a value") == true)
      #expect(!context.hasChanges)
    }
  }

  @Test("Objects nested in 64 levels are read and written, and deeper nesting is an error")
  func depth() throws {
    let context = try context()
    func nested(_ levels: Int) -> Data {
      json((1..<levels).reduce("{\"name\": \"c0\"}") { "{\"name\": \"c\($1)\", \"parent\": \($0)}" })
    }
    #expect(
      message { try context.decode(Firm.self, from: nested(65)) }?.contains("deeper than 64") == true)
    #expect(message { try context.decode(Firm.self, from: nested(1000)) } != nil)
    #expect(!context.hasChanges)
    let firm = try context.decode(Firm.self, from: nested(64))
    #expect(try context.fetch(Firm.self).count == 64)
    let path = Array(repeating: "parent", count: 63).joined(separator: ".")
    let data = try context.encode(firm, including: [path])
    #expect(try context.decode(Firm.self, from: data) === firm)
  }

  @Test("JSON with randomly changed bytes is decoded or refused, and a refusal changes nothing")
  func hostile() throws {
    let context = try context()
    var random = SeededGenerator.forTest("damaged JSON of objects")
    let text = Array(
      #"[{"email":"a@x","small":7,"tags":["x"],"place":{"city":"P"},"company":{"name":"n","workers":[{"email":"b"}]}}]"#
        .utf8)
    for _ in 0..<400 {
      var bytes = text
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: place)
        default: bytes.insert(Array("[]{}\",:0-e9ntf".utf8).randomElement(using: &random) ?? 0, at: place)
        }
      }
      if let found = message({ try context.decode([Worker].self, from: Data(bytes)) }) {
        #expect(!found.hasPrefix("another error"), "\(found)")
        #expect(!context.hasChanges)
      }
      context.rollback()
    }
  }

  @Test("Written objects are read back, both nested objects and references by unique keys")
  func roundTrip() throws {
    let context = try context()
    let acme = Firm(context: context, name: "Acme", parent: Firm(context: context, name: "Group"))
    let moon = Venture(context: context, title: "Moon", year: 1)
    let ada = Worker(
      context: context, salary: 42.75, ratio: -1e300, small: 3, status: .closed, key: UUID(),
      page: URL(string: "https://example.org"), picture: Data([1, 255]), tags: ["a", "b"],
      extra: Extra(note: "n"), hidden: Secret(word: "xy"), place: Place(city: "Lyon", code: 9), company: acme,
      projects: [moon])
    (ada.email, ada.name, ada.born) = ("ada@x", "Ada", Date(timeIntervalSinceReferenceDate: 0.1))
    let ben = Worker(context: context, company: acme)
    ben.email = "ben@x"
    try context.save()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let paths = ["company.parent", "projects"]
    let data = try context.encode([ada, ben], including: paths, using: encoder)

    let other = try self.context()
    let found = try other.decode([Worker].self, from: data)
    try other.save()
    #expect(found[0].salary == 42.75 && found[0].born == ada.born && found[0].extra == Extra(note: "n"))
    #expect(found[0].place == Place(city: "Lyon", code: 9) && found[0].companyName == "Acme")
    #expect(found[0].hidden == Secret(word: "xy") && found[1].hidden == nil)
    #expect(found[0].company === found[1].company && found[0].company?.parent?.name == "Group")
    #expect(found[0].projects.map(\.title) == ["Moon"] && found[1].place == nil)
    #expect(try other.encode(found, including: paths, using: encoder) == data)

    let short = String(decoding: try context.encode(ada, using: encoder), as: UTF8.self)
    #expect(short.contains("\"companyWeight\":0.1,") && short.contains("\"hidden\":\"eXg=\""))
    #expect(short.contains("\"company\":\"Acme\"") && !short.contains("projects"))
    let base = try context.encode(context.object(with: ada.objectID), using: encoder)
    #expect(base == Data(short.utf8))
    let people = String(decoding: try context.encode([ada] as [Person], using: encoder), as: UTF8.self)
    #expect(people.contains("\"entity\":\"Worker\""))
    let company = try context.encode(acme, including: ["workers.company.workers"], using: encoder)
    #expect(try context.decode(Firm.self, from: company) === acme && Array(acme.workers) == [ada, ben])
  }

  @Test("The strategies of encoder and decoder apply, and the decoder's user info is restored afterwards")
  func strategies() throws {
    let context = try context()
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.keyEncodingStrategy = .convertToSnakeCase
    let person = Person(context: context, email: "a", born: Date(timeIntervalSince1970: 0))
    let text = String(decoding: try context.encode(person, using: encoder), as: UTF8.self)
    #expect(text.contains("\"1970-01-01T00:00:00Z\""))
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let found = try context.decode(
      Worker.self, from: json(#"{"email": "b", "born": "2001-01-01T00:00:01Z"}"#), using: decoder)
    #expect(found.born?.timeIntervalSinceReferenceDate == 1 && decoder.userInfo.isEmpty)
  }

  @Test("Writing throws for a value that JSON cannot represent, and for an object that no longer exists")
  func unwritable() throws {
    let context = try context()
    let worker = Worker(context: context, ratio: .infinity)
    worker.email = "a"
    #expect(message { try context.encode([worker]) }?.hasPrefix("[0].ratio: ") == true)
    worker.ratio = 1
    try context.save()
    context.delete(worker)
    try context.save()
    let error = #expect(throws: PerdureError.self) { try context.encode([worker]) }
    #expect(error?.code == .objectNotFound)
  }
}
