import Perdure
import Testing

@Suite("Undo of saved deletions of objects that another context had changed")
struct UndoMergedDeletionTests {
  @Test(
    "A value that was merged before or in the save of the deletion is restored",
    arguments: [false, true])
  func value(_ mergesAtSave: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.undoGroup("Delete") { context.delete(volume) }
    try scene.saveElsewhere { try undoVolume(volume.objectID, $0).title = "Theirs" }
    if !mergesAtSave { context.refreshAllObjects() }
    try context.save()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.isEmpty && volume.title == "Theirs")
  }

  @Test("A link that was merged before the deletion was saved is restored")
  func link() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b"))
    let (other, volume) = (try scene.shelf("c"), shelf.volumes[0])
    context.undoGroup("Delete") { context.delete(volume) }
    try scene.changeElsewhere {
      try undoVolume(volume.objectID, $0).shelf =
        try #require(try $0.existingObject(with: other.objectID) as? UndoShelf)
    }
    try context.save()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.isEmpty && volume.shelf === other)
  }

  @Test("An undo restores unsaved values from before the deletion, and saved values of another context")
  func unsavedValues() throws {
    let scene = try UndoScene()
    let (context, shelf, volume) = (scene.context, try scene.shelf(), try scene.volume("One"))
    context.undoGroup("Edit") { (volume.title, volume.shelf) = ("Mine", shelf) }
    context.undoGroup("Delete") {
      volume.title = "One"
      context.delete(volume)
    }
    try scene.changeElsewhere { try undoVolume(volume.objectID, $0).pages = 9 }
    try context.save()
    try context.undo()
    #expect(volume.title == "Mine" && volume.shelf === shelf && volume.pages == 9)
  }
}
