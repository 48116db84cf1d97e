import Perdure

/// A store in memory with some classes, and its first context.
struct Sandbox {
  let container: PersistentContainer

  init(_ classes: ManagedObject.Type...) throws {
    container = try PersistentContainer(name: "Sandbox", classes: classes, description: .inMemory)
    try container.loadPersistentStores()
  }

  /// With a model written by hand.
  init(_ model: ManagedObjectModel, _ classes: ManagedObject.Type...) throws {
    container = PersistentContainer(name: "Sandbox", model: model, classes: classes, description: .inMemory)
    try container.loadPersistentStores()
  }
}

/// The refusals of a save, in their order: "1670 name".
func refusals(_ context: ManagedObjectContext) -> [String] {
  do throws(PerdureError) {
    try context.save()
    return []
  } catch {
    return error.details.map { "\($0.code.rawValue) \($0.property)" }
  }
}
