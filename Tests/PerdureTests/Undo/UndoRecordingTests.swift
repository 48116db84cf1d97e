// The edits that an undo manager records: after an exchange of the manager, in groups with saves,
// and for deleted objects that exist again.

import Perdure
import PerdureTestSupport
import Testing

@Suite("Recording of edits in undo groups")
struct UndoRecordingTests {
  @Test(
    "A second manager records the next edit of a property that the first manager has recorded",
    arguments: [false, true])
  func secondManager(isNew: Bool) throws {
    let scene = try UndoScene()
    let context = scene.context
    let volume = isNew ? UndoVolume(context: context) : try scene.volume("One")
    context.undoGroup("First") { volume.title = "Two" }
    context.undoManager = ContextUndoManager()
    context.undoGroup("Second") { volume.title = "Three" }
    #expect(context.undoManager?.canUndo == true)
    try context.undo()
    #expect(volume.title == "Two")
  }

  @Test("A manager that is set inside withoutUndo records the next edits")
  func managerInsideExclusion() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("First") { volume.title = "Two" }
    context.withoutUndo { context.undoManager = ContextUndoManager() }
    for title in ["Three", "Four", "Five"] { context.undoGroup(title) { volume.title = title } }
    for title in ["Four", "Three", "Two"] {
      try context.undo()
      #expect(volume.title == title)
    }
  }

  @Test("If a group's saved edits are set back and saved, the group cannot be undone after a rollback")
  func savedBack() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("Edit") {
      volume.title = "Two"
      try context.save()
      volume.title = "One"
      try context.save()
    }
    context.rollback()
    #expect(scene.manager.undoCount == 0)
  }

  @Test("An object that a child deletes and restores in one group of the parent keeps its values")
  func deletedAndReturned() throws {
    let scene = try UndoScene()
    let (parent, volume) = (scene.context, try scene.volume("One"))
    volume.pages = 7
    try parent.save()
    scene.manager.removeAllActions()
    let child = parent.newChildContext()
    child.undoManager = ContextUndoManager()
    try parent.undoGroup("Session") {
      child.delete(try undoVolume(volume.objectID, child))
      try child.save()
      try parent.save()
      try child.undo()
      try child.save()
    }
    if parent.undoManager?.canUndo == true { try parent.undo() }
    let same = try undoVolume(volume.objectID, parent)
    #expect(same.title == "One" && same.pages == 7)
  }

  @Test("If a save merges a new object into a stored one, an undo keeps the stored object's links")
  func mergedLink() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.mergePolicy = .mergeByPropertyObjectTrump
    try scene.saveElsewhere { other in
      let mark = UndoMark(context: other)
      mark.label = "x"
      mark.volumes.insert(try undoVolume(volume.objectID, other))
    }
    context.undoGroup("Insert") {
      let mark = UndoMark(context: context)
      mark.label = "x"
      mark.volumes.insert(volume)
    }
    try context.save()
    try context.undo()
    try context.save()
    let saved = try #require(try scene.container.newContext().fetch(FetchRequest<UndoMark>()).first)
    #expect(saved.volumes.map(\.objectID) == [volume.objectID])
  }
}
