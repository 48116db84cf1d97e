// Undo groups of objects that are assigned to another store, and so get other references.

import PerdureTestSupport
import Testing

@testable import Perdure

@Entity private final class Pal: ManagedObject {
  @Relationship(inverse: "friends") var friends: ToMany<Pal>
}

@Suite("Undo of links of objects that were assigned to another store")
struct UndoAssignedPairTests {
  @Test(
    "A group that removes a link, assigns both objects and adds the link again has no effect",
    arguments: [[0, 1], [1, 0]])
  func selfInverse(order: [Int]) throws {
    let model = try PersistentContainer(name: "One", classes: [Pal.self], description: .inMemory)
      .managedObjectModel
    let container = PersistentContainer(
      name: "Two", model: model, classes: [Pal.self], storeDescriptions: [.inMemory, .inMemory])
    try container.loadPersistentStores()
    let (context, manager) = (container.newContext(), ContextUndoManager())
    context.undoManager = manager
    let pair = [Pal(context: context), Pal(context: context)]
    pair[0].friends.insert(pair[1])
    context.processPendingChanges()
    manager.removeAllActions()
    try context.undoGroup("Remove, assign and add") {
      pair[0].friends.remove(pair[1])
      for number in order { try context.assign(pair[number], to: container.persistentStores[1]) }
      pair[0].friends.insert(pair[1])
    }
    #expect(!manager.canUndo)
    try context.undo()
    #expect(pair[0].friends.contains(pair[1]) && pair[1].friends.contains(pair[0]))
  }
}
