import Perdure
import Testing

@Suite("Edits of an open undo group that a rollback has reverted")
struct UndoRevertedEditTests {
  @Test(
    "Edits that a rollback has reverted do not belong to the group, even if the group had read them",
    arguments: [false, true])
  func reverted(_ merges: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let another = try scene.volume("Other")
    try context.undoGroup("Edit") {
      volume.title = "Two"
      try context.save()
      volume.pages = 5
      if merges {
        try scene.changeElsewhere {
          try $0.existingObject(with: another.objectID).setValue("Theirs", forKey: "title")
        }
      } else {
        context.withoutUndo { volume.pages = 6 }
      }
      context.rollback()
    }
    context.withoutUndo { volume.pages = 5 }
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 5)
    try context.redo()
    context.withoutUndo { volume.pages = 7 }
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() } == [])
    #expect(volume.title == "One" && volume.pages == 7)
  }

  @Test("The undo of an edit after the rollback restores the value before the edit, not a reverted value")
  func editedAgain() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("Edit") {
      volume.title = "Two"
      try context.save()
      volume.pages = 5
      context.withoutUndo { volume.pages = 6 }
      context.rollback()
      volume.pages = 8
    }
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 0)
    try context.redo()
    #expect(volume.title == "Two" && volume.pages == 8)
  }

  @Test("A rollback after the end of the group leaves the saved part of the group")
  func endedGroup() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("Edit") {
      volume.title = "Two"
      try context.save()
      volume.pages = 5
    }
    context.rollback()
    context.withoutUndo { volume.pages = 7 }
    #expect(scene.manager.undoActionName == "Edit")
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() } == [])
    #expect(volume.title == "One" && volume.pages == 7)
  }

  @Test("A group whose later edits restore the values can be undone after a rollback of these edits")
  func restoredByHand() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("Edit") {
      volume.title = "Two"
      try context.save()
      volume.title = "One"
    }
    #expect(!scene.manager.canUndo)
    context.rollback()
    #expect(volume.title == "Two" && scene.manager.undoActionName == "Edit")
    try context.undo()
    #expect(volume.title == "One")
  }

  @Test("A name that the group gets after its end does not restore its reverted edits")
  func renamed() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.undoGroup("Edit") {
      volume.title = "Two"
      try context.save()
      volume.pages = 5
    }
    scene.manager.setActionName("Change")
    context.rollback()
    context.withoutUndo { volume.pages = 7 }
    #expect(scene.manager.undoActionName == "Change")
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() } == [])
    #expect(volume.title == "One" && volume.pages == 7)
  }
}
