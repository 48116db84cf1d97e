import Foundation
import Perdure
import PerdurePredicates
import PerdureTestSupport
import Testing

private struct Move: Codable, Equatable {
  var from: Int
  var name: String?
  var when: Date = Date(timeIntervalSinceReferenceDate: 0.1)
}

@Entity private final class Player: ManagedObject {
  var name: String = ""
  var tags: [String] = []
  var scores: [String: Int] = ["first": 1]
  var moves: [[Move]]?
  var holes: [Double?] = [1, nil]
  @Attribute(.indexed) var ranks: [Int: [Bool]]?
  var needed: [Int]
  @Attribute(.composite) var bag: Bag?
}

@Composite private struct Bag: Equatable {
  var items: [String] = ["map"]
  var counts: [String: Int]?
}

/// The same entity, whose attributes have other types.
@Entity("Player") private final class OtherPlayer: ManagedObject {
  var name: String = ""
  var tags: [Int] = []
  var scores: [String: String] = [:]
  var moves: [[Int]]?
  var holes: [Double?] = [1, nil]
  @Attribute(.indexed) var ranks: [Int: [Bool]]?
  var needed: [Int]
  @Attribute(.composite) var bag: Bag?
}

@Suite("Arrays and dictionaries of Codable values are attributes")
struct CodableCollectionTests {
  private func container(
    _ type: ManagedObject.Type = Player.self, _ description: PersistentStoreDescription = .inMemory
  ) throws -> PersistentContainer {
    let container = try PersistentContainer(name: "Players", classes: [type], description: description)
    try container.loadPersistentStores()
    return container
  }

