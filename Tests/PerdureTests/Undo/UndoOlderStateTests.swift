import Perdure
import Testing

@Suite("Undo in a context that shows an older state")
struct UndoOlderStateTests {
  @Test("If a context is pinned to a state before its last save, an undo throws and keeps the group")
  func pinned() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.setQueryGeneration(from: .current)
    let before = try #require(context.queryGenerationToken)
    context.undoGroup("Rename") { volume.title = "Two" }
    try context.save()
    try context.setQueryGeneration(from: before)
    let error = #expect(throws: PerdureError.self) { try context.undo() }
    #expect(error?.code == .storeOperation && error?.message.contains("setQueryGeneration") == true)
    #expect(scene.manager.canUndo && !scene.manager.canRedo && volume.title == "One")
    try context.setQueryGeneration(from: nil)
    context.refreshAllObjects()
    try context.undo()
    #expect(volume.title == "One" && context.hasChanges && scene.manager.canRedo)
  }

  @Test("Unsaved edits of a pinned context can be undone")
  func unsaved() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    try context.setQueryGeneration(from: .current)
    try scene.saveElsewhere { try undoVolume(volume.objectID, $0).note = "other" }
    context.undoGroup("Rename") { volume.title = "Two" }
    try context.undo()
    #expect(volume.title == "One" && !context.hasChanges)
  }
}
