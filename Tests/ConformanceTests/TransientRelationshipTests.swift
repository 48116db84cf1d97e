import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Track: ManagedObject {
  var title: String?
  @Relationship(inverse: "playing", transient: true) var players: ToMany<Player>
  @Relationship(transient: true) var follower: Track?
}

@Entity private final class Player: ManagedObject {
  var name: String?
  @Relationship(inverse: "players", transient: true) var playing: Track?
  @Relationship(inverse: "partner", deleteRule: .cascade, transient: true) var partner: Player?
  @Relationship(deleteRule: .deny, maxCount: 2, transient: true) var queue: ToMany<Track>
}

/// Behaviours T2, T3, T5, R3, R4, R8 and R10 of Core Data (README.md): transient relationships.
@Suite("Transient relationships")
struct TransientRelationshipTests {
  private func context() throws -> ManagedObjectContext {
    try Sandbox(Track.self, Player.self).container.newContext()
  }

  /// Saves two tracks and two players.
  private func band(_ context: ManagedObjectContext) throws -> (tracks: [Track], players: [Player]) {
    let tracks = ["a", "b"].map { title in
      let track = Track(context: context)
      track.title = title
      return track
    }
    let players = ["x", "y"].map { name in
      let player = Player(context: context)
      player.name = name
      return player
    }
    try context.save()
    return (tracks, players)
  }

  @Test("T5 R10 Both ends change together, and a to-one end drops its earlier object")
  func ends() throws {
    let context = try context()
    let (tracks, players) = try band(context)
    players[0].playing = tracks[0]
    tracks[0].players.insert(players[1])
    #expect(Set(tracks[0].players) == Set(players) && players[1].playing === tracks[0])
    players[0].playing = tracks[1]
    #expect(Array(tracks[0].players) == [players[1]] && Array(tracks[1].players) == [players[0]])
    tracks[0].players.insert(players[0])
    #expect(Set(tracks[0].players) == Set(players) && tracks[1].players.isEmpty)
    players[0].playing = tracks[1]
    players[0].partner = players[1]
    #expect(players[1].partner === players[0])
    players[0].partner = players[0]
    #expect(players[0].partner === players[0] && players[1].partner == nil)
    players[0].setValue(nil, forKey: "playing")
    #expect(tracks[1].players.isEmpty && (tracks[0].value(forKeyPath: "players.@count") as? Int) == 1)
  }

