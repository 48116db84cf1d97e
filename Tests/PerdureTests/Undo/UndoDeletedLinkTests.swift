import Perdure
import Testing

@Suite("Undo of deletions whose many-to-many links another context has removed")
struct UndoDeletedLinkTests {
  /// What happens between the save of the other context and the undo.
  enum Between: CaseIterable {
    case merge, save, refreshWithoutMerge, droppedByPolicy
  }

  @Test(
    "The undo of a deletion does not link the object again after another context has unlinked it",
    arguments: Between.allCases, [false, true])
  func unlinked(_ between: Between, _ deletesMark: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let mark = UndoMark(context: context)
    mark.volumes.insert(volume)
    try context.save()
    scene.manager.removeAllActions()
    let victim: ManagedObject = deletesMark ? mark : volume
    context.undoGroup("Delete") { context.delete(victim) }
    try scene.saveElsewhere { other in
      let theirs = try undoVolume(volume.objectID, other)
      theirs.marks.removeAll()
      // Both rows change too, so a policy has to decide about the deletion.
      theirs.pages = 9
      try other.existingObject(with: mark.objectID).setValue("L", forKey: "label")
    }
    switch between {
    case .merge: context.refreshAllObjects()
    case .save:
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
    case .refreshWithoutMerge: context.refresh(victim, mergeChanges: false)
    case .droppedByPolicy:
      context.mergePolicy = .mergeByPropertyStoreTrump
      try context.save()
    }
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.isEmpty == (between == .save))
    if found.isEmpty { #expect(volume.marks.isEmpty && mark.volumes.isEmpty) }
    try context.undo(.keepCurrent)
    #expect(!victim.isDeleted && volume.marks.isEmpty && mark.volumes.isEmpty)
  }

  @Test(
    "If no other context has saved, the undo of a deletion that a refresh has dropped is no conflict",
    arguments: [false, true])
  func refreshed(_ deletesMark: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let mark = UndoMark(context: context)
    mark.volumes.insert(volume)
    mark.favourite = volume
    try context.save()
    scene.manager.removeAllActions()
    let victim: ManagedObject = deletesMark ? mark : volume
    context.undoGroup("Delete") { context.delete(victim) }
    context.refresh(victim, mergeChanges: false)
    try context.undo()
    #expect(Array(volume.marks) == [mark] && Array(mark.volumes) == [volume])
    #expect(mark.favourite === volume)
  }
}
