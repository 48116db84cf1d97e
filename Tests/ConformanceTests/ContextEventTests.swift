import Perdure
import Testing

// Behaviours X10 and X11 of Core Data (README.md): the events of a context.

@Entity private final class Playlist: ManagedObject {
  var title: String?
  @Relationship(inverse: "playlist", deleteRule: .cascade) var songs: ToMany<Song>
}

@Entity private final class Song: ManagedObject {
  var title: String?
  @Relationship(inverse: "songs") var playlist: Playlist?
}

@Suite("Events of a context")
struct ContextEventTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try Sandbox(Playlist.self, Song.self).container
    context = container.newContext()
  }

  private final class Diary {
    var notes: [ContextNotification] = []
    var kinds: [ContextEventKind] { notes.map(\.kind) }
    func take() -> [ContextNotification] {
      defer { notes = [] }
      return notes
    }
  }

  private func diary() -> (Diary, ContextObservation) {
    let diary = Diary()
    return (diary, context.observe { diary.notes.append($0) })
  }

  @Test("X11 An observer that retains its own observation does not keep the context alive")
  func ownedObservation() throws {
    final class Owner {
      var observation: ContextObservation?
      var heard = 0
    }
    func observe(_ context: ManagedObjectContext) -> Playlist {
      for _ in 0..<2 {
        let owner = Owner()
        owner.observation = context.observe { _ in owner.heard += 1 }
      }
      return Playlist(context: context)
    }
    var ending: ManagedObjectContext? = container.newContext()
    // The object retains the context's core, which has the observers.
    let list = ending.map(observe)
    ending = nil
    #expect(list?.managedObjectContext == nil)
  }

  @Test("X11 A save reports its start, its changes and its result, with the objects")
  func saving() throws {
    let (diary, observation) = diary()
    let list = Playlist(context: context)
    let song = Song(context: context)
    song.playlist = list
    try context.save()
    #expect(diary.kinds == [.objectsDidChange, .willSave, .didSave])
    #expect(diary.take().allSatisfy { $0.insertedObjects == [list, song] && $0.context === context })
    song.title = "s"
    context.delete(list)
    try context.save()
    let notes = diary.take()
    #expect(notes.map(\.kind) == [.objectsDidChange, .willSave, .didSave])
    #expect(notes[1].deletedObjects == [list, song] && notes[2].deletedObjects == [list, song])
    #expect(notes[2].updatedObjects.isEmpty && notes[2].insertedObjects.isEmpty)
    observation.cancel()
    _ = Song(context: context)
    try context.save()
    #expect(diary.notes.isEmpty)
  }

  @Test("X10 An event reports each of its changes once")
  func events() throws {
    let old = Song(context: context)
    try context.save()
    let (diary, observation) = diary()
    let new = Song(context: context)
    old.title = "o"
    context.processPendingChanges()
    var note = try #require(diary.take().first)
    #expect(note.kind == .objectsDidChange && note.insertedObjects == [new] && note.updatedObjects == [old])
    context.processPendingChanges()
    #expect(diary.notes.isEmpty)
    new.title = "n"
    context.delete(old)
    context.processPendingChanges()
    note = try #require(diary.take().first)
    #expect(note.updatedObjects == [new] && note.deletedObjects == [old] && note.insertedObjects.isEmpty)
    context.delete(new)
    context.processPendingChanges()
    note = try #require(diary.take().first)
    #expect(note.deletedObjects == [new] && note.updatedObjects.isEmpty)
    withExtendedLifetime(observation) {}
  }

  @Test(
    "X10 Changes by a willSave observer are saved, and changes by a didSave observer are pending"
  )
  func changing() throws {
    let song = Song(context: context)
    let observation = context.observe { notification in
      if notification.kind == .willSave { song.title = "saved" }
      if notification.kind == .didSave { song.title = "pending" }
    }
    try context.save()
    #expect(
      try container.newContext().existingObject(with: song.objectID).value(forKey: "title") as? String
        == "saved")
    #expect(song.title == "pending" && song.hasChanges)
    observation.cancel()
  }

  @Test("X11 A refresh, a rollback and a reset report the objects that they refresh, delete or invalidate")
  func refreshing() throws {
    let song = Song(context: context)
    try context.save()
    let (diary, observation) = diary()
    context.refresh(song, mergeChanges: true)
    #expect(diary.take().map(\.refreshedObjects) == [[song]])
    song.title = "x"
    let new = Song(context: context)
    context.processPendingChanges()
    _ = diary.take()
    context.rollback()
    let note = try #require(diary.take().first)
    #expect(note.refreshedObjects == [song] && note.deletedObjects == [new])
    context.refreshAllObjects()
    #expect(diary.take().first?.refreshedObjects.contains(song) == true)
    context.reset()
    #expect(diary.take().map(\.invalidatesAllObjects) == [true])
    withExtendedLifetime(observation) {}
  }

  @Test("X11 A save that fails reports only its start")
  func failing() throws {
    let song = Song(context: context)
    try context.save()
    let other = container.newContext()
    other.object(with: song.objectID).setValue("theirs", forKey: "title")
    try other.save()
    song.title = "mine"
    let (diary, observation) = diary()
    context.processPendingChanges()
    _ = diary.take()
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(diary.kinds.last == .willSave && !diary.kinds.contains(.didSave))
    withExtendedLifetime(observation) {}
  }

  @Test("X11 Sequences of events contain ids and values, and end with the context")
  func sequences() async throws {
    var own = context.events().makeAsyncIterator()
    var all = container.saves().makeAsyncIterator()
    let list = Playlist(context: context)
    let song = Song(context: context)
    (song.title, song.playlist) = ("s", list)
    try context.save()
    var kinds: [ContextEventKind] = []
    var last: ContextEvent?
    while last?.kind != .didSave {
      last = await own.next()
      if let last { kinds.append(last.kind) }
    }
    #expect(kinds == [.objectsDidChange, .willSave, .didSave])
    let saved = try #require(await all.next())
    #expect(saved.insertedObjectIDs == [list.objectID, song.objectID])
    #expect(saved.values[song.objectID]?["title"] == .string("s"))
    #expect(saved.values[song.objectID]?["playlist"] == .objectID(list.objectID.uri))
    let stream = container.newContext().events()
    for await _ in stream { Issue.record("Received an event of a context without changes.") }
  }

  @Test("X11 In a context without observers, a cascade is saved with one commit request")
  func free() throws {
    let list = Playlist(context: context)
    for _ in 0..<10 { Song(context: context).playlist = list }
    try context.save()
    let other = container.newContext()
    other.delete(other.object(with: list.objectID))
    other.processPendingChanges()
    let registered = other.registeredObjects.count
    try other.save()
    // The delete rule creates no objects for the songs that it deletes.
    #expect(registered == 1)
    #expect(other.statistics.commitRequestCount == 1)
    #expect(try container.newContext().count(for: FetchRequest<Song>()) == 0)
  }
}
