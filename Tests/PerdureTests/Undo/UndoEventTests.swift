import Perdure
import Testing

@Entity final class UndoCounter: ManagedObject {
  var count: Int = 0
  var saves: Int = 0

  override func willSave() {
    guard saves == 0 else { return }
    managedObjectContext?.undoGroup("Count") { saves = 1 }
  }
}

@Entity final class UndoHookLog: ManagedObject {
  var count: Int = 0
  @Relationship(inverse: "log") var notes: ToMany<UndoHookNote>
}

/// A class whose hooks edit in undo groups.
@Entity final class UndoHookNote: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "notes") var log: UndoHookLog?

  override func awakeFromInsert() { group { name = "New" } }
  override func awakeFromFetch() { group { log?.count += 1 } }
  override func willTurnIntoFault() { group { log?.count += 10 } }
  override func didTurnIntoFault() {
    // This hook cannot change its own object.
    group { managedObjectContext?.registeredObjects.forEach { ($0 as? UndoHookLog)?.count += 100 } }
  }
  override func awake(fromSnapshotEvents events: SnapshotEventType) { group { log?.count += 1_000 } }
  override func prepareForDeletion() { group { log?.count += 10_000 } }

  private func group(_ edit: () -> Void) { managedObjectContext?.undoGroup("Hook", edit) }
}

@Suite("Events of undo groups in hooks of objects")
struct UndoHookEventTests {
  /// A context with a saved note and its log, and the later events of the context.
  private final class Scene {
    let container: PersistentContainer
    let context: ManagedObjectContext
    let log: UndoHookLog
    let id: ManagedObjectID
    /// The names of the classes of inserted, updated, deleted and refreshed objects, by event.
    private(set) var events: [String] = []
    private var observation: ContextObservation?

    init() throws {
      container = try PersistentContainer(
        name: "Hooks", classes: [UndoHookLog.self, UndoHookNote.self], description: .inMemory)
      try container.loadPersistentStores()
      let writing = container.newContext()
      let (writtenLog, written) = (UndoHookLog(context: writing), UndoHookNote(context: writing))
      written.log = writtenLog
      try writing.save()
      id = written.objectID
      context = container.newContext()
      context.undoManager = ContextUndoManager()
      log = try #require(try context.existingObject(UndoHookLog.self, with: writtenLog.objectID))
      observation = context.observe { [unowned self] news in
        let sets = [
          "inserted": news.insertedObjects, "updated": news.updatedObjects, "deleted": news.deletedObjects,
          "refreshed": news.refreshedObjects,
        ]
        events.append(
          sets.filter { !$0.value.isEmpty }.map { kind, objects in
            "\(kind) " + objects.map { $0.entity.name }.sorted().joined(separator: ", ")
          }
          .sorted().joined(separator: "; "))
      }
    }

    /// Returns the note after its fault has fired, and discards the events until then.
    func awakeNote() throws -> UndoHookNote {
      let note = try #require(try context.existingObject(UndoHookNote.self, with: id))
      #expect(note.name == "New")
      context.processPendingChanges()
      events = []
      return note
    }

    func eventsAfterEnd() -> [String] {
      context.processPendingChanges()
      return events
    }
  }

  @Test("A group in awakeFromInsert does not end the event")
  func insertion() throws {
    let scene = try Scene()
    let note = UndoHookNote(context: scene.context)
    #expect(note.name == "New" && scene.events == [])
    #expect(scene.eventsAfterEnd() == ["inserted UndoHookNote"])
  }

  @Test("A group in awakeFromFetch does not end the event")
  func fetch() throws {
    let scene = try Scene()
    let note = try #require(try scene.context.existingObject(UndoHookNote.self, with: scene.id))
    #expect(note.name == "New" && scene.log.count == 1 && scene.events == [])
    #expect(scene.eventsAfterEnd() == ["updated UndoHookLog"])
  }

  @Test("Groups in hooks of a refresh do not end the event")
  func refresh() throws {
    let scene = try Scene()
    let note = try scene.awakeNote()
    note.name = "Edited"
    scene.context.refresh(note, mergeChanges: false)
    #expect(scene.log.count == 111 && scene.events == ["refreshed UndoHookNote"])
    #expect(scene.eventsAfterEnd() == ["refreshed UndoHookNote", "updated UndoHookLog"])
  }

