import Perdure
import PerdureModel
import Testing

/// Objects whose hooks call methods of their context.
@Suite("Hooks that call their context")
struct ReentrancyTests {
  final class Hook: ManagedObject {
    override class var entityDescription: EntityDescription {
      EntityDescription(
        "Hook",
        properties: [
          .string("name", optional: false, default: "hook"), .toOne("partner", "Hook", inverse: "partner"),
        ])
    }

    /// The operations of the hooks. They are task-local, so that tests do not affect each other.
    @TaskLocal static var onInsert: Action?
    @TaskLocal static var onDelete: Action?

    /// Wraps a function, because optimized code of Swift 6.3 loses the type of a function that is a
    /// task-local value.
    struct Action: Sendable {
      let run: @Sendable (Hook) -> Void
    }

    var partner: Hook? {
      get { _get(1) }
      set { _set(1, newValue) }
    }

    override func awakeFromInsert() { Self.onInsert?.run(self) }
    override func prepareForDeletion() { Self.onDelete?.run(self) }
  }

  private func context() throws -> ManagedObjectContext {
    let container = PersistentContainer(
      name: "Hooks", model: try ManagedObjectModel([Hook.entityDescription]), classes: [Hook.self],
      description: .inMemory, factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("prepareForDeletion may delete its own object, and another object whose hook does the same")
  func deleteInPreparation() throws {
    let context = try context()
    let (one, two) = (Hook(context: context), Hook(context: context))
    one.partner = two
    try context.save()
    Hook.$onDelete.withValue(
      Hook.Action { hook in
        hook.managedObjectContext?.delete(hook)
        if let partner = hook.partner { hook.managedObjectContext?.delete(partner) }
      }
    ) {
      context.delete(one)
      context.delete(one)
    }
    #expect(context.deletedObjects == [one, two])
    try context.save()
    #expect(try context.count(for: FetchRequest<Hook>()) == 0)
  }

  @Test("prepareForDeletion may save, roll back and reset")
  func moveOnInPreparation() throws {
    let context = try context()
    let (saved, rolledBack, reset) = (Hook(context: context), Hook(context: context), Hook(context: context))
    try context.save()
    Hook.$onDelete.withValue(Hook.Action { try? $0.managedObjectContext?.save() }) { context.delete(saved) }
    #expect(saved.isDeleted)
    Hook.$onDelete.withValue(Hook.Action { $0.managedObjectContext?.rollback() }) {
      context.delete(rolledBack)
    }
    #expect(rolledBack.isDeleted && !saved.isDeleted)
    Hook.$onDelete.withValue(Hook.Action { $0.managedObjectContext?.reset() }) { context.delete(reset) }
    #expect(!context.hasChanges && !reset.isDeleted)
    try context.save()
    #expect(try context.count(for: FetchRequest<Hook>()) == 3)
  }

  @Test("awakeFromInsert may save, delete, roll back and insert")
  func moveOnInAwaking() throws {
    let context = try context()
    let saved = Hook.$onInsert.withValue(Hook.Action { try? $0.managedObjectContext?.save() }) {
      Hook(context: context)
    }
    #expect(!saved.isInserted && !saved.objectID.isTemporaryID)
    let deleted = Hook.$onInsert.withValue(Hook.Action { $0.managedObjectContext?.delete($0) }) {
      Hook(context: context)
    }
    #expect(!deleted.isInserted)
    let gone = Hook.$onInsert.withValue(Hook.Action { $0.managedObjectContext?.rollback() }) {
      Hook(context: context)
    }
    #expect(gone.managedObjectContext == nil)
    let pair = Hook.$onInsert.withValue(
      Hook.Action { hook in
        Hook.$onInsert.withValue(nil) { hook.partner = hook.managedObjectContext.map { Hook(context: $0) } }
      }
    ) { Hook(context: context) }
    #expect(pair.partner?.partner === pair)
    try context.save()
    #expect(try context.count(for: FetchRequest<Hook>()) == 3)
  }
}
