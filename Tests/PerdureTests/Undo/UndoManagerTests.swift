// Names, limits and observers of undo managers, and managers that no longer belong to a context.

import Perdure
import PerdurePredicates
import Testing

@Suite("Names, limits and detached undo managers")
struct UndoManagerTests {
  private final class Thing {}

  @Test("redoActionName is empty while the current event has edits")
  func redoName() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Rename") { volume.title = "Two" }
    try context.undo()
    #expect(scene.manager.redoActionName == "Rename")
    volume.pages = 1
    #expect(!scene.manager.canRedo && scene.manager.redoActionName == "")
  }

  @Test("A name that is set inside a closure names the closure's group, not the event's or an earlier one")
  func nameInside() throws {
    let scene = try UndoScene()
    let (context, manager, volume) = (scene.context, scene.manager, try scene.volume("One"))
    context.undoGroup("First") { volume.title = "Two" }
    context.undoGroup("Second") {
      manager.setActionName("Before")
      volume.pages = 2
      context.undoGroup("Inner") { manager.setActionName("Renamed") }
    }
    #expect(manager.undoActionName == "Renamed")
    try context.undo()
    #expect(manager.undoActionName == "First" && manager.redoActionName == "Renamed")
  }

  @Test("A long name counts toward the size limit")
  func longName() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let name = String(repeating: "x", count: 20_000)
    scene.manager.byteLimit = 10_000
    context.undoGroup(name) { volume.title = "Two" }
    #expect(scene.manager.undoCount == 0)
    context.undoGroup("Short") { volume.title = "Three" }
    #expect(scene.manager.undoCount == 1)
    scene.manager.setActionName(name)
    #expect(scene.manager.undoCount == 0)
  }

  @Test("Closures and events without changes do not call the observers of the manager")
  func unchanged() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    var calls = 0
    let observation = scene.manager.observe { _ in calls += 1 }
    context.undoGroup("Nothing") {}
    volume.title = "Two"
    volume.title = "One"
    context.processPendingChanges()
    #expect(calls == 0)
    withExtendedLifetime(observation) {}
  }

  @Test("After its context was freed, a manager cannot undo or redo, even if objects still exist")
  func freedContext() throws {
    let manager = ContextUndoManager()
    var kept: UndoVolume?
    try {
      let scene = try UndoScene()
      scene.context.undoManager = manager
      let volume = try scene.volume("One")
      manager.removeAllActions()
      for title in ["Two", "Three"] { scene.context.undoGroup("Rename") { volume.title = title } }
      try manager.undo()
      kept = volume
      #expect(manager.canUndo && manager.canRedo)
    }()
    #expect(!manager.canUndo && !manager.canRedo)
    #expect(manager.undoActionName == "" && manager.redoActionName == "")
    try manager.undo()
    try manager.redo()
    #expect(manager.undoCount == 1 && manager.redoCount == 1)
    withExtendedLifetime(kept) {}
  }

  @Test("A replaced manager has no groups, retains no values, and can be set on another context")
  func replaced() throws {
    let scene = try UndoScene()
    let (context, old, volume) = (scene.context, scene.manager, try scene.volume("One"))
    weak var thing: Thing?
    do {
      let made = Thing()
      (thing, volume.companion) = (made, made)
    }
    context.processPendingChanges()
    context.undoManager = old
    #expect(old.undoCount == 1)
    var calls = 0
    let observation = old.observe { _ in calls += 1 }
    volume.companion = nil
    // Discards the change and the value before it. The open group still retains that value.
    context.refresh(volume, mergeChanges: false)
    #expect(thing != nil && old.canUndo)
    let new = ContextUndoManager()
    context.undoManager = new
    #expect(thing == nil && old.undoCount == 0 && !old.canUndo && calls == 1)
    context.undoGroup("Rename") { volume.title = "Two" }
    try old.undo()
    #expect(volume.title == "Two" && new.undoCount == 1)
    let other = scene.container.newContext()
    other.undoManager = old
    let same = try #require(try other.existingObject(with: volume.objectID) as? UndoVolume)
    other.undoGroup("Pages") { same.pages = 3 }
    try old.undo()
    #expect(same.pages == 0 && old.redoCount == 1)
    withExtendedLifetime(observation) {}
  }

  @Test("A rollback restores the groups of the last save, except those that the limit has removed")
  func limitAndRollback() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("0"))
    scene.manager.levelsOfUndo = 2
    for name in ["A", "B"] { context.undoGroup(name) { volume.title = name } }
    try context.save()
    context.undoGroup("C") { volume.title = "C" }
    context.rollback()
    #expect(scene.manager.undoCount == 1 && scene.manager.undoActionName == "B")
    try context.undo()
    #expect(volume.title == "A" && !scene.manager.canUndo)
  }

  @Test("If an observer and then a closure edit one property, their edits are in separate groups")
  func editingObserver() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("0"))
    var isFirst = true
    let observation = scene.manager.observe { _ in
      if isFirst { volume.pages = 1 }
      isFirst = false
    }
    volume.title = "1"
    context.undoGroup("A") { volume.pages = 2 }
    // The group of the event ends last, and its value was replaced by the closure.
    #expect(scene.manager.undoCount == 3)
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() }.map(\.after) == [.integer(1)])
    #expect(volume.pages == 2)
    withExtendedLifetime(observation) {}
  }

  @Test("If an observer releases the context during an undo, the other observers are called too")
  func releasedByObserver() throws {
    let manager = ContextUndoManager()
    var scene: UndoScene? = try UndoScene()
    var calls = 0
    var observations: [ContextObservation] = []
    try {
      guard let context = scene?.context, let volume = try scene?.volume("One") else { return }
      context.undoManager = manager
      context.undoGroup("Rename") { volume.title = "Two" }
      observations.append(context.observe { _ in scene = nil })
      observations.append(context.observe { _ in calls += 1 })
    }()
    try manager.undo()
    #expect(scene == nil && calls == 1 && !manager.canUndo)
    withExtendedLifetime(observations) {}
  }

  @Test("An undo that cannot read an object throws, and its group stays")
  func unreadable() throws {
    let (container, failing) = try UnreadableStore.container()
    let context = container.newContext()
    context.undoManager = ContextUndoManager()
    let id = try {
      let company = context.company("C")
      try context.save()
      context.undoGroup("Rename") { company.name = "D" }
      try context.save()
      return company.objectID
    }()
    context.refreshAllObjects()
    failing.set([.versions, .rows])
    let error = #expect(throws: PerdureError.self) { try context.undo() }
    #expect(error?.code == .readFailed && context.undoManager?.undoActionName == "Rename")
    failing.set([])
    context.rollback()
    try context.undo()
    #expect(try context.existingObject(with: id).value(forKey: "name") as? String == "C")
  }

  @Test("If the store cannot be read during the undo of a deletion, a rollback restores the object")
  func unreadableDeletion() throws {
    let (container, failing) = try UnreadableStore.container()
    let context = container.newContext()
    context.undoManager = ContextUndoManager()
    let company = context.company("C")
    try context.save()
    context.undoGroup("Delete") { context.delete(company) }
    let other = container.newContext()
    _ = other.company("D")
    try other.save()
    context.refreshAllObjects()
    failing.set([.versions, .rows])
    _ = try? context.undo()
    failing.set([])
    context.rollback()
    #expect(!company.isDeleted && company.name == "C")
    try context.save()
    #expect(try container.newContext().count(for: FetchRequest<Company>()) == 2)
  }

  @Test("After the store was closed and opened, the manager belongs to the new view context")
  @MainActor func reopened() throws {
    let container = try PersistentContainer(
      name: "Undo", classes: [UndoShelf.self, UndoVolume.self, UndoMark.self], description: .inMemory)
    try container.loadPersistentStores()
    let (old, manager) = (container.viewContext, ContextUndoManager())
    old.undoManager = manager
    old.undoGroup("Insert") { _ = UndoMark(context: old) }
    try old.save()
    try container.close()
    try container.loadPersistentStores()
    let context = container.viewContext
    #expect(context !== old && old.undoManager == nil && context.undoManager === manager)
    #expect(!manager.canUndo && manager.undoCount == 0)
    let mark = context.undoGroup("Insert") { UndoMark(context: context) }
    try manager.undo()
    #expect(mark.managedObjectContext == nil && manager.canRedo)
  }
}
