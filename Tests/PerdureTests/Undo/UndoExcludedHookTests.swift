import Perdure
import Testing

@Entity private final class Memo: ManagedObject {
  var text: String = ""
  var length: Int = 0

  override func willSave() { if !isDeleted, length != text.count { length = text.count } }
}

@Suite("Save hooks after edits in withoutUndo")
struct UndoExcludedHookTests {
  @Test("Changes by willSave after an edit in withoutUndo create no group, and groups to redo stay")
  func hook() throws {
    let container = try PersistentContainer(name: "Memos", classes: [Memo.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let manager = ContextUndoManager()
    context.undoManager = manager
    let (memo, other) = (Memo(context: context), Memo(context: context))
    try context.save()
    manager.removeAllActions()
    context.undoGroup("Edit") { other.text = "a" }
    try context.save()
    try context.undo()
    try context.save()
    #expect(manager.undoCount == 0 && manager.redoActionName == "Edit")
    context.withoutUndo { memo.text = "abc" }
    try context.save()
    #expect(memo.length == 3)
    #expect(manager.undoCount == 0 && manager.redoActionName == "Edit")
  }
}
