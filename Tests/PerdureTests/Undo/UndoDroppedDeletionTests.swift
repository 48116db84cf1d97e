import Perdure
import Testing

@Suite("Undo of deletions that a refresh or a merge policy has dropped")
struct UndoDroppedDeletionTests {
  @Test(
    "The undo of a dropped deletion does not move the object back from where another context has moved it",
    arguments: [false, true])
  func moved(_ isDroppedByPolicy: Bool) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let (later, volume) = (UndoShelf(context: context), shelf.volumes[0])
    try context.save()
    scene.manager.removeAllActions()
    context.undoGroup("Delete") { context.delete(volume) }
    let other = scene.container.newContext()
    let theirs = try other.existingObject(with: later.objectID)
    try other.existingObject(with: volume.objectID).setValue(theirs, forKey: "shelf")
    try other.save()
    if isDroppedByPolicy {
      context.mergePolicy = .mergeByPropertyStoreTrump
      try context.save()
    } else {
      context.refresh(volume, mergeChanges: false)
    }
    #expect(!volume.isDeleted && volume.shelf === later)
    _ = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(volume.shelf === later && shelf.volumes.isEmpty)
    try context.save()
    #expect(later.volumes.map(\.title) == ["a"])
  }

  @Test(
    "The undo of a dropped deletion does not link the object again after another context has unlinked it",
    arguments: [false, true])
  func unlinked(_ isDroppedByPolicy: Bool) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let volume = shelf.volumes[0]
    context.undoGroup("Delete") { context.delete(volume) }
    try scene.saveElsewhere { try undoVolume(volume.objectID, $0).shelf = nil }
    if isDroppedByPolicy {
      context.mergePolicy = .mergeByPropertyStoreTrump
      try context.save()
    } else {
      context.refresh(volume, mergeChanges: false)
    }
    #expect(!volume.isDeleted && volume.shelf == nil)
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(!found.isEmpty && volume.shelf == nil)
    try context.undo(.keepCurrent)
    #expect(volume.shelf == nil && shelf.volumes.isEmpty && !context.hasChanges)
  }
}
