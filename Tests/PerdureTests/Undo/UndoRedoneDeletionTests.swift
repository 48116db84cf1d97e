import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Firm: ManagedObject {
  @Relationship(inverse: "owner", deleteRule: .deny) var machines: ToMany<Machine>
  @Relationship(inverse: "maker", deleteRule: .noAction) var products: ToMany<Machine>
}

@Entity private final class Machine: ManagedObject {
  @Relationship(inverse: "machines") var owner: Firm?
  @Relationship(inverse: "products") var maker: Firm?
}

@Suite("Redo of deletions with the rules deny and noAction")
struct UndoRedoneDeletionTests {
  private let context: ManagedObjectContext
  private let manager = ContextUndoManager()

  init() throws {
    let container = try PersistentContainer(
      name: "Firms", classes: [Firm.self, Machine.self], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    context.undoManager = manager
  }

  /// Inserts a firm and a machine, and removes the undo group of these insertions.
  private func firm(isSaved: Bool, _ connect: (Machine, Firm) -> Void) throws -> (Firm, Machine) {
    let (firm, machine) = (Firm(context: context), Machine(context: context))
    connect(machine, firm)
    if isSaved { try context.save() }
    context.processPendingChanges()
    manager.removeAllActions()
    return (firm, machine)
  }

  @Test("The redo of a deletion that a rule denies is denied too", arguments: [true, false])
  func deny(_ isSaved: Bool) throws {
    let (firm, machine) = try firm(isSaved: isSaved) { $0.owner = $1 }
    context.undoGroup("Delete") { context.delete(firm) }
    #expect(throws: PerdureError.self) { try context.save() }
    try context.undo()
    #expect(machine.owner === firm)
    try context.redo()
    #expect(throws: PerdureError.self) { try context.save() }
    #expect(machine.owner === firm)
  }

  @Test("The redo of a deletion keeps the references that `.noAction` keeps")
  func noAction() throws {
    let (firm, machine) = try firm(isSaved: true) { $0.maker = $1 }
    context.undoGroup("Delete") { context.delete(firm) }
    #expect(machine.maker?.objectID == firm.objectID && !machine.hasChanges)
    try context.undo()
    try context.redo()
    #expect(machine.maker?.objectID == firm.objectID && !machine.hasChanges)
  }

  @Test("The redo of a saved deletion right after its undo keeps the references that `.noAction` keeps")
  func savedNoAction() throws {
    let (firm, machine) = try firm(isSaved: true) { $0.maker = $1 }
    context.undoGroup("Delete") { context.delete(firm) }
    try context.save()
    #expect(machine.maker?.objectID == firm.objectID)
    try context.undo()
    #expect(machine.maker === firm)
    try context.redo()
    #expect(machine.maker?.objectID == firm.objectID && !context.hasChanges)
  }
}
