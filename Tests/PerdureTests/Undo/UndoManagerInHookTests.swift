import Perdure
import PerdureTestSupport
import Testing

@Entity private final class Crew: ManagedObject {
  @Relationship(inverse: "crew", deleteRule: .cascade) var members: ToMany<CrewMember>
}

@Entity private final class CrewMember: ManagedObject {
  @Relationship(inverse: "members") var crew: Crew?

  override func prepareForDeletion() { managedObjectContext?.undoManager = nil }
}

@Suite("Hooks that remove the undo manager at the end of a group")
struct UndoManagerInHookTests {
  @Test("prepareForDeletion may remove the undo manager while the delete rules of a group are applied")
  func prepareForDeletion() async {
    await #expect(processExitsWith: .success) {
      let container = try PersistentContainer(
        name: "Crew", classes: [Crew.self, CrewMember.self], description: .inMemory)
      try container.loadPersistentStores()
      let context = container.newContext()
      context.undoManager = ContextUndoManager()
      let crew = Crew(context: context)
      CrewMember(context: context).crew = crew
      try context.save()
      context.undoGroup("Delete") { context.delete(crew) }
    }
  }
}
