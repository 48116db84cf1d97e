import Perdure
import Testing

@Suite("Undo of transient values that were set after a deletion")
struct UndoDeletedTransientTests {
  @Test(
    "The undo of an edit and of the deletion before it restores the first transient value",
    arguments: [false, true])
  func editsAfterDeletion(_ isSaved: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    volume.mood = "calm"
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(volume) }
    context.undoGroup("Edit") { volume.mood = "merry" }
    #expect(scene.manager.undoCount == 2)
    if isSaved { try context.save() }
    while scene.manager.canUndo { try context.undo() }
    #expect(!volume.isDeleted && volume.mood == "calm")
  }
}
