// Undo of unsaved edits after saves of other contexts. The edits concern values, members, pairs
// and deletions. Some tests check that an undo leaves no changes. Others check that places whose
// saves are no longer hidden cause no conflicts.

import Perdure
import PerdurePredicates
import Testing

@Suite("Undo beside saves of other contexts, without silent losses and without false conflicts")
struct UndoBesideSavesTests {
  private func write(_ scene: UndoScene, _ id: ManagedObjectID, _ body: (UndoVolume) -> Void) throws {
    try scene.saveElsewhere { body(try undoVolume(id, $0)) }
  }

  /// Makes a volume, and edits and deletes it in one group. Then another context saves new pages of
  /// the volume, and this context advances without a refresh of the volume.
  private func deletedBeforeAdvance(_ scene: UndoScene) throws -> UndoVolume {
    let (context, volume) = (scene.context, try scene.volume("One"))
    let unrelated = try scene.volume("Other")
    context.undoGroup("Edit and delete") {
      volume.title = "Mine"
      context.delete(volume)
    }
    try write(scene, volume.objectID) { $0.pages = 9 }
    context.refresh(unrelated, mergeChanges: true)
    return volume
  }

  @Test("After a refresh without a merge, a hidden save is no conflict for an earlier saved edit")
  func refreshedWithoutMerge() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Saved") { volume.title = "Two" }
    try context.save()
    context.withoutUndo { volume.title = "Mine" }
    try write(scene, volume.objectID) { $0.title = "Theirs" }
    context.refreshAllObjects()
    context.refresh(volume, mergeChanges: false)
    #expect(volume.title == "Theirs")
    try write(scene, volume.objectID) { $0.title = "Two" }
    context.refreshAllObjects()
    #expect(volume.title == "Two" && !context.hasChanges)
    try context.undo()
    #expect(volume.title == "One")
  }

  @Test("After an undo has restored the saved value, a hidden save is no conflict for earlier edits")
  func savedValueRestored() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("First") { volume.title = "Two" }
    try context.save()
    context.undoGroup("Second") { volume.title = "Mine" }
    try write(scene, volume.objectID) { $0.title = "Theirs" }
    context.refreshAllObjects()
    try write(scene, volume.objectID) { $0.title = "Two" }
    context.refreshAllObjects()
    try context.undo()
    #expect(volume.title == "Two" && !context.hasChanges)
    try context.undo()
    #expect(volume.title == "One")
  }

  @Test("After an advance without a merge, the undo of a deletion conflicts with a later save")
  func deletedAdvance() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try deletedBeforeAdvance(scene))
    try write(scene, volume.objectID) { $0.title = "Theirs" }
    context.refreshAllObjects()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.current) == [.string("Theirs")])
  }

  @Test("After an advance without a merge, the undo of an edit and a deletion leaves no change")
  func deletedAdvanceUndone() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try deletedBeforeAdvance(scene))
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 9 && !context.hasChanges)
    try context.save()
  }

  @Test("The undo of an edit before the last save does not replace a later save by another context")
  func savedBetween() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("1") { volume.title = "A" }
    context.undoGroup("2") { volume.title = "B" }
    context.undoGroup("3") { volume.title = "A" }
    try context.save()
    try context.undo()
    #expect(volume.title == "B")
    try write(scene, volume.objectID) { $0.title = "Theirs" }
    context.refreshAllObjects()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.current) == [.string("Theirs")])
  }

  @Test(
    "The undo of a removal does not silently revert a move of the member by another context",
    arguments: [0, 1, 2])
  func removedAndMoved(_ how: Int) throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b", "c", "d"))
    let second = UndoShelf(context: context)
    try context.save()
    scene.manager.removeAllActions()
    let volume = shelf.volumes[0]
    context.undoGroup("Remove") {
      switch how {
      case 0: volume.shelf = nil
      case 1: volume.shelf = second
      default: context.delete(volume)
      }
    }
    try write(scene, volume.objectID) { $0.shelf?.volumes.move($0, to: 2) }
    context.refreshAllObjects()
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    if found.isEmpty { #expect(shelf.volumes.map(\.title) == ["b", "c", "a", "d"]) }
  }

  @Test("After an overwrite, a redo and an unrelated merge, earlier groups can be undone")
  func overwrittenThenAdvance() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let unrelated = try scene.volume("Other")
    context.undoGroup("First") { volume.title = "Two" }
    try context.save()
    context.undoGroup("Second") { volume.title = "Mine" }
    try write(scene, volume.objectID) { $0.title = "Theirs" }
    context.refresh(unrelated, mergeChanges: true)
    try context.undo(.overwrite)
    try context.redo()
    try write(scene, unrelated.objectID) { $0.title = "More" }
    context.refresh(unrelated, mergeChanges: true)
    try context.undo()
    try context.undo()
    #expect(volume.title == "One")
  }

  @Test("An undo that restores the original value does not replace a later save by another context")
  func setBack() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("1") { volume.title = "A" }
    context.undoGroup("2") { volume.title = "One" }
    context.undoGroup("3") { volume.title = "B" }
    try scene.changeElsewhere { try undoVolume(volume.objectID, $0).title = "Theirs" }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.map(\.current) == [.string("Theirs")])
  }

  @Test("The undo of a deletion does not link the object again after another context has unlinked it")
  func unlinkedElsewhere() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a"))
    let volume = shelf.volumes[0]
    context.undoGroup("Delete") { context.delete(volume) }
    try scene.changeElsewhere { try undoVolume(volume.objectID, $0).shelf = nil }
    _ = undoConflicts { () throws(PerdureError) in try context.undo() }
    try context.undo(.keepCurrent)
    try context.save()
    #expect(volume.isDeleted == false && volume.shelf == nil)
  }

  @Test("The undo of a removal and an addition of the same member leaves no change")
  func removedAndAdded() throws {
    let scene = try UndoScene()
    let (context, shelf) = (scene.context, try scene.shelf("a", "b", "c"))
    let volume = shelf.volumes[0]
    context.undoGroup("Move") {
      shelf.volumes.remove(volume)
      shelf.volumes.append(volume)
    }
    try context.undo()
    #expect(shelf.volumes.map(\.title) == ["a", "b", "c"] && !context.hasChanges)
  }

  @Test("A refresh without a merge keeps a one-to-one link that another context has saved")
  func refreshedPair() throws {
    let scene = try UndoScene()
    let (context, a) = (scene.context, try scene.volume("a"))
    let (b, c) = (try scene.volume("b"), try scene.volume("c"))
    a.sequel = b
    try scene.changeElsewhere {
      try undoVolume(c.objectID, $0).sequel = try undoVolume(b.objectID, $0)
    }
    context.refresh(a, mergeChanges: false)
    #expect(c.sequel === b && !context.hasChanges)
  }
}
