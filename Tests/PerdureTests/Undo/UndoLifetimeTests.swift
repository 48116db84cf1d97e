import FoundationEssentials
import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

@Entity private final class UndoVisit: ManagedObject {
  var place: String = ""
  var trimCount: Int64 = 0
  @Attribute(derived: "now()") private(set) var changed: Date?
  @Transient var events: [SnapshotEventType] = []

  override func willSave() {
    let trimmed = place.split(separator: " ").joined(separator: " ")
    if trimmed != place {
      place = trimmed
      trimCount += 1
    }
  }

  override func awake(fromSnapshotEvents events: SnapshotEventType) { self.events.append(events) }
}

/// A class whose hook calls undo during a save.
@Entity private final class UndoingHook: ManagedObject {
  var count: Int = 0

  override func willSave() { try? managedObjectContext?.undo() }
}

@Suite("The lifetime of undo groups and of their objects")
struct UndoLifetimeTests {
  private func visit() throws -> (PersistentContainer, ManagedObjectContext, UndoVisit) {
    let container = try PersistentContainer(name: "Visits", classes: [UndoVisit.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let visit = UndoVisit(context: context)
    visit.place = "here"
    try context.save()
    context.undoManager = ContextUndoManager()
    return (container, context, visit)
  }

  @Test("Changes by hooks belong to the group that is saved, but the time of a save does not")
  func hooks() throws {
    let (container, context, visit) = try visit()
    context.undoGroup("Move") { visit.place = " there  now " }
    try context.save()
    #expect(visit.place == "there now" && visit.trimCount == 1)
    #expect(context.undoManager?.undoCount == 1 && context.undoManager?.undoActionName == "Move")
    let time = visit.changed
    try context.undo()
    #expect(visit.place == "here" && visit.trimCount == 0 && visit.changed == time)
    try context.save()
    #expect(context.undoManager?.canRedo == true)
    try context.redo()
    #expect(visit.place == "there now" && visit.trimCount == 1)
    withExtendedLifetime(container) {}
  }

  @Test("An undo calls awake(fromSnapshotEvents:) of each instance whose values it changes")
  func events() throws {
    let (container, context, visit) = try visit()
    context.undoGroup("Move") { visit.place = "there" }
    try context.undo()
    #expect(visit.events == [.undoUpdate])
    context.undoGroup("Delete") { context.delete(visit) }
    try context.undo()
    #expect(visit.events == [.undoUpdate, .undoDeletion])
    withExtendedLifetime(container) {}
  }

  @Test("Groups do not keep managed objects alive")
  func objects() throws {
    let scene = try UndoScene()
    let context = scene.context
    weak var released: UndoVolume?
    try {
      let shelf = try scene.shelf("a", "b")
      context.undoGroup("Edit") {
        shelf.volumes[0].title = "c"
        shelf.volumes[1].companion = shelf.volumes[0]
        context.delete(shelf.volumes[1])
      }
      released = shelf.volumes[0]
      try context.save()
    }()
    #expect(released == nil && context.registeredObjects.isEmpty)
    try context.undo()
    #expect(try context.fetch(FetchRequest<UndoVolume>()).map(\.title).sorted() == ["a", "b"])
  }

  @Test("A released context is freed even if it has groups")
  func released() throws {
    weak var manager: ContextUndoManager?
    try {
      let scene = try UndoScene()
      let volume = try scene.volume("One")
      scene.context.undoGroup("Edit") { volume.title = "Two" }
      manager = scene.manager
      #expect(manager?.canUndo == true)
    }()
    #expect(manager == nil)
  }

  @Test("A task of a background context can undo a change of an earlier task")
  func background() async throws {
    let scene = try UndoScene()
    let id = try scene.volume("One").objectID
    let context = scene.container.newBackgroundContext()
    try await context.perform { context in
      context.undoManager = ContextUndoManager()
      try context.existingObject(with: id).setValue("Two", forKey: "title")
    }
    let titles = try await context.perform { context in
      let volume = try context.existingObject(with: id)
      let before = volume.value(forKey: "title") as? String
      try context.undo()
      return [before, volume.value(forKey: "title") as? String]
    }
    #expect(titles == ["Two", "One"])
  }

  @Test(
    "Above the limits the oldest groups are removed, and after a group above the byte limit no group remains")
  func bounds() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("0"))
    scene.manager.levelsOfUndo = 3
    for number in 1...5 { context.undoGroup("\(number)") { volume.title = "\(number)" } }
    #expect(scene.manager.undoCount == 3)
    while scene.manager.canUndo { try context.undo() }
    #expect(volume.title == "2" && scene.manager.redoCount == 3)
    scene.manager.levelsOfUndo = 0
    scene.manager.byteLimit = 100_000
    scene.manager.removeAllActions()
    for number in 1...40 {
      context.undoGroup("\(number)") { volume.title = String(repeating: "\(number % 10)", count: 10_000) }
    }
    #expect((3...8).contains(scene.manager.undoCount))
    context.undoGroup("Large") { volume.title = String(repeating: "x", count: 200_000) }
    #expect(scene.manager.undoCount == 0 && !scene.manager.canUndo)
  }

