import Perdure
import PerdureTestSupport
import Testing

@Suite("Stores with a later model")
struct LaterModelTests {
  private func open(_ path: String, _ entities: EntityDescription...) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "Later", model: try ManagedObjectModel(entities), classes: [], description: .init(path: path))
    try container.loadPersistentStores()
    return container
  }

  @Test("A later model that adds an abstract superentity to an entity is refused, and the rows stay")
  func abstractAbove() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("later.perdure")
    let dog = EntityDescription("Dog", properties: [.string("name")])
    let first = try open(path, dog)
    let context = first.newContext()
    context.insertNewObject(forEntityName: "Dog").setValue("Rex", forKey: "name")
    try context.save()
    try first.close()
    let animal = EntityDescription("Animal", isAbstract: true, properties: [.int64("age")])
    var below = dog
    below.superentityName = "Animal"
    let error = #expect(throws: PerdureError.self) { try open(path, animal, below) }
    #expect(error?.code == .incompatibleModel)
    #expect(error?.cause.map { "\($0)".contains("Dog") } == true, "\(error?.cause as Any)")
    // An abstract entity that is not a superentity of an existing entity is an addition.
    let later = try open(path, animal, dog)
    let found = try later.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Dog"))
    #expect(found.map { $0.value(forKey: "name") as? String } == ["Rex"])
    #expect(try later.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Animal")) == 0)
    try later.close()
  }
}
