import Perdure
import Testing

// Parity with Core Data for relationships.

@Entity private class Band: ManagedObject {
  var name: String = "band"
  @Relationship(inverse: "band", deleteRule: .cascade) var songs: OrderedToMany<Song>
  @Relationship(inverse: "bands") var fans: ToMany<Admirer>
  @Relationship(inverse: "leads") var leader: Admirer?
}

@Entity private final class Choir: Band {
  var voices: Int = 4
}

@Entity private final class Song: ManagedObject {
  var title: String = "song"
  @Relationship(inverse: "songs") var band: Band?
}

@Entity private final class Admirer: ManagedObject {
  var name: String = "admirer"
  @Relationship(inverse: "fans") var bands: ToMany<Band>
  @Relationship(inverse: "leader") var leads: Band?
}

@Suite("Parity with Core Data: relationships")
struct RelationshipParityTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try Sandbox(Band.self, Choir.self, Song.self, Admirer.self).container
    context = container.newContext()
  }

  private func song(_ title: String) -> Song {
    let song = Song(context: context)
    song.title = title
    return song
  }

  private func titles(_ band: Band) -> [String] { band.songs.map(\.title) }

  @Test("R1 A relationship of type Admirer? is to-one, and ToMany and OrderedToMany are to-many")
  func cardinality() throws {
    let entity = try #require(container.managedObjectModel.entitiesByName["Band"])
    let isToMany = Dictionary(uniqueKeysWithValues: entity.relationships.map { ($0.name, $0.isToMany) })
    #expect(isToMany == ["songs": true, "fans": true, "leader": false])
    let band = Band(context: context)
    #expect(band.value(forKey: "leader") == nil && band.value(forKey: "fans") is Set<ManagedObject>)
  }

  @Test("R5 A cascade and a nullification register no other objects in the context")
  func cost() throws {
    let band = Band(context: context)
    for number in 0..<50 {
      band.songs.append(song("\(number)"))
      let admirer = Admirer(context: context)
      admirer.bands.insert(band)
    }
    try context.save()
    let other = container.newContext()
    // The context retains its objects here, so objects that exist only temporarily are also
    // counted.
    other.retainsRegisteredObjects = true
    let same = try #require(try other.existingObject(with: band.objectID) as? Band)
    other.delete(same)
    other.processPendingChanges()
    #expect(other.registeredObjects == [same])
    try other.save()
    #expect(other.registeredObjects.filter { $0 !== same }.isEmpty)
    let left = container.newContext()
    #expect(try left.count(for: Song.fetchRequest()) == 0)
    #expect(try left.fetch(Admirer.fetchRequest()).allSatisfy { $0.bands.isEmpty })
  }

  @Test("R6 An ordered relationship keeps its order after edits and in the store")
  func order() throws {
    let band = Band(context: context)
    band.songs.append(contentsOf: ["a", "b", "d"].map(song))
    band.insertIntoSongs(song("c"), at: 2)
    #expect(titles(band) == ["a", "b", "c", "d"])
    try context.save()
    band.songs.move(from: 3, to: 0)
    band.songs.remove(at: 2)
    #expect(titles(band) == ["d", "a", "c"])
    try context.save()
    let same = try #require(try container.newContext().existingObject(with: band.objectID) as? Band)
    #expect(titles(same) == ["d", "a", "c"])
    #expect(same.songs[1].title == "a" && same.songs.firstIndex(of: same.songs[2]) == 2)
  }

  @Test("R7 To-many accessors, typed and by name, change the same relationship")
  func accessors() throws {
    let (band, admirer) = (Band(context: context), Admirer(context: context))
    band.addToFans(admirer)
    #expect(band.mutableSetValue(forKey: "fans").contains(admirer))
    band.mutableSetValue(forKey: "fans").remove(admirer)
    #expect(admirer.bands.isEmpty)
    let songs = band.mutableOrderedSetValue(forKey: "songs")
    songs.append(song("b"))
    songs.insert(song("a"), at: 0)
    #expect(titles(band) == ["a", "b"] && songs[1].value(forKey: "title") as? String == "b")
    songs.replace(at: 0, with: song("z"))
    #expect(titles(band) == ["z", "b"])
    band.removeFromSongs(band.songs[0])
    #expect(titles(band) == ["b"])
  }

  @Test("R7 Ids of a relationship and hasFault(forRelationshipNamed:) can be read without creating objects")
  func faults() throws {
    let band = Band(context: context)
    for _ in 0..<3 { band.fans.insert(Admirer(context: context)) }
    try context.save()
    let other = container.newContext()
    let same = try #require(other.object(with: band.objectID) as? Band)
    #expect(same.objectIDs(forRelationshipNamed: "fans").count == 3)
    #expect(same.hasFault(forRelationshipNamed: "fans") && same.hasFault(forRelationshipNamed: "leader"))
    #expect(same.isFault && other.registeredObjects == [same])
    #expect(same.name == "band" && !same.hasFault(forRelationshipNamed: "leader"))
    #expect(same.fans.count == 3 && same.fans.allSatisfy { $0.name == "admirer" })
  }

  @Test("R9 Many-to-many relationships can be changed from either end")
  func manyToMany() throws {
    let bands = (0..<3).map { _ in Band(context: context) }
    let admirers = (0..<2).map { _ in Admirer(context: context) }
    admirers[0].bands.insert(contentsOf: bands)
    bands[0].fans.insert(admirers[1])
    try context.save()
    bands[1].fans.remove(admirers[0])
    #expect(admirers[0].bands.count == 2 && bands[0].fans.count == 2 && bands[1].fans.isEmpty)
    context.delete(admirers[0])
    try context.save()
    let other = container.newContext()
    let counts = try bands.map { band in
      try #require(try other.existingObject(with: band.objectID) as? Band).fans.count
    }
    #expect(counts == [1, 0, 0])
  }

  @Test("Q3 A fetch sees unsaved insertions, updates and deletions, unless the request excludes them")
  func pending() throws {
    let songs = ["a", "b", "c"].map(song)
    try context.save()
    songs[0].title = "x"
    songs[1].title = "a"
    let new = song("a")
    context.delete(songs[2])
    let request = Song.fetchRequest { $0.title == "a" }
    #expect(try Set(context.fetch(request)) == [songs[1], new] && context.count(for: request) == 2)
    #expect(try context.fetch(Song.fetchRequest { $0.title == "c" }).isEmpty)
    var stored = request
    stored.includesPendingChanges = false
    #expect(try context.count(for: stored) == 1)
  }

  @Test(
    "M6 A fetch of an entity includes objects of subentities unless the request excludes them")
  func subentities() throws {
    let (band, choir) = (Band(context: context), Choir(context: context))
    var request = Band.fetchRequest()
    #expect(try Set(context.fetch(request)) == [band, choir])
    request.includesSubentities = false
    #expect(try context.fetch(request) == [band])
    try context.save()
    #expect(try context.fetch(request) == [band] && context.count(for: request) == 1)
    #expect(try context.fetch(Choir.fetchRequest()) == [choir])
  }
}
