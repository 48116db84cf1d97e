// Undo groups with saves that fail in a merge, and with saves by the hooks of an undo.

import Perdure
import Testing

private struct Refusal: Error {}

@Entity private final class Entry: ManagedObject {
  var text: String = ""
  var count: Int = 0
  /// Only the instance of the merging context has hooks.
  @Transient var isHooked = false
  @Transient var afterUndo: (() -> Void)?

  override func willSave() { if isHooked, count == 99, text != "merged" { text = "merged" } }
  override func validateForUpdate() throws { if isHooked, count == 99 { throw Refusal() } }
  override func awake(fromSnapshotEvents events: SnapshotEventType) {
    if events.contains(.undoUpdate) { afterUndo?() }
  }
}

@Suite("Undo after failed merges, and saves by the hooks of an undo")
struct UndoSaveInterplayTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext
  private let manager = ContextUndoManager()
  private let entry: Entry

  init() throws {
    container = try PersistentContainer(name: "Entries", classes: [Entry.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    entry = Entry(context: context)
    try context.save()
    context.undoManager = manager
  }

  private func changeElsewhere() throws {
    let other = container.newContext()
    try #require(try other.existingObject(with: entry.objectID) as? Entry).count = 99
    try other.save()
  }

  @Test("Edits of hooks that a failed merge has reverted do not belong to the group")
  func revertedHooks() throws {
    context.undoGroup("Text") { entry.text = "a" }
    try changeElsewhere()
    entry.isHooked = true
    #expect(throws: PerdureError.self) { try context.save() }
    entry.isHooked = false
    #expect(entry.text == "a" && entry.count == 0 && manager.undoCount == 1)
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() } == [])
    #expect(entry.text == "" && !context.hasChanges)
  }

  @Test("A merge that fails inside of a group leaves the edits in the group", arguments: [false, true])
  func openGroup(_ editsLater: Bool) throws {
    try changeElsewhere()
    context.undoGroup("Text") {
      entry.text = "a"
      entry.isHooked = true
      #expect(throws: PerdureError.self) { try context.save() }
      entry.isHooked = false
      if editsLater { entry.text = "b" }
    }
    #expect(entry.text == (editsLater ? "b" : "a") && manager.undoCount == 1)
    #expect(undoConflicts { () throws(PerdureError) in try context.undo() } == [])
    #expect(entry.text == "" && !context.hasChanges)
  }

  @Test("A merge that fails leaves the groups that can be redone")
  func redoAfterFailure() throws {
    context.undoGroup("Text") { entry.text = "a" }
    context.undoGroup("More") { entry.text = "b" }
    try context.undo()
    try changeElsewhere()
    entry.isHooked = true
    #expect(throws: PerdureError.self) { try context.save() }
    entry.isHooked = false
    #expect(manager.undoActionName == "Text" && manager.redoActionName == "More")
    try context.redo()
    #expect(entry.text == "b")
  }

  @Test("If a hook of an undo saves, a rollback keeps the group to redo")
  func saveInHook() throws {
    context.undoGroup("Text") { entry.text = "a" }
    try context.save()
    entry.afterUndo = { [context] in #expect(throws: Never.self) { try context.save() } }
    try context.undo()
    entry.afterUndo = nil
    #expect(entry.text == "" && !context.hasChanges && manager.redoCount == 1)
    context.rollback()
    #expect(manager.undoCount == 0 && manager.redoActionName == "Text")
    try context.redo()
    #expect(entry.text == "a")
  }
}
