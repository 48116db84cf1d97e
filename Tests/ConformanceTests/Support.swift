import Perdure

/// A container with a store in memory and some classes.
struct Sandbox {
  let container: PersistentContainer

  init(_ classes: ManagedObject.Type...) throws {
    container = try PersistentContainer(name: "Sandbox", classes: classes, description: .inMemory)
    try container.loadPersistentStores()
  }

  /// Creates the container with a handwritten model.
  init(_ model: ManagedObjectModel, _ classes: ManagedObject.Type...) throws {
    container = PersistentContainer(name: "Sandbox", model: model, classes: classes, description: .inMemory)
    try container.loadPersistentStores()
  }
}

/// The validation errors of a save in order, each with code and property, such as "1670 name".
func refusals(_ context: ManagedObjectContext) -> [String] {
  do throws(PerdureError) {
    try context.save()
    return []
  } catch {
    return error.details.map { "\($0.code.rawValue) \($0.property)" }
  }
}