  @Test("A group in prepareForDeletion does not end the event")
  func deletion() throws {
    let scene = try Scene()
    let note = try scene.awakeNote()
    scene.context.delete(note)
    #expect(scene.log.count == 10_001 && scene.events == [])
    #expect(scene.eventsAfterEnd() == ["deleted UndoHookNote; updated UndoHookLog"])
  }

  @Test("A group in awake(fromSnapshotEvents:) does not end the event")
  func newerRow() throws {
    let scene = try Scene()
    let note = try scene.awakeNote()
    let other = scene.container.newContext()
    try #require(try other.existingObject(UndoHookNote.self, with: scene.id)).name = "Theirs"
    try other.save()
    // The hooks of both contexts have changed the log.
    scene.context.rollback()
    let before = scene.events
    #expect(note.name == "Theirs" && scene.log.count == 1_001 && scene.events == before)
    #expect(scene.eventsAfterEnd() == before + ["updated UndoHookLog"])
  }
}

@Suite("Events of undo groups")
struct UndoEventTests {
  /// Collects the titles of the updated volumes, at each call of an observer.
  private final class Heard {
    var titles: [[String]] = []
    private var observation: ContextObservation?

    init(_ context: ManagedObjectContext) {
      observation = context.observe { [unowned self] news in
        guard news.kind == .objectsDidChange else { return }
        titles.append(news.updatedObjects.compactMap { ($0 as? UndoVolume)?.title }.sorted())
      }
    }
  }

