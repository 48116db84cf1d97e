import Perdure
import Testing

@Suite("What an undo reports, and what a save, a rollback and an equal value leave in a group")
struct UndoObservationTests {
  private let scene: UndoScene
  private let volume: UndoVolume
  private var context: ManagedObjectContext { scene.context }

  init() throws {
    scene = try UndoScene()
    volume = try scene.volume("One")
  }

  @Test(
    "The undo of a saved deletion reports the object as inserted, that of an unsaved one as refreshed",
    arguments: [false, true])
  func deletion(_ isSaved: Bool) throws {
    var (inserted, refreshed): (Set<ManagedObjectID>, Set<ManagedObjectID>) = ([], [])
    let observation = context.observe { news in
      guard news.kind == .objectsDidChange else { return }
      inserted.formUnion(news.insertedObjects.map(\.objectID))
      refreshed.formUnion(news.refreshedObjects.map(\.objectID))
    }
    context.undoGroup("Delete") { context.delete(volume) }
    if isSaved { try context.save() }
    (inserted, refreshed) = ([], [])
    try context.undo()
    #expect(inserted == (isSaved ? [volume.objectID] : []))
    #expect(refreshed == (isSaved ? [] : [volume.objectID]))
    withExtendedLifetime(observation) {}
  }

  @Test("The undo of an unsaved deletion reports an object with other unsaved changes as updated")
  func changed() throws {
    context.withoutUndo { volume.pages = 7 }
    var updated: Set<ManagedObjectID> = []
    let observation = context.observe { updated = Set($0.updatedObjects.map(\.objectID)) }
    context.undoGroup("Delete") { context.delete(volume) }
    #expect(updated.isEmpty)
    try context.undo()
    #expect(updated == [volume.objectID] && volume.pages == 7)
    withExtendedLifetime(observation) {}
  }

  @Test("A save inside a closure does not end its group, and a rollback removes later edits from it")
  func insideClosure() throws {
    try context.undoGroup("Edit") {
      volume.title = "Two"
      try context.save()
      volume.pages = 7
      context.rollback()
      volume.note = "late"
    }
    #expect(scene.manager.undoCount == 1 && volume.title == "Two" && volume.pages == 0)
    try context.undo()
    #expect(volume.title == "One" && volume.note == nil && scene.manager.undoCount == 0)
  }

  @Test("An attribute that is set to its value makes no group, but the object counts as changed")
  func equalValue() {
    context.undoGroup("Nothing") { volume.title = "One" }
    #expect(!scene.manager.canUndo && volume.hasChanges)
  }
}