  @Test("Collections are stored as transformable attributes with their initial values")
  func description() throws {
    let attributes = Player.entityDescription.properties.compactMap { property in
      if case .attribute(let attribute) = property { attribute } else { nil }
    }
    #expect(attributes.map(\.name) == ["name", "tags", "scores", "moves", "holes", "ranks", "needed"])
    #expect(attributes.dropFirst().allSatisfy { $0.type == .transformable })
    #expect(attributes.map(\.isOptional) == [false, false, false, true, false, true, false])
    #expect(attributes[1].defaultValue == .data(Data("[]".utf8)))
    #expect(
      attributes[2].defaultValue == .data(Data("{\"first\":1}".utf8)) && attributes[6].defaultValue == nil)
  }

  @Test("Another context reads empty, nested, optional and large collections unchanged")
  func roundTrip() throws {
    let container = try container()
    let context = container.newContext()
    let player = Player(context: context, needed: [])
    #expect(
      player.tags == [] && player.scores == ["first": 1] && player.moves == nil && player.holes == [1, nil])
    player.moves = [[], [Move(from: 1, name: "a/\"b\""), Move(from: -5)]]
    player.ranks = [3: [true, false], -1: []]
    player.scores["second"] = 2
    player.tags.append("x")
    player.holes = [nil, .infinity, 0.1]
    player.needed = (0..<100_000).map { $0 * $0 }
    player.bag = Bag(items: [], counts: ["a": 1])
    try context.save()
    let found = try #require(try container.newContext().fetch(Player.self).first)
    #expect(found.moves == [[], [Move(from: 1, name: "a/\"b\""), Move(from: -5)]])
    #expect(found.ranks == [3: [true, false], -1: []] && found.scores == ["first": 1, "second": 2])
    #expect(found.tags == ["x"] && found.holes == [nil, .infinity, 0.1])
    #expect(found.needed.count == 100_000 && found.needed.last == 99_999 * 99_999)
    #expect(found.bag == Bag(items: [], counts: ["a": 1]))
    player.moves = nil
    player.bag = nil
    try context.save()
    let again = try #require(try container.newContext().fetch(Player.self).first)
    #expect(again.moves == nil && again.bag == nil)
  }

  @Test("A required collection without a value reads as empty, and a save refuses it")
  func required() throws {
    let context = try container().newContext()
    let player = Player(context: context)
    #expect(player.needed == [])
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .missingMandatoryProperty && error?.details.map(\.property) == ["needed"])
  }

  @Test("Equal values have the same bytes, for any insertion order of a dictionary")
  func changes() throws {
    var random = SeededGenerator.forTest("dictionaries filled in any order")
    let context = try container().newContext()
    let keys = (0..<40).map { "key \($0)" }
    let player = Player(context: context, scores: [:], needed: [1])
    for key in keys { player.scores[key] = 1 }
    try context.save()
    #expect(!player.hasChanges)
    let stored = try player.snapshot()["scores"]
    for _ in 0..<5 {
      var copy: [String: Int] = [:]
      for key in keys.shuffled(using: &random) { copy[key] = 1 }
      player.scores = copy
      #expect(try player.snapshot()["scores"] == stored)
    }
    player.tags = ["b"]
    #expect(player.hasChanges && player.changedValues()["tags"] != nil)
    context.rollback()
    #expect(player.tags == [] && !player.hasChanges)
  }

  @Test("Snapshots contain collections as JSON, and typed snapshots as typed values")
  func snapshots() throws {
    let context = try container().newContext()
    let player = Player(context: context, tags: ["a"], ranks: [1: [true]], needed: [4])
    let typed = try TypedSnapshot(player)
    player.tags = []
    #expect(typed.tags == ["a"] && typed.ranks == [1: [true]] && typed.moves == nil && typed.needed == [4])
    #expect(typed.contents["tags"]?.value == .data(Data("[\"a\"]".utf8)))
    let copy = try JSONDecoder().decode(ObjectSnapshot.self, from: JSONEncoder().encode(typed.contents))
    #expect(TypedSnapshot<Player>(copy).tags == ["a"])
  }

  @Test("Access by name uses arrays and dictionaries, and refuses other element types")
  func names() throws {
    let context = try container().newContext()
    let player = Player(context: context, needed: [])
    #expect(player["tags"] as? [String] == [] && player["moves"] == nil)
    player["tags"] = ["a", "b"]
    player["holes"] = [1, 2]
    try player.setCheckedValues(["scores": ["x": 5] as [String: Any], "needed": [7, 8] as [Any]])
    #expect(player.tags == ["a", "b"] && player.holes == [1, 2] && player.scores == ["x": 5])
    #expect(player.needed == [7, 8] && player["scores"] as? [String: Int] == ["x": 5])
    for (key, value) in [
      ("tags", [1] as Any), ("needed", [1.5]), ("needed", ["a"]), ("tags", "a"), ("scores", [1]),
    ] {
      let error = #expect(throws: PerdureError.self, "\(key) \(value)") {
        try player.setCheckedValue(value, forKey: key)
      }
      #expect(error?.code == .validation && error?.details.map(\.property) == [key])
    }
    #expect(player.tags == ["a", "b"] && player.needed == [7, 8])
    try player.setCheckedValue(nil, forKey: "moves")
    try context.save()
  }

  @Test("Access by name sets a collection in a composite, or from the bytes of a snapshot")
  func namedBytes() throws {
    let context = try container().newContext()
    let player = Player(context: context, needed: [])
    player.bag = Bag()
    player["bag.items"] = ["lamp"]
    #expect(player.bag?.items == ["lamp"] && player["bag.items"] as? [String] == ["lamp"])
    try player.setCheckedValue(Value.data(Data("[\"a\"]".utf8)), forKey: "tags")
    try player.setCheckedValue(Data("{\"x\":2}".utf8), forKey: "scores")
    #expect(player.tags == ["a"] && player.scores == ["x": 2])
    for bytes in [Value.data(Data("[1]".utf8)) as Any, Data("[1]".utf8)] {
      let error = #expect(throws: PerdureError.self) { try player.setCheckedValue(bytes, forKey: "tags") }
      #expect(error?.code == .validation && player.tags == ["a"])
    }
  }

  @Test("Undecodable bytes read as empty or nil, stay stored, and throw if read by name")
  func undecodable() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("collections-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let description = PersistentStoreDescription(path: folder.path)
    let writing = try container(Player.self, description)
    let context = writing.newContext()
    let player = Player(context: context, tags: ["a"], moves: [[Move(from: 1)]], needed: [1])
    player.scores = ["a": 1]
    try context.save()
    try writing.close()

    let reading = try container(OtherPlayer.self, description)
    let readingContext = reading.newContext()
    let other = try #require(try readingContext.fetch(OtherPlayer.self).first)
    #expect(other.tags == [] && other.moves == nil && other.scores == [:] && other.needed == [1])
    for key in ["tags", "moves", "scores"] {
      let error = #expect(throws: PerdureError.self) { try other.checkedValue(forKey: key) }
      #expect(error?.code == .validation && error?.details.map(\.property) == [key])
      #expect(error?.message.contains("holds bytes that are not the JSON of a") == true)
    }
    #expect(try other.checkedValue(forKey: "needed") as? [Int] == [1])
    other.name = "changed"
    other.tags = [5]
    try readingContext.save()
    #expect(try other.checkedValue(forKey: "tags") as? [Int] == [5])
    try reading.close()

    let again = try container(Player.self, description)
    let found = try #require(try again.newContext().fetch(Player.self).first)
    #expect(found.moves == [[Move(from: 1)]] && found.scores == ["a": 1] && found.tags == [])
    try again.close()
  }

  @Test("A value that cannot be encoded is refused by the save")
  func unencodable() throws {
    struct Refused: Codable {
      func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
    }
    let context = try container().newContext()
    let player = Player(context: context, needed: [1])
    player.setValue([Refused()], forKey: "tags")
    #expect(throws: PerdureError.self) { try context.save() }
  }

  @Test("Queries can compare whole collections with a value or with nil, but not sort by them")
  func queries() throws {
    let context = try container().newContext()
    for (name, tags, ranks) in [("a", ["x"], [1: [true]]), ("b", [], nil), ("c", ["x", "y"], [:])] {
      _ = Player(context: context, name: name, tags: tags, ranks: ranks, needed: [])
    }
    try context.save()
    func names(_ query: (EntityRef<Player>) -> FetchPredicate) throws -> [String] {
      try context.fetch(Player.self, order: [FetchOrder(\Player.name)], where: query).map(\.name)
    }
    #expect(try names { $0.tags == ["x"] } == ["a"])
    #expect(try names { $0.tags != ["x"] } == ["b", "c"])
    #expect(try names { $0.ranks == nil } == ["b"] && names { $0.ranks == [1: [true]] } == ["a"])
    #expect(try names { $0.moves == nil && $0.tags == [] } == ["b"])
    #expect(throws: FetchError.self) {
      try context.fetch(Player.self, order: [FetchOrder(\Player.tags)])
    }
  }
}
