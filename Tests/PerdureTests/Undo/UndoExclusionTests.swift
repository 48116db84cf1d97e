import Perdure
import Testing

@Entity private final class Waking: ManagedObject {
  var text: String = ""

  override func awake(fromSnapshotEvents events: SnapshotEventType) {
    if events.contains(.refresh) { try? managedObjectContext?.undo() }
  }
}

@Entity private final class Leaving: ManagedObject {
  var text: String = ""

  override func prepareForDeletion() { try? managedObjectContext?.undo() }
}

@Suite("Undo inside withoutUndo and in hooks")
struct UndoExclusionTests {
  @Test("An undo by the hook of a deletion stops the program")
  func deletion() async {
    let hook = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer(name: "L", classes: [Leaving.self], description: .inMemory)
      try container.loadPersistentStores()
      let context = container.newContext()
      context.undoManager = ContextUndoManager()
      let object = Leaving(context: context)
      context.processPendingChanges()
      context.delete(object)
    }
    #expect(
      hook.map { String(decoding: $0.standardErrorContent, as: UTF8.self) }?.contains("deletion") == true)
  }

  @Test("An undo inside withoutUndo, or in a hook of a refresh, stops the program")
  func stops() async {
    let inside = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let scene = try UndoScene()
      let (context, volume) = (scene.context, try scene.volume("One"))
      context.undoGroup("Rename") { volume.title = "Two" }
      try context.withoutUndo { try context.undo() }
    }
    #expect(
      inside.map { String(decoding: $0.standardErrorContent, as: UTF8.self) }?.contains("withoutUndo") == true
    )
    let hook = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try PersistentContainer(name: "W", classes: [Waking.self], description: .inMemory)
      try container.loadPersistentStores()
      let context = container.newContext()
      let object = Waking(context: context)
      try context.save()
      context.undoManager = ContextUndoManager()
      context.undoGroup("Text") { object.text = "a" }
      context.refresh(object, mergeChanges: true)
    }
    #expect(
      hook.map { String(decoding: $0.standardErrorContent, as: UTF8.self) }?.contains("refresh") == true)
  }
}