  @Test("A rollback removes the groups since the save, and restores the groups that were undone since")
  func rollback() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("0"))
    context.undoGroup("Saved") { volume.title = "1" }
    try context.save()
    context.undoGroup("Unsaved") { volume.title = "2" }
    volume.pages = 3
    context.rollback()
    #expect(scene.manager.undoActionName == "Saved" && scene.manager.undoCount == 1)
    try context.undo()
    context.rollback()
    #expect(volume.title == "1" && scene.manager.undoActionName == "Saved" && !scene.manager.canRedo)
    try context.undo()
    try context.save()
    context.rollback()
    #expect(volume.title == "0" && scene.manager.redoActionName == "Saved")
    context.reset()
    #expect(!scene.manager.canUndo && !scene.manager.canRedo)
  }

  @Test("Observers of a manager are called after each group, undo, redo and removal")
  func observers() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("0"))
    var heard: [String] = []
    let observation = scene.manager.observe { heard.append("\($0.undoActionName)/\($0.redoActionName)") }
    context.undoGroup("A") { volume.title = "1" }
    volume.title = "2"
    scene.manager.setActionName("B")
    context.processPendingChanges()
    try context.undo()
    try context.redo()
    scene.manager.removeAllActions()
    observation.cancel()
    volume.title = "3"
    context.processPendingChanges()
    #expect(heard == ["A/", "B/", "A/B", "B/", "/"])
  }

  @Test("An undo also reverts the edits that an observer of the manager makes before a closure")
  func editingObserver() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("0"))
    var isFirst = true
    let observation = scene.manager.observe { _ in
      if isFirst { volume.pages = 1 }
      isFirst = false
    }
    volume.title = "1"
    context.undoGroup("A") { volume.note = "n" }
    context.undoGroup("B") { volume.pages = 5 }
    #expect(volume.pages == 5)
    while scene.manager.canUndo { try context.undo() }
    #expect(volume.title == "0" && volume.note == nil && volume.pages == 0)
    withExtendedLifetime(observation) {}
  }

  @Test("The events of the context include the objects that an undo has changed")
  func contextEvents() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("0"))
    context.undoGroup("Delete") { context.delete(volume) }
    context.processPendingChanges()
    var inserted: [ManagedObject] = []
    let observation = context.observe {
      if $0.kind == .objectsDidChange { inserted += $0.refreshedObjects.union($0.updatedObjects) }
    }
    try context.undo()
    context.processPendingChanges()
    #expect(inserted == [volume])
    withExtendedLifetime(observation) {}
  }

  @Test("A new object that is assigned to the second of two stores keeps its undo groups")
  func assigned() throws {
    let container = PersistentContainer(
      name: "Two", model: try ManagedObjectModel([EntityDescription("Item", properties: [.string("name")])]),
      classes: [], storeDescriptions: [.inMemory, .inMemory])
    try container.loadPersistentStores()
    let context = container.newContext()
    context.undoManager = ContextUndoManager()
    let item = context.undoGroup("Insert") { context.insertNewObject(forEntityName: "Item") }
    context.undoGroup("Name") { item.setValue("a", forKey: "name") }
    try context.assign(item, to: container.persistentStores[1])
    #expect(context.undoManager?.undoCount == 2)
    try context.undo()
    #expect(item.value(forKey: "name") == nil)
    try context.undo()
    #expect(item.managedObjectContext == nil && !context.hasChanges)
    for _ in 0..<2 { try context.redo() }
    #expect(item.value(forKey: "name") as? String == "a")
    try context.save()
  }

  @Test(
    "An undo in a group or a hook, or the use of another context's manager, stops the program with a message")
  func misuse() async {
    let inside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let scene = try UndoScene()
      try scene.context.undoGroup("A") { () throws(PerdureError) in try scene.context.undo() }
    }
    let insideText = String(decoding: inside?.standardErrorContent ?? [], as: UTF8.self)
    #expect(insideText.contains("inside undoGroup"))
    let hook = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer(
        name: "Hooks", classes: [UndoingHook.self], description: .inMemory)
      try container.loadPersistentStores()
      let context = container.newContext()
      context.undoManager = ContextUndoManager()
      UndoingHook(context: context).count = 1
      try context.save()
    }
    let hookText = String(decoding: hook?.standardErrorContent ?? [], as: UTF8.self)
    #expect(hookText.contains("by a hook"))
    let shared = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let scene = try UndoScene()
      scene.container.newContext().undoManager = scene.manager
    }
    let sharedText = String(decoding: shared?.standardErrorContent ?? [], as: UTF8.self)
    #expect(sharedText.contains("another context"))
  }
}
