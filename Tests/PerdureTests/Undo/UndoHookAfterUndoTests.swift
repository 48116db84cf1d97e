import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Phrase: ManagedObject {
  var text: String = ""
  var length: Int = 0

  override func willSave() {
    if !isDeleted, length != text.utf8.count { length = text.utf8.count }
  }
}

@Suite("Undo of changes that save hooks make after an undo")
struct UndoHookAfterUndoTests {
  @Test("After an undo, a save with hooks and a new edit, earlier groups can be undone without a conflict")
  func afterUndo() throws {
    let container = try PersistentContainer(
      name: "Phrases", classes: [Phrase.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let (phrase, other) = (Phrase(context: context), Phrase(context: context))
    phrase.text = "a"
    try context.save()
    context.undoManager = ContextUndoManager()
    context.undoGroup("First") { phrase.text = "ab" }
    try context.save()
    context.undoGroup("Second") { phrase.text = "abc" }
    context.undoGroup("Undone") { other.text = "x" }
    try context.undo()
    try context.save()
    context.undoGroup("Later") { other.text = "y" }
    try context.undo()
    try context.undo()
    #expect(phrase.text == "ab")
    let found = undoConflicts { () throws(PerdureError) in try context.undo() }
    #expect(found.isEmpty && phrase.text == "a" && phrase.length == 1)
  }
}
