// Rollbacks, saves, removals of groups and merges while a group is open.

import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Suite("Undo groups that are open during rollbacks, saves and merges")
struct UndoInterruptionTests {
  @Test("If all groups are removed inside a closure, the group of the closure has only the later edits")
  func removal() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("A") {
      volume.title = "Two"
      volume.pages = 1
      try context.save()
      scene.manager.removeAllActions()
      volume.pages = 2
    }
    #expect(scene.manager.undoCount == 1)
    try context.undo()
    #expect(volume.title == "Two" && volume.pages == 1)
    volume.title = "Three"
    scene.manager.removeAllActions()
    volume.title = "Four"
    try context.undo()
    #expect(volume.title == "Three" && !scene.manager.canUndo)
  }

  @Test("If all groups are removed inside an asynchronous closure, its group has only the later edits")
  @MainActor func removalInTask() async throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    await context.undoGroup("A") {
      volume.title = "Two"
      await Task.yield()
      context.undoGroup("Inner") {
        volume.note = "n"
        scene.manager.removeAllActions()
        volume.pages = 2
      }
      volume.title = "Three"
    }
    #expect(scene.manager.undoCount == 1 && scene.manager.undoActionName == "A")
    try context.undo()
    #expect(volume.title == "Two" && volume.pages == 0 && volume.note == "n")
  }

  @Test("A rollback inside a closure keeps the edits that a save inside the closure has saved")
  func rollback() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("A") {
      volume.title = "Two"
      try context.save()
      volume.pages = 5
      context.rollback()
      volume.note = "n"
    }
    #expect(volume.title == "Two" && volume.pages == 0)
    try context.undo()
    #expect(volume.title == "One" && volume.note == nil && !scene.manager.canUndo)
  }

  @Test("A rollback inside an asynchronous closure keeps the edits that a save inside it has saved")
  @MainActor func rollbackInTask() async throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try await context.undoGroup("A") {
      volume.title = "Two"
      try context.save()
      await Task.yield()
      volume.pages = 5
      context.rollback()
    }
    #expect(volume.title == "Two" && volume.pages == 0)
    try context.undo()
    #expect(volume.title == "One" && !scene.manager.canUndo)
  }

  @Test("A rollback removes a group whose edits followed the save inside its closure")
  func saveBeforeEdits() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.pages = 1
    try context.undoGroup("A") {
      try context.save()
      volume.title = "Two"
    }
    context.rollback()
    #expect(volume.title == "One" && volume.pages == 1)
    #expect(scene.manager.undoCount == 1 && scene.manager.undoActionName == "")
    try context.undo()
    #expect(volume.pages == 0)
  }

  @Test("Edits after a merge of another object's changes belong to the group too")
  func editedAfterMerge() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let other = try scene.volume("Other")
    context.automaticallyMergesChangesFromParent = true
    try context.undoGroup("Edit") {
      volume.title = "Two"
      let writing = scene.container.newContext()
      try writing.existingObject(with: other.objectID).setValue("Theirs", forKey: "title")
      try writing.save()
      context.processPendingChanges()
      volume.title = "Three"
    }
    #expect(other.title == "Theirs")
    try context.undo()
    #expect(volume.title == "One" && other.title == "Theirs")
  }

  @Test("An edit of a property belongs to the group even after an edit of the property in withoutUndo")
  func editedAfterExclusion() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") {
      context.withoutUndo { volume.pages = 7 }
      volume.pages = 8
    }
    try context.undo()
    #expect(volume.pages == 7)
  }

  @Test("A discarded change, and a later one in withoutUndo, belong to no group")
  func discarded() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Edit") {
      volume.title = "Two"
      context.refresh(volume, mergeChanges: false)
      context.withoutUndo { volume.title = "Three" }
    }
    #expect(volume.title == "Three" && !scene.manager.canUndo)
  }

  @Test("If an object is deleted before a closure, its cascade does not belong to the closure's group")
  func cascadeBefore() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    let other = try scene.volume("c")
    context.delete(shelf)
    context.undoGroup("Rename") { other.title = "d" }
    #expect(scene.manager.undoCount == 2)
    try context.undo()
    #expect(other.title == "c" && shelf.isDeleted)
    #expect(try context.count(for: FetchRequest<UndoVolume>()) == 1)
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["a", "b"])
  }

  @Test("An undo right after a deletion also restores the objects that the cascade deleted")
  func cascadeBeforeUndo() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    context.delete(shelf)
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["a", "b"])
    try context.redo()
    #expect(try context.count(for: FetchRequest<UndoVolume>()) == 0)
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["a", "b"] && !context.hasChanges)
  }

  @Test("The undo of a group that sets a link and deletes the object restores the object without the link")
  func linkedBeforeDeletion() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let mark = UndoMark(context: context)
    mark.label = "x"
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Link and delete") {
      mark.favourite = volume
      mark.label = "y"
      context.delete(mark)
      mark.label = "x"
    }
    try context.save()
    try context.undo()
    #expect(!mark.isDeleted && mark.favourite == nil && mark.label == "x")
    try context.save()
  }

  @Test("After a save without changes, a rollback restores the groups as of that save")
  func emptySave() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("A") { volume.title = "Two" }
    try context.undo()
    #expect(!context.hasChanges)
    try context.save()
    context.undoGroup("B") { volume.pages = 2 }
    context.rollback()
    #expect(!scene.manager.canUndo && scene.manager.redoActionName == "A")
    try context.redo()
    #expect(volume.title == "Two")
  }

  @Test("If a refresh or a merge removes links, no group records the removals", arguments: [0, 1, 2])
  func lostLinks(_ kind: Int) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    let mark = UndoMark(context: context)
    try context.save()
    scene.manager.removeAllActions()
    context.automaticallyMergesChangesFromParent = kind == 2
    let volume = shelf.volumes[0]
    context.undoGroup("Mark") {
      mark.volumes.insert(volume)
      mark.favourite = volume
      shelf.volumes.move(volume, to: 1)
    }
    let writing = scene.container.newContext()
    writing.delete(try writing.existingObject(with: volume.objectID))
    try writing.save()
    switch kind {
    case 0: context.refreshAllObjects()
    case 1: for object in [mark, shelf] { context.refresh(object, mergeChanges: true) }
    default: context.processPendingChanges()
    }
    #expect(mark.volumes.isEmpty && shelf.volumes.count == 1)
    context.processPendingChanges()
    #expect(scene.manager.undoCount == 1 && scene.manager.undoActionName == "Mark")
  }

  @Test("The undo of an insertion removes links that other contexts have saved, and a redo restores them")
  func savedLinks() throws {
    let scene = try UndoScene()
    let context = scene.context
    let mark = UndoMark(context: context)
    try context.save()
    scene.manager.removeAllActions()
    let volume = context.undoGroup("Insert") { UndoVolume(context: context) }
    try context.save()
    try scene.changeElsewhere {
      let theirs = try $0.existingObject(with: volume.objectID)
      try $0.existingObject(with: mark.objectID).setValue(theirs, forKey: "favourite")
    }
    try context.undo()
    context.processPendingChanges()
    #expect(volume.isDeleted && mark.favourite == nil && scene.manager.undoCount == 0)
    try context.redo()
    #expect(!volume.isDeleted && mark.favourite === volume)
    try context.undo()
    try context.save()
    #expect(mark.favourite == nil)
  }

  @Test("All properties of an entity with more than 63 properties are recorded")
  func manyProperties() throws {
    let names = (100..<180).map { "p\($0)" }
    let container = PersistentContainer(
      name: "Wide",
      model: try ManagedObjectModel([EntityDescription("Wide", properties: names.map { .string($0) })]),
      classes: [], storeDescriptions: [.inMemory])
    try container.loadPersistentStores()
    let context = container.newContext()
    let object = context.insertNewObject(forEntityName: "Wide")
    try context.save()
    context.undoManager = ContextUndoManager()
    context.undoGroup("Edit") { for name in names { object.setValue(name, forKey: name) } }
    try context.undo()
    #expect(names.allSatisfy { object.value(forKey: $0) == nil })
    try context.redo()
    #expect(names.allSatisfy { object.value(forKey: $0) as? String == $0 })
  }
}
