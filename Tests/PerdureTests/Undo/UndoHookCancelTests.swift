import Perdure
import Testing

@Entity private final class Letter: ManagedObject {
  var text: String = ""
  var length: Int = 0

  override func willSave() { if !isDeleted, length != text.count { length = text.count } }
}

@Suite("Save hooks that change a value again after its undo")
struct UndoHookCancelTests {
  @Test("If a save hook changes a reverted value again, the undo of all groups restores the first values")
  func allGroups() throws {
    let container = try PersistentContainer(name: "Letters", classes: [Letter.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let manager = ContextUndoManager()
    context.undoManager = manager
    let (memo, other) = (Letter(context: context), Letter(context: context))
    try context.save()
    manager.removeAllActions()
    context.undoGroup("1") { memo.text = "abc" }
    context.undoGroup("2") { other.text = "x" }
    try context.save()
    // The length belongs to the group of the text.
    try context.undo()
    #expect(memo.length == 3 && other.length == 0)
    try context.save()
    #expect(memo.length == 3)
    context.undoGroup("3") { other.text = "y" }
    while manager.canUndo { try context.undo() }
    #expect(memo.text == "" && memo.length == 0)
  }
}
