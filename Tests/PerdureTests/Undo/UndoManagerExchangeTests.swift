import Testing

@testable import Perdure

@Entity private final class Closing: ManagedObject {
  var text: String = ""
  @Transient var exchange = 0

  override func awake(fromSnapshotEvents events: SnapshotEventType) {
    guard let context = managedObjectContext else { return }
    context.undoManager = exchange == 2 ? ContextUndoManager() : nil
  }
}

@Suite("Exchange of undo managers")
struct UndoManagerExchangeTests {
  @Test("A hook of an undo may remove or replace the undo manager", arguments: [1, 2])
  func inHook(_ exchange: Int) throws {
    let container = try PersistentContainer(name: "C", classes: [Closing.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let object = Closing(context: context)
    object.exchange = exchange
    try context.save()
    context.undoManager = ContextUndoManager()
    context.undoGroup("Text") { object.text = "a" }
    try context.undo()
    #expect(object.text == "" && context.undoManager?.canRedo == (exchange == 2 ? false : nil))
    object.text = "b"
    context.processPendingChanges()
    #expect(context.undoManager?.undoCount == (exchange == 2 ? 1 : nil))
  }

  @Test("A manager loses the groups of its freed context when it is set on another context")
  func reattached() throws {
    let manager = ContextUndoManager()
    func scene(_ isLinked: Bool) throws -> (UndoScene, UndoMark, UndoVolume) {
      let scene = try UndoScene()
      let (mark, volume) = (UndoMark(context: scene.context), UndoVolume(context: scene.context))
      if isLinked { mark.volumes.insert(volume) }
      try scene.context.save()
      scene.context.undoManager = nil
      return (scene, mark, volume)
    }
    try {
      let (first, mark, _) = try scene(true)
      first.context.undoManager = manager
      first.context.undoGroup("Unmark") { mark.volumes.removeAll() }
      try first.context.save()
    }()
    #expect(manager.undoCount == 1 && !manager.canUndo)
    let (second, mark, _) = try scene(false)
    second.context.undoManager = manager
    #expect(!manager.canUndo && manager.undoCount == 0)
    try manager.undo()
    #expect(mark.volumes.isEmpty && !second.context.hasChanges)
  }

  @Test("A save whose hooks change nothing makes no new group", arguments: [false, true])
  func numberAtSave(_ isUndone: Bool) throws {
    let scene = try UndoScene()
    let (context, volume) = (scene.context, try scene.volume("One"))
    context.undoGroup("Rename") { volume.title = "Two" }
    if isUndone {
      volume.pages = 1
      context.processPendingChanges()
      try context.undo()
    }
    let number = scene.manager.lastGroupNumber
    try context.save()
    #expect(scene.manager.lastGroupNumber == number)
  }
}