  @Test("Observers are called once before undoGroup, undo and redo return")
  func observers() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let heard = Heard(context)
    context.undoGroup("Outer") {
      volume.title = "Two"
      context.undoGroup("Inner") { volume.title = "Three" }
      #expect(heard.titles == [])
    }
    #expect(heard.titles == [["Three"]])
    try context.undo()
    #expect(heard.titles == [["Three"], ["One"]])
    try scene.manager.redo()
    #expect(heard.titles == [["Three"], ["One"], ["Three"]])
    context.processPendingChanges()
    #expect(heard.titles.count == 3)
  }

  @Test("One event reports the edits before an undo and the changes of the undo")
  func editsBefore() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = UndoVolume(context: context)
    other.title = "Other"
    try context.save()
    let heard = Heard(context)
    volume.title = "Two"
    context.undoGroup("Rename") { other.title = "Another" }
    #expect(heard.titles == [["Another", "Two"]])
    #expect(scene.manager.undoCount == 3 && volume.changedValuesForCurrentEvent().isEmpty)
    volume.title = "Three"
    try context.undo()
    #expect(heard.titles == [["Another", "Two"], ["Two"]])
    #expect(volume.changedValuesForCurrentEvent().isEmpty)
  }

  @Test("After an undo to the saved state, an event reports the object, and nothing is unsaved")
  func savedState() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("One", "Other"))
    let volume = shelf.volumes[0]
    var states: [Bool] = []
    let observation = context.observe { states.append($0.updatedObjects.isEmpty || context.hasChanges) }
    context.undoGroup("Edit") {
      volume.title = "Two"
      volume.format.width = 5
      volume.pages = 0
      volume.sequel = shelf.volumes[1]
      shelf.volumes.move(volume, to: 1)
      volume.shelf = nil
    }
    try context.undo()
    withExtendedLifetime(observation) {}
    #expect(states == [true, false] && !context.hasChanges && !volume.hasChanges)
    #expect(context.updatedObjects.isEmpty && shelf.volumes.map(\.title) == ["One", "Other"])
    #expect(volume.title == "One" && volume.format == VolumeFormat() && volume.sequel == nil)
    try context.redo()
    #expect(context.hasChanges && volume.title == "Two" && volume.sequel != nil && shelf.volumes.count == 1)
    try context.undo()
    #expect(!context.hasChanges)
    volume.title = "Three"
    context.undoGroup("Pages") { volume.pages = 7 }
    try context.undo()
    #expect(context.updatedObjects == [volume] && volume.title == "Three" && volume.pages == 0)
    try context.save()
    try scene.changeElsewhere { other in
      let same = try other.existingObject(UndoVolume.self, with: volume.objectID)
      try #require(same).pages = 9
    }
    #expect(volume.title == "Three" && volume.pages == 9)
    try context.undo()
    #expect(volume.title == "One" && context.hasChanges)
    try context.redo()
    #expect(volume.title == "Three" && volume.pages == 9 && !context.hasChanges)
  }

  @Test("An undo that is refused ends the event too")
  func refused() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Rename") { volume.title = "Two" }
    let heard = Heard(context)
    context.withoutUndo { volume.title = "Three" }
    #expect(throws: PerdureError.self) { try context.undo() }
    #expect(heard.titles == [["Three"]] && scene.manager.canUndo)
  }

  @Test("The end of an asynchronous group calls the observers")
  func asynchronous() async throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let heard = Heard(context)
    await context.undoGroup("Rename") {
      volume.title = "Two"
      await Task.yield()
    }
    #expect(heard.titles == [["Two"]])
  }

  @Test("A child's save ends the event of its parent once, after its undo group")
  func child() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("One", "Other"))
    let (volume, other) = (shelf.volumes[0], shelf.volumes[1])
    var titles: [[String]] = []
    let observation = context.observe { news in
      titles.append(news.updatedObjects.compactMap { ($0 as? UndoVolume)?.title })
      other.title = "Edited"
    }
    let child = context.newChildContext()
    try #require(try child.existingObject(UndoVolume.self, with: volume.objectID)).title = "Two"
    try child.save()
    #expect(titles == [["Two"]])
    observation.cancel()
    try context.undo()
    #expect(other.title == "Other" && volume.title == "Two" && scene.manager.undoCount == 1)
  }

  @Test("A child's save in an observer of its parent does not end the event")
  func childInObserver() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let child = context.newChildContext()
    let same = try #require(try child.existingObject(UndoVolume.self, with: volume.objectID))
    var calls = 0
    let observation = context.observe { _ in
      calls += 1
      same.pages += 1
      // Without the limit, a failure of this test overflows the stack.
      if calls < 10 { #expect(throws: Never.self) { try child.save() } }
    }
    context.undoGroup("Rename") { volume.title = "Two" }
    #expect(calls == 1 && volume.pages == 1 && scene.manager.undoCount == 2)
    context.processPendingChanges()
    #expect(calls == 2 && volume.pages == 2)
    withExtendedLifetime(observation) {}
  }

  @Test("A group in an observer does not end the event, so all observers receive events in order")
  func observer() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    var calls = 0
    let editor = context.observe { news in
      guard news.kind == .objectsDidChange else { return }
      calls += 1
      // Without the limit, a failure of this test overflows the stack.
      if calls < 10 { context.undoGroup("Count") { volume.pages += 1 } }
    }
    let heard = Heard(context)
    context.undoGroup("Rename") { volume.title = "Two" }
    #expect(calls == 1 && volume.pages == 1 && heard.titles == [["Two"]])
    context.withoutUndo { volume.title = "Three" }
    context.processPendingChanges()
    #expect(calls == 2 && volume.pages == 2 && heard.titles == [["Two"], ["Three"]])
    editor.cancel()
    #expect(scene.manager.undoCount == 3)
    try context.undo()
    #expect(volume.pages == 1 && heard.titles.count == 3)
    context.undoGroup("Again") { volume.title = "Four" }
    #expect(heard.titles.last == ["Four"] && heard.titles.count == 4)
  }

  @Test("A group in a hook of a save does not call the observers")
  func hook() throws {
    let container = try PersistentContainer(
      name: "Counters", classes: [UndoCounter.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    context.undoManager = ContextUndoManager()
    let counter = UndoCounter(context: context)
    var kinds: [ContextEventKind] = []
    let observation = context.observe { kinds.append($0.kind) }
    try context.save()
    withExtendedLifetime(observation) {}
    #expect(kinds == [.objectsDidChange, .willSave, .didSave] && counter.saves == 1)
  }
}
