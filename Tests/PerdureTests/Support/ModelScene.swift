import Perdure
import PerdureModel
import Testing

/// A container with a model of a few entities, and one context.
struct ModelScene {
  let container: PersistentContainer
  let context: ManagedObjectContext

  init(on kind: StoreKind = .current, _ entities: EntityDescription...) throws {
    container = PersistentContainer(
      name: "Scene", model: try ManagedObjectModel(entities), classes: [], description: .inMemory,
      factory: kind.factory)
    try container.loadPersistentStores()
    context = container.newContext()
  }

  func new(_ entity: String) -> ManagedObject { context.insertNewObject(forEntityName: entity) }

  /// Expects that both ends of relationships agree in the context. Then saves, and expects that the
  /// stored graph is intact.
  func saveWhole(sourceLocation: SourceLocation = #_sourceLocation) throws {
    try expectAgreement(context, container.managedObjectModel, sourceLocation: sourceLocation)
    try context.save()
    #expect(!context.hasChanges, sourceLocation: sourceLocation)
    try expectWhole(container, sourceLocation: sourceLocation)
  }

  func count(_ entity: String) throws -> Int {
    try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: entity))
  }
}

extension ManagedObject {
  func one(_ key: String) -> ManagedObject? { value(forKey: key) as? ManagedObject }

  func many(_ key: String) -> Set<ManagedObject> {
    value(forKey: key) as? Set<ManagedObject> ?? []
  }
}
