import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Draft: ManagedObject {
  @Attribute(.unique) var key: Int64 = 0
  var title: String = ""
  var note: String = ""

  /// Rolls back and sets an invalid title after a merge of another context's save, but only in the
  /// context that has an undo manager.
  override func willSave() {
    guard let context = managedObjectContext, context.undoManager != nil else { return }
    if note == "there", title != "invalid" {
      context.rollback()
      title = "invalid"
    }
  }

  override func validateForUpdate() throws {
    if title == "invalid" { throw DraftError() }
  }
}

private struct DraftError: Error {}

@Suite("Unsaved changes and undo groups after failed saves")
struct UndoFailedSaveTests {
  @Test("If willSave rolls back after a merge and the save fails, the rolled-back changes do not return")
  func rollbackInHook() throws {
    let container = try PersistentContainer(
      name: "Drafts", classes: [Draft.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    context.mergePolicy = .mergeByPropertyObjectTrump
    context.undoManager = ContextUndoManager()
    let (draft, other) = (Draft(context: context), Draft(context: context))
    (draft.key, other.key) = (1, 2)
    try context.save()
    draft.title = "mine"
    other.title = "mine too"
    let there = container.newContext()
    let same = try #require(try there.existingObject(with: draft.objectID) as? Draft)
    same.note = "there"
    try there.save()
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(draft.title == "invalid" && other.title == "" && !other.hasChanges)
    context.rollback()
    #expect(draft.title == "" && draft.note == "there")
  }

  @Test("If a parent refuses a child's save, the parent's edits of the event stay in one undo group")
  func refusedChild() throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    let child = context.newChildContext()
    try undoVolume(volume.objectID, child).title = "Child"
    volume.title = "Two"
    #expect(throws: PerdureError.self) { try child.save() }
    volume.pages = 9
    context.processPendingChanges()
    #expect(scene.manager.undoCount == 1)
    try context.undo()
    #expect(volume.title == "One" && volume.pages == 0)
  }
}
