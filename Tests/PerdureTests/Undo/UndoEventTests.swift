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

  @Test("Observers hear of edits before an undo and of the undo together")
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

  @Test("After an undo to the saved state, nothing is unsaved, and observers have heard of the object")
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
