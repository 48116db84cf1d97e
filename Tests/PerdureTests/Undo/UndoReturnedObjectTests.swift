// In one group, a child deletes an object and inserts it again, and then the parent edits it.

import Perdure
import Testing

@Suite("Undo groups that edit an object which a child has inserted again")
struct UndoReturnedObjectTests {
  @Test(
    "The undo restores the value that another context has saved before the edit",
    arguments: [false, true])
  func savedAfterReturn(_ isInsertedAgain: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("All") {
      let child = context.newChildContext()
      let undoing = ContextUndoManager()
      child.undoManager = undoing
      if isInsertedAgain {
        child.delete(try undoVolume(volume.objectID, child))
        try child.save()
        try context.save()
        try undoing.undo()
        try child.save()
        try context.save()
      }
      try scene.changeElsewhere { try undoVolume(volume.objectID, $0).title = "Theirs" }
      let again = try undoVolume(volume.objectID, context)
      #expect(again.title == "Theirs")
      again.title = "Mine"
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    let title = try undoVolume(volume.objectID, context).title
    #expect(found.isEmpty && title == "Theirs")
  }
}