  @Test("T5 A save keeps the links but does not write them, and other contexts have no links")
  func save() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("band.perdure")
    func open() throws -> PersistentContainer {
      let container = try PersistentContainer(
        name: "Band", classes: [Track.self, Player.self], description: .init(path: path))
      try container.loadPersistentStores()
      return container
    }
    let container = try open()
    let context = container.newContext()
    let (tracks, players) = try band(context)
    let other = container.newContext()
    let same = try #require(try other.fetch(FetchRequest<Player>()).first { $0.name == "x" })
    players[0].playing = tracks[0]
    #expect(players[0].isUpdated && tracks[0].isUpdated && !players[0].hasPersistentChangedValues)
    #expect(players[0].changedValues().keys.sorted() == ["playing"])
    // Another context writes the row before the save. A save that writes nothing causes no
    // conflict.
    same.name = "z"
    try other.save()
    try context.save()
    #expect(!context.hasChanges && players[0].playing === tracks[0] && tracks[0].players.count == 1)
    context.refresh(players[0], mergeChanges: true)
    #expect(players[0].name == "z" && players[0].playing === tracks[0] && same.playing == nil)
    #expect(players[0].committedValues(forKeys: ["playing"])["playing"] as? Track === tracks[0])
    try container.close()
    let reopened = try open()
    #expect(try reopened.newContext().fetch(FetchRequest<Player>()).allSatisfy { $0.playing == nil })
    #expect(try reopened.newContext().fetch(FetchRequest<Track>()).allSatisfy { $0.players.isEmpty })
    try reopened.close()
  }

  @Test("T5 Links can be created and saved in a read-only store")
  func readOnly() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("band.perdure")
    let writer = try PersistentContainer(
      name: "Band", classes: [Track.self, Player.self], description: .init(path: path))
    try writer.loadPersistentStores()
    _ = try band(writer.newContext())
    try writer.close()
    var description = PersistentStoreDescription(path: path)
    description.isReadOnly = true
    let reader = try PersistentContainer(
      name: "Band", classes: [Track.self, Player.self], description: description)
    try reader.loadPersistentStores()
    let context = reader.newContext()
    let track = try #require(try context.fetch(FetchRequest<Track>()).first)
    let player = try #require(try context.fetch(FetchRequest<Player>()).first)
    track.players.replace(with: [player])
    try context.save()
    #expect(!context.hasChanges && player.playing === track)
  }

  @Test("T2 A rollback restores the links of the last save")
  func rollback() throws {
    let context = try context()
    let (tracks, players) = try band(context)
    players[0].playing = tracks[0]
    try context.save()
    players[0].playing = tracks[1]
    tracks[0].players.insert(players[1])
    context.rollback()
    #expect(players[0].playing === tracks[0] && players[1].playing == nil && tracks[1].players.isEmpty)
    context.reset()
    let found = try context.fetch(FetchRequest<Player>())
    #expect(found.allSatisfy { $0.playing == nil })
  }

  @Test(
    "T2 A refresh without merging removes links at both ends, and a merging refresh keeps links")
  func refreshes() throws {
    let context = try context()
    let (tracks, players) = try band(context)
    for player in players { player.playing = tracks[0] }
    tracks[1].follower = tracks[0]
    try context.save()
    context.refresh(players[0], mergeChanges: true)
    #expect(players[0].playing === tracks[0])
    context.refresh(players[0], mergeChanges: false)
    #expect(players[0].playing == nil && Array(tracks[0].players) == [players[1]])
    // A one-way link to the refreshed object belongs to the other object, and stays.
    context.refresh(tracks[0], mergeChanges: false)
    #expect(tracks[1].follower === tracks[0] && players[1].playing == nil)
    players[1].playing = tracks[0]
    try context.save()
    players[1].name = "changed"
    context.refreshAllObjects()
    #expect(players[1].playing === tracks[0] && tracks[1].follower == nil)
    try context.save()
    context.refreshAllObjects()
    #expect(players[1].playing == nil)
  }

  @Test("R4 Delete rules apply: cascade, deny and nullify")
  func deletions() throws {
    let context = try context()
    let (tracks, players) = try band(context)
    players[0].partner = players[1]
    players[0].playing = tracks[0]
    tracks[1].follower = tracks[0]
    try context.save()
    let plan = try context.plan(delete: [players[0]])
    #expect(plan.cascaded.map(\.objectID) == [players[1].objectID])
    #expect(plan.nullified.map(\.owner) == [tracks[0].objectID])
    #expect(
      try context.plan(delete: [tracks[0]]).nullified.map(\.owner) == [
        players[0].objectID, tracks[1].objectID,
      ])
    context.delete(players[0])
    context.delete(tracks[0])
    context.processPendingChanges()
    #expect(tracks[1].follower == nil && tracks[1].isUpdated && players[1].isDeleted)
    try context.save()
    #expect(try context.count(for: FetchRequest<Player>()) == 0 && tracks[1].follower == nil)
    let player = Player(context: context)
    player.queue.replace(with: [tracks[1]])
    try context.save()
    context.delete(player)
    #expect(refusals(context) == ["1600 queue"])
    player.queue.removeAll()
    #expect(refusals(context) == [])
  }

  @Test("R3 Limits are checked for new links, required ends for new objects; unchanged ends are not checked")
  func limits() throws {
    let context = try context()
    let (tracks, players) = try band(context)
    let third = Track(context: context)
    players[0].queue.replace(with: [tracks[0], tracks[1], third])
    #expect(refusals(context) == ["1590 queue"])
    players[0].queue.remove(third)
    #expect(refusals(context) == [])
    let model = try ManagedObjectModel([
      EntityDescription("E", properties: [.string("a"), .toOne("e", "E", optional: false, transient: true)])
    ])
    let other = try Sandbox(model).container.newContext()
    let object = other.insertNewObject(forEntityName: "E")
    #expect(refusals(other) == ["1570 e"])
    object["e"] = object
    #expect(refusals(other) == [])
    other.refresh(object, mergeChanges: false)
    object["a"] = "changed"
    #expect(object["e"] == nil && refusals(other) == [])
    object["e"] = object
    object["e"] = nil
    #expect(refusals(other) == [])
  }

  @Test("Links to an object are removed when another context deletes the object")
  func vanished() throws {
    let container = try Sandbox(Track.self, Player.self).container
    let context = container.newContext()
    let (tracks, players) = try band(context)
    players[0].playing = tracks[0]
    tracks[1].follower = tracks[0]
    try context.save()
    tracks[1].players.insert(players[1])
    try context.save()
    players[1].playing = tracks[0]
    let other = container.newContext()
    other.delete(try #require(try other.fetch(FetchRequest<Track>()).first { $0.title == "a" }))
    try other.save()
    context.refresh(players[1], mergeChanges: true)
    #expect(players.allSatisfy { $0.playing == nil } && tracks[1].follower == nil)
    #expect(tracks[1].objectIDs(forRelationshipNamed: "follower").isEmpty)
    try context.save()
    #expect(players.allSatisfy { $0.playing == nil } && !context.hasChanges)
    tracks[1].players.insert(players[0])
    try context.save()
    other.delete(try #require(try other.fetch(FetchRequest<Player>()).first { $0.name == "x" }))
    try other.save()
    context.refresh(tracks[1], mergeChanges: true)
    #expect(tracks[1].players.isEmpty && tracks[1].objectIDs(forRelationshipNamed: "players").isEmpty)
  }

  @Test("T3 A fetch that filters by or prefetches a transient relationship throws an error")
  func predicates() throws {
    let context = try context()
    let (tracks, players) = try band(context)
    players[0].playing = tracks[0]
    var request = FetchRequest<Player>()
    request.predicate = try FetchPredicate(format: "playing.title == 'a'")
    let error = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(error?.code == .transientAttribute)
    request.predicate = nil
    request.relationshipKeyPathsForPrefetching = ["playing"]
    #expect(throws: FetchError.self) { try context.fetch(request) }
  }

  @Test("Links retain no instances, and listing linked objects creates no instances")
  func instances() throws {
    let context = try context()
    var (tracks, players): ([Track], [Player]) = try band(context)
    players[0].playing = tracks[0]
    try context.save()
    weak let gone = players[0]
    players = []
    #expect(gone == nil)
    #expect(tracks[0].players.count == 1 && tracks[0].objectIDs(forRelationshipNamed: "players").count == 1)
    #expect(gone == nil && !tracks[0].hasFault(forRelationshipNamed: "players"))
    #expect(Array(tracks[0].players).first?.name == "x")
    tracks = []
    let track = try #require(try context.fetch(FetchRequest<Track>()).first { $0.title == "a" })
    #expect(track.players.count == 1)
  }

  @Test("An object that outlives its context has only its unsaved links")
  func outliving() throws {
    let (track, player) = try {
      let context = try context()
      let (tracks, players) = try band(context)
      players[0].playing = tracks[0]
      tracks[0].follower = tracks[1]
      try context.save()
      players[0].queue.insert(tracks[0])
      return (tracks[0], players[0])
    }()
    #expect(track.managedObjectContext == nil && player.managedObjectContext == nil)
    #expect(player.playing == nil && track.follower == nil)
    #expect(track.players.isEmpty && track.players.count == 0)
    // Unsaved links stay, as they do in a stored relationship.
    #expect(Array(player.queue) == [track] && player.queue.count == 1)
    #expect(track.objectIDs(forRelationshipNamed: "players").isEmpty)
  }

  @Test("R8 A link to an object of another store fails the save with 133010")
  func external() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "E",
        properties: [
          .toOne("one", "E", inverse: "many", transient: true),
          .toMany("many", "E", inverse: "one", transient: true),
          .toOne("way", "E", transient: true),
        ])
    ])
    let container = PersistentContainer(
      name: "Two", model: model, classes: [],
      storeDescriptions: [.inMemory, .inMemory])
    try container.loadPersistentStores()
    let context = container.newContext()
    let objects = (0..<2).map { _ in context.insertNewObject(forEntityName: "E") }
    for (object, store) in zip(objects, container.persistentStores) { try context.assign(object, to: store) }
    objects[0]["one"] = objects[1]
    #expect(Set(refusals(context)) == ["133010 one", "133010 many"])
    objects[0]["one"] = nil
    try context.save()
    objects[0]["way"] = objects[1]
    #expect(refusals(context) == ["133010 way"])
    context.rollback()
    #expect(objects[0]["way"] == nil && !context.hasChanges)
  }

  @Test(
    "A new child context has no links, and its save passes new links and deletions to the parent")
  func children() throws {
    let context = try context()
    let (tracks, players) = try band(context)
    players[0].playing = tracks[0]
    try context.save()
    let child = context.newChildContext()
    let below = try child.fetch(FetchRequest<Player>()).sorted { $0.name ?? "" < $1.name ?? "" }
    #expect(below[0].playing == nil)
    below[1].playing = try child.fetch(FetchRequest<Track>()).first { $0.title == "b" }
    try child.save()
    #expect(below[1].playing != nil && players[1].playing === tracks[1] && context.hasChanges)
    child.delete(below[0])
    try child.save()
    #expect(tracks[0].players.isEmpty)
    try context.save()
    #expect(tracks[0].players.isEmpty)
  }

  @Test("A new object that is merged into a stored object passes its links to that object")
  func upsert() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "E",
        properties: [
          .string("key"), .toMany("to", "E", inverse: "from", transient: true),
          .toMany("from", "E", inverse: "to", transient: true),
        ],
        uniquenessConstraints: [["key"]])
    ])
    let context = try Sandbox(model).container.newContext()
    let (old, end) = (
      context.insertNewObject(forEntityName: "E"), context.insertNewObject(forEntityName: "E")
    )
    old["key"] = "k"
    try context.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    let new = context.insertNewObject(forEntityName: "E")
    new["key"] = "k"
    new.mutableSetValue(forKey: "to").insert(end)
    try context.save()
    #expect(old["to"] as? Set<ManagedObject> == [end] && end["from"] as? Set<ManagedObject> == [old])
  }
}
