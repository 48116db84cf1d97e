import Perdure
import Testing

@Suite("Undo of a deletion after another context deleted the object, which has unsaved changes here")
struct UndoVanishedTests {
  @Test("The object is restored once, and the context can be saved", arguments: [false, true])
  func changedAndRemoved(_ isInGroup: Bool) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let volume = shelf.volumes[0]
    context.undoGroup("Delete") { context.delete(volume) }
    context.refresh(volume, mergeChanges: false)
    #expect(!volume.isDeleted)
    if isInGroup {
      context.undoGroup("Rename") { volume.title = "Two" }
    } else {
      context.withoutUndo { volume.title = "Two" }
    }
    try scene.changeElsewhere { other in
      other.delete(try other.existingObject(with: volume.objectID))
    }
    if isInGroup {
      let found = undoConflicts { () throws(PerdureError) in try context.undo() }
      #expect(found.map(\.objectID) == [volume.objectID] && found.map(\.property) == [""])
      try context.undo(.overwrite)
    }
    try context.undo(.overwrite)
    #expect(!volume.isDeleted && volume.title == "a" && volume.shelf === shelf)
    #expect(context.insertedObjects == [volume])
    try context.save()
    #expect(try scene.container.newContext().count(for: FetchRequest<UndoVolume>()) == 1)
  }
}
