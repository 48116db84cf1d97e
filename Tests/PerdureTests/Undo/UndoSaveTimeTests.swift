// Undo groups and attributes that have the time of the save. No edit sets these attributes.

import Foundation
import Perdure
import PerdurePredicates
import Testing

@Entity final class TimedNote: ManagedObject {
  var text: String = ""
  var memo: String?
  @Attribute(derived: "now()") private(set) var savedAt: Date?
}

@Suite("Undo of objects with the time of their save")
struct UndoSaveTimeTests {
  private struct Scene {
    let container: PersistentContainer
    let context: ManagedObjectContext
    let manager = ContextUndoManager()
    let note: TimedNote

    init() throws {
      container = try PersistentContainer(name: "Times", classes: [TimedNote.self], description: .inMemory)
      try container.loadPersistentStores()
      context = container.newContext()
      context.undoManager = manager
      note = TimedNote(context: context)
      try context.save()
      manager.removeAllActions()
    }
  }

  @Test("A save of edits that belong to no group makes no group")
  func excluded() throws {
    let scene = try Scene()
    let (context, note) = (scene.context, scene.note)
    context.undoGroup("Edit") { note.text = "Two" }
    try context.save()
    context.withoutUndo { note.memo = "m" }
    try context.save()
    #expect(scene.manager.undoCount == 1 && scene.manager.undoActionName == "Edit")
    try context.undo()
    #expect(note.text == "" && note.memo == "m")
  }

  @Test("Groups before and after a save can be undone with a save in between, and redone")
  func savesBetween() throws {
    let scene = try Scene()
    let (context, note) = (scene.context, scene.note)
    for text in ["1", "2"] {
      context.undoGroup(text) { note.text = text }
      try context.save()
    }
    try context.undo()
    try context.save()
    try context.undo()
    #expect(note.text == "")
    try context.save()
    try context.redo()
    try context.save()
    try context.redo()
    #expect(note.text == "2")
  }

  @Test("The insertion of an object can be undone after its save, and after a save of an undo")
  func insertion() throws {
    let scene = try Scene()
    let (context, note) = (scene.context, scene.note)
    context.undoGroup("Insert") { _ = TimedNote(context: context) }
    context.undoGroup("Edit") { note.text = "1" }
    try context.undo()
    try context.save()
    try context.undo()
    try context.save()
    #expect(try context.count(for: FetchRequest<TimedNote>()) == 1)
    try context.redo()
    try context.save()
    #expect(try context.count(for: FetchRequest<TimedNote>()) == 2)
  }

  @Test("A save of another property by another context is no conflict for an undo")
  func savedElsewhere() throws {
    let scene = try Scene()
    let (context, note) = (scene.context, scene.note)
    context.undoGroup("Edit") { note.text = "1" }
    try context.save()
    let other = scene.container.newContext()
    try #require(try other.existingObject(with: note.objectID) as? TimedNote).memo = "theirs"
    try other.save()
    context.refreshAllObjects()
    try context.undo()
    #expect(note.text == "" && note.memo == "theirs")
  }

  @Test("An object that an undo restores gets the time of its next save")
  func deletion() throws {
    let scene = try Scene()
    let (context, note) = (scene.context, scene.note)
    context.undoGroup("Delete") { context.delete(note) }
    try context.save()
    try context.undo()
    let before = Date()
    try context.save()
    #expect(try #require(note.savedAt) >= before)
  }
}
