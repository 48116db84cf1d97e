// A task's group and another group change the same property or object before the task ends. The
// task's group is undone first, although the other edit may be later.

import Testing

@testable import Perdure

@Suite("Overlapping groups that change the same property or object")
struct UndoOverlapOrderTests {
  private let scene: UndoScene
  private let context: ManagedObjectContext
  private let task: UndoTask

  init() throws {
    scene = try UndoScene()
    context = scene.context
    _ = try scene.volume("One")
    task = try #require(scene.context.core.editing.undoGroups.beginTask("Task"))
  }

  private func inTask(_ edits: () -> Void) { UndoTask.$token.withValue(task, operation: edits) }

  private func end() { context.core.operations.eventEnd.endTask(task) }

  private func conflictsOfUndo() -> [UndoConflict] {
    undoConflicts { () throws(PerdureError) in try context.undo() }
  }

  @Test("If the other group sets the earlier value, the undo of the task's group is a conflict")
  func setBack() throws {
    let volume = try #require(try context.fetch(FetchRequest<UndoVolume>()).first)
    inTask { volume.title = "Two" }
    context.undoGroup("Set back") { volume.title = "One" }
    end()
    let found = conflictsOfUndo()
    #expect(found.map(\.property) == ["title"] && found.map(\.current) == [.string("One")])
    #expect(volume.title == "One" && scene.manager.undoCount == 2)
  }

  @Test("If the task sets its value again, the undo of its group is a conflict")
  func setAgain() throws {
    let volume = try #require(try context.fetch(FetchRequest<UndoVolume>()).first)
    inTask { volume.title = "Two" }
    context.undoGroup("Set back") { volume.title = "One" }
    inTask { volume.title = "Two" }
    end()
    #expect(conflictsOfUndo().map(\.property) == ["title"])
    #expect(volume.title == "Two" && scene.manager.undoCount == 2)
  }

  @Test("If the other group deletes an object of the task, the undo of the task's group is a conflict")
  func deleted() throws {
    var added: UndoVolume?
    inTask { added = UndoVolume(context: context) }
    let volume = try #require(added)
    try context.save()
    context.undoGroup("Delete") { context.delete(volume) }
    end()
    #expect(conflictsOfUndo().map(\.objectID) == [volume.objectID])
    #expect(scene.manager.undoCount == 2)
  }

  @Test("An edit outside of all groups and an edit of another property cause no conflict")
  func others() throws {
    let volume = try #require(try context.fetch(FetchRequest<UndoVolume>()).first)
    inTask { volume.title = "Two" }
    context.withoutUndo { volume.title = "One" }
    context.undoGroup("Other place") { volume.mood = "merry" }
    end()
    try context.undo()
    #expect(volume.title == "One" && volume.mood == "merry")
  }
}
