import Perdure
import Testing

@Suite("Undo of a pending deletion after saves of other contexts")
struct UndoPendingDeletionTests {
  @Test(
    "The undo of a deletion does not replace a value that another context has saved meanwhile",
    arguments: [false, true])
  func changedMeanwhile(_ mergesByItself: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.automaticallyMergesChangesFromParent = mergesByItself
    context.undoGroup("Delete") { context.delete(volume) }
    let other = scene.container.newContext()
    try other.existingObject(with: volume.objectID).setValue("Theirs", forKey: "title")
    try other.save()
    if mergesByItself { context.processPendingChanges() } else { context.refreshAllObjects() }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.isEmpty)
    #expect(!volume.isDeleted && volume.title == "Theirs" && !context.hasChanges)
    try context.save()
    let saved = try scene.container.newContext().existingObject(with: volume.objectID)
    #expect(saved.value(forKey: "title") as? String == "Theirs")
  }
}
