import Foundation
import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Entity private class Player: ManagedObject {
  var name: String = ""
  var age: Int = 0
  var note: String?
  @Relationship(inverse: "players") var team: Team?
  @Attribute(.transient) var held: Any?
  @Attribute(.transient) var seen: Int = 3
}

@Entity private final class Team: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "team") var players: ToMany<Player>
}

/// A player with a relationship that other players do not have.
@Entity private final class Substitute: Player {
  @Relationship var place: Player?
}

@Suite("Snapshots of objects")
struct SnapshotTests {
  /// A company with two workers, and a project.
  private func graph(_ context: ManagedObjectContext) throws -> (Company, Employee) {
    let (company, worker) = (context.company("C"), context.worker("W"))
    (worker.company, context.worker("V").company) = (company, company)
    company.chief = worker
    let project = Project(context: context)
    project.title = "P"
    project.members.insert(worker)
    try context.save()
    return (company, worker)
  }

  @Test("A snapshot has attributes, ids of to-one objects, and the followed relationships")
  func contents() throws {
    let context = try Staff.context()
    let (company, worker) = try graph(context)
    worker.salary = 7
    let alone = try worker.snapshot()
    #expect(alone.objectID == worker.objectID && alone["salary"]?.value == .integer(7))
    #expect(alone["email"] == .attribute(.null) && alone["email"]?.value == nil)
    #expect(alone["company"] == .reference(company.objectID) && alone["mentor"] == .reference(nil))
    #expect(alone["leads"] == .reference(company.objectID))
    #expect(alone["projects"] == nil && alone["nonsense"] == nil)
    let deep = try worker.snapshot(including: ["company.workers", "projects", "mentor"])
    #expect(deep["company"]?.object?["name"]?.value == .string("C"))
    let colleagues = deep["company"]?.object?["workers"]?.objects
    #expect(colleagues?.map { $0["name"]?.value } == [.string("W"), .string("V")])
    #expect(deep["projects"]?.objects.first?["memberCount"]?.value == .integer(1))
    #expect(deep["mentor"] == .object(nil))
    worker.salary = 8
    #expect(try deep["salary"]?.value == .integer(7) && deep != worker.snapshot(including: ["company"]))
    #expect(try worker.snapshot() == worker.snapshot())
  }

  @Test("A typed snapshot has the properties of its object and is Sendable")
  func types() async throws {
    let context = try teams()
    let player = Player(context: context)
    (player.name, player.age, player.held) = ("P", 4, 1)
    let picture = try TypedSnapshot(player, including: \.team)
    #expect(picture.name == "P" && picture.age == 4 && picture.note == nil && picture.team == nil)
    #expect(picture.objectID == player.objectID && picture.seen == 3)
    #expect(picture.contents["seen"]?.value == .integer(3) && picture.contents["held"] == nil)
    let sent = await Task { picture.name + "!" }.value
    #expect(sent == "P!")
    let (_, worker) = try graph(try Staff.context())
    let deep = try TypedSnapshot(worker, including: ["company"])
    #expect(deep.name == "W" && deep.email == nil && deep.company?.name == "C")
  }

  @Test("A typed snapshot keeps the types of to-many relationships")
  func manyTypes() throws {
    let context = try teams()
    let team = Team(context: context)
    for name in ["a", "b"] {
      let player = Player(context: context)
      (player.name, player.team) = (name, team)
    }
    let picture = try TypedSnapshot(team, including: \.players)
    #expect(picture.players.map(\.name) == ["a", "b"] && picture.players.map(\.age) == [0, 0])
  }

  private func teams() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Teams", classes: [Player.self, Team.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("Every kind of value is decoded from JSON unchanged, and equal snapshots have equal text")
  func coding() throws {
    let context = try Staff.context()
    let sample = Sample(context: context)
    (sample.large, sample.double, sample.single) = (.min, .nan, .infinity)
    sample.exact = try #require(Decimal(string: "12345678901234567890.123456789"))
    sample.identifier = UUID()
    sample.bytes = Data([0, 255])
    sample.link = URL(string: "https://example.org/ä?x=1")
    sample.moment = Date(timeIntervalSinceReferenceDate: 0.1 + 0.2)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    func again(_ snapshot: ObjectSnapshot) throws -> ObjectSnapshot {
      let text = try encoder.encode(snapshot)
      let back = try JSONDecoder().decode(ObjectSnapshot.self, from: text)
      #expect(try encoder.encode(back) == text)
      return back
    }
    #expect(try again(sample.snapshot()) == sample.snapshot())
    sample.double = -.infinity
    #expect(try again(sample.snapshot()) == sample.snapshot())
    let (_, worker) = try graph(context)
    let deep = try worker.snapshot(including: ["company.workers.projects", "mentor"])
    #expect(try again(deep) == deep)
  }

  @Test("A snapshot is encoded as the documented JSON")
  func textForm() throws {
    let context = try Staff.context()
    let contract = Contract(context: context)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    func text() throws -> String { String(decoding: try encoder.encode(contract.snapshot()), as: UTF8.self) }
    let id = contract.objectID.uri
    #expect(try text() == "{\"id\":\"\(id)\",\"properties\":{\"company\":{\"none\":true}}}")
    contract.company = context.company("C")
    let other = try #require(contract.company).objectID.uri
    #expect(try text() == "{\"id\":\"\(id)\",\"properties\":{\"company\":{\"id\":\"\(other)\"}}}")
  }

