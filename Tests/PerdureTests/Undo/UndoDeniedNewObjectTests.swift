import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Depot: ManagedObject {
  @Relationship(inverse: "depot", deleteRule: .deny) var lorries: ToMany<Lorry>
}

@Entity private final class Lorry: ManagedObject {
  @Relationship(inverse: "lorries") var depot: Depot?
}

@Suite("Events of the undo of a deletion that a rule denies")
struct UndoDeniedNewObjectTests {
  @Test(
    "After the undo, events report the object as inserted, updated or refreshed",
    arguments: [false, true])
  func observers(_ isSaved: Bool) throws {
    let container = try PersistentContainer(
      name: "Depots", classes: [Depot.self, Lorry.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let depot = Depot(context: context)
    Lorry(context: context).depot = depot
    if isSaved { try context.save() }
    context.processPendingChanges()
    context.undoManager = ContextUndoManager()
    var shown: Set<ManagedObject> = [depot]
    let observation = context.observe { news in
      shown.formUnion(news.insertedObjects.union(news.updatedObjects).union(news.refreshedObjects))
      shown.subtract(news.deletedObjects)
    }
    context.undoGroup("Delete") { context.delete(depot) }
    #expect(!shown.contains(depot))
    try context.undo()
    #expect(try context.count(for: FetchRequest<Depot>()) == 1)
    #expect(shown.contains(depot))
    withExtendedLifetime(observation) {}
  }
}
