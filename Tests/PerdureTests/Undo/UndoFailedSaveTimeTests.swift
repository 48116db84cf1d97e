import Foundation
import Perdure
import Testing

@Suite("Undo and the time of the last save, after a failed save")
struct UndoFailedSaveTimeTests {
  @Test("After a failed save, the undo of the edits leaves no changes", arguments: [false, true])
  func undone(_ isLink: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let (first, second) = (UndoMark(context: context), UndoMark(context: context))
    (first.label, second.label) = ("a", "b")
    try context.save()
    scene.manager.removeAllActions()
    let savedAt = second.savedAt
    context.undoGroup("Edit") {
      if isLink { second.volumes.insert(volume) } else { second.favourite = volume }
      first.label = "b"
    }
    #expect(throws: PerdureError.self) { try context.save() }
    try context.undo()
    #expect(first.label == "a" && second.volumes.isEmpty && second.favourite == nil)
    #expect(!context.hasChanges && second.savedAt == savedAt)
  }

  @Test("A save that fails does not change the time of the last save")
  func failed() throws {
    let scene = try UndoScene()
    let context = scene.context
    let (first, second) = (UndoMark(context: context), UndoMark(context: context))
    (first.label, second.label) = ("a", "b")
    try context.save()
    let savedAt = first.savedAt
    first.label = "b"
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(first.savedAt == savedAt)
    #expect(Array(first.changedValues().keys) == ["label"])
  }
}