  @Test(
    "Text that is not a snapshot is refused",
    arguments: [
      "{}", "[]", "{\"id\":\"x\",\"properties\":{}}", property("{}"), property("{\"number\":1}"),
      property("{\"integer\":1.5}"), property("{\"uuid\":\"no\"}"), property("{\"data\":\"*\"}"),
      property("{\"double\":\"many\"}"), property("{\"integer\":1,\"string\":\"\"}"),
      property("{\"decimal\":\"x\"}"), property("{\"objects\":{}}"), property("{\"decimal\":\"12abc\"}"),
      property("{\"null\":17}"), property("{\"none\":false}"), property("{\"nothing\":[]}"),
    ])
  func refused(text: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(ObjectSnapshot.self, from: Data(text.utf8))
    }
  }

  @Test("An included path can name a property of a subentity that other objects lack")
  func subentityPaths() throws {
    let container = try PersistentContainer(
      name: "Players", classes: [Player.self, Team.self, Substitute.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let team = Team(context: context)
    let (player, substitute) = (Player(context: context), Substitute(context: context))
    player.team = team
    substitute.team = team
    substitute.place = player
    let snapshot = try team.snapshot(including: ["players.place"])
    let players = try #require(snapshot["players"]).objects
    #expect(players.map { $0["place"] != nil } == [false, true])
    let typed = TypedSnapshot<Team>(snapshot)
    #expect(typed.players.count == 2 && typed.contents == snapshot)
  }

  @Test("Encoding rejects a value that no attribute can store")
  func unwritable() throws {
    let property = ObjectSnapshot.Property.attribute(.list([.integer(1)]))
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(property) }
  }

  private static func property(_ text: String) -> String {
    "{\"id\":\"x-perdure://s/E/p1\",\"properties\":{\"a\":\(text)}}"
  }

  @Test("A container finds the id of a URI, as text or URL, only if the URI's store is open")
  func uris() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let worker = context.worker("W")
    try context.save()
    let id = worker.objectID
    #expect(container.managedObjectID(forURI: id.uri) == id && context.managedObjectID(forURI: id.uri) == id)
    let url = try #require(id.uriRepresentation())
    #expect(ManagedObjectID(uriRepresentation: url) == id)
    #expect(container.managedObjectID(forURIRepresentation: url) == id)
    let back = try #require(context.managedObjectID(forURIRepresentation: url))
    #expect(try context.existingObject(with: back) === worker)
    #expect(try Staff.container().managedObjectID(forURIRepresentation: url) == nil)
    let abstract = id.uri.replacingOccurrences(of: "Employee", with: "Party")
    #expect(context.managedObjectID(forURI: abstract) == nil)
    #expect(ManagedObjectID(uriRepresentation: try #require(URL(string: "https://example.org"))) == nil)
  }

  @Test("Entity names in any script can be used in the URLs of ids")
  func foreignNames() throws {
    let names = ["Größe", "AA", "名前"]
    let model = try ManagedObjectModel(names.map { EntityDescription($0, properties: [.string("x")]) })
    let container = PersistentContainer(
      name: "G", model: model, classes: [], description: .inMemory, factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let objects = names.map { context.insertNewObject(forEntityName: $0) }
    try context.save()
    for object in objects {
      let url = try #require(object.objectID.uriRepresentation())
      #expect(context.managedObjectID(forURIRepresentation: url) == object.objectID)
      #expect(context.managedObjectID(forURI: object.objectID.uri) == object.objectID)
    }
  }

  @Test(
    "An entity name with characters that URLs forbid survives URL encoding of the id",
    arguments: ["A%41", "50%", "a b", "x?y#z", "%2F", "+&="])
  func escapedNames(name: String) throws {
    let id = try #require(ManagedObjectID(uri: "x-perdure://s/\(name)/p1"))
    let back = ManagedObjectID(uriRepresentation: try #require(id.uriRepresentation()))
    #expect(back == id && back?.entityName == name)
  }

  @Test(
    "No id can be made from a URL with an invalid escape", arguments: ["%+A", "%-0", "%4", "%", "%G0", "%FF"])
  func wrongEscapes(escape: String) throws {
    #expect(ManagedObjectID(uriRepresentation: try #require(URL(string: "x-perdure://s/%41/p1"))) != nil)
    // The initializer of URL may reject the escape. Then no URL exists to test.
    guard let url = URL(string: "x-perdure://s/A\(escape)/p1", encodingInvalidCharacters: false) else {
      return
    }
    #expect(ManagedObjectID(uriRepresentation: url) == nil)
    // The URL is also invalid with a further path component.
    guard let longer = URL(string: "x-perdure://s/A\(escape)/E/p1", encodingInvalidCharacters: false) else {
      return
    }
    #expect(ManagedObjectID(uriRepresentation: longer) == nil)
  }

  @Test("A snapshot of a deleted object throws unless the object is loaded")
  func removed() throws {
    let container = try Staff.container()
    let context = container.newContext()
    let (worker, company) = (context.worker("W"), context.company("C"))
    worker.company = company
    try context.save()
    let other = container.newContext()
    let fault = other.object(with: worker.objectID)
    context.delete(worker)
    try context.save()
    other.rollback()
    let error = #expect(throws: PerdureError.self) { try fault.snapshot() }
    #expect(error?.code == .objectNotFound)
    #expect(try worker.snapshot()["name"]?.value == .string("W"))
  }
}
