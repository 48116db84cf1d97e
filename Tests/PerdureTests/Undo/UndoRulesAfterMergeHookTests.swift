import Perdure
import Testing

@Entity private final class Crate: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "crate", deleteRule: .cascade) var items: ToMany<CrateItem>
}

@Entity private final class CrateItem: ManagedObject {
  @Relationship(inverse: "items") var crate: Crate?
  @Relationship(inverse: nil) var log: CrateLog?

  override func prepareForDeletion() {
    let context = managedObjectContext
    context?.undoGroup("Hook") { log?.count += 1 }
    context?.withoutUndo { log?.visits += 1 }
    if log?.removesManager == true { context?.undoManager = nil }
  }
}

@Entity private final class CrateLog: ManagedObject {
  var count: Int = 0
  var visits: Int = 0
  var removesManager: Bool = false
}

/// A context with a pending deletion of a crate. Another context has added an item to the crate.
private struct CrateScene {
  let context: ManagedObjectContext
  let manager = ContextUndoManager()
  let crate: Crate
  let log: CrateLog

  init(removesManager: Bool = false) throws {
    let container = try PersistentContainer(
      name: "Crates", classes: [Crate.self, CrateItem.self, CrateLog.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    (crate, log) = (Crate(context: context), CrateLog(context: context))
    log.removesManager = removesManager
    try context.save()
    context.undoManager = manager
    context.undoGroup("Delete") { [context, crate] in context.delete(crate) }
    let other = container.newContext()
    let item = CrateItem(context: other)
    item.crate = try other.existingObject(with: crate.objectID) as? Crate
    item.log = try other.existingObject(with: log.objectID) as? CrateLog
    try other.save()
  }
}

@Suite("Undo of edits by prepareForDeletion, if delete rules are applied again after a merge")
struct UndoRulesAfterMergeHookTests {
  @Test(
    "Edits by prepareForDeletion belong to the deletion's group, even in undoGroup, but not in withoutUndo")
  func prepared() throws {
    let scene = try CrateScene()
    let (context, log) = (scene.context, scene.log)
    context.refreshAllObjects()
    context.processPendingChanges()
    #expect(log.count == 1 && log.visits == 1 && scene.manager.undoCount == 1)
    #expect(scene.manager.undoActionName == "Delete")
    try context.undo()
    #expect(log.count == 0 && log.visits == 1 && scene.crate.items.count == 1)
    try context.redo()
    #expect(log.count == 1 && scene.crate.isDeleted)
    try context.save()
  }

  @Test("A prepareForDeletion may remove the undo manager")
  func removedManager() throws {
    let scene = try CrateScene(removesManager: true)
    scene.context.refreshAllObjects()
    scene.context.processPendingChanges()
    #expect(scene.context.undoManager == nil && scene.manager.undoCount == 0 && scene.log.count == 1)
    try scene.context.save()
  }
}
