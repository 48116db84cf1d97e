import Perdure
import Testing

/// A class without an entity, between ManagedObject and the classes of entities.
private class Record: ManagedObject {
  var label: String { (value(forKey: "name") as? String ?? "") + "!" }
}

@Entity private class Animal: Record {
  var name: String
}

private class Pet: Animal {
  var owned: Bool { true }
}

@Entity private final class Dog: Pet {
  var breed: String?
}

@Entity private final class Stone: Record {
  var name: String
  var weight: Double = 1
}

/// A class without macros, for entities with an attribute `name`.
private final class Named: ManagedObject {
  var title: String { value(forKey: "name") as? String ?? "" }
}

private enum Zoo { final class Keeper: ManagedObject {} }
private enum Bank { final class Keeper: ManagedObject {} }

/// Behaviours M2, M5, M6 and M7 of Core Data (README.md).
@Suite("Classes and entities")
struct ClassMappingTests {
  private func save(_ context: ManagedObjectContext, _ names: String...) throws {
    for name in names { context.insertNewObject(forEntityName: name).setValue("n", forKey: "name") }
    try context.save()
  }

  @Test("M2 A model can be created from classes")
  func fromClasses() throws {
    var stone = EntityDescription(from: Stone.self)
    stone.indexes.append(FetchIndexDescription(on: "weight"))
    let model = try ManagedObjectModel([
      EntityDescription(from: Animal.self), EntityDescription(from: Dog.self), stone,
    ])
    let context = try Sandbox(model, Animal.self, Dog.self, Stone.self).container.newContext()
    Stone(context: context).name = "s"
    try context.save()
    #expect(try context.fetch(FetchRequest<Stone>()).first?.weight == 1)
  }

  @Test("M7 A class without an entity may be a superclass of the classes of entities")
  func classesWithoutEntities() throws {
    let context = try Sandbox(Animal.self, Dog.self, Stone.self).container.newContext()
    #expect(Animal.entityDescription.superentityName == nil)
    #expect(Dog.entityDescription.superentityName == "Animal")
    let dog = Dog(context: context)
    (dog.name, dog.breed) = ("Rex", "Collie")
    Stone(context: context).name = "Flint"
    try context.save()
    #expect(dog.owned && dog.label == "Rex!" && dog.name == "Rex" && dog.breed == "Collie")
    #expect(try context.fetch(FetchRequest<Animal>()) == [dog])
    #expect(try context.fetch(FetchRequest<Stone>()).map(\.label) == ["Flint!"])
  }

  @Test("M7 Several entities can have one class, and then a fetch must name the entity")
  func oneClassOfMany() throws {
    let model = try ManagedObjectModel(
      ["City", "River"].map { EntityDescription($0, className: "Named", properties: [.string("name")]) })
    let context = try Sandbox(model, Named.self).container.newContext()
    try save(context, "City", "River")
    let cities = try context.fetch(FetchRequest<Named>(entityName: "City"))
    #expect(cities.map(\.title) == ["n"] && cities.first?.entity.name == "City")
    #expect(try context.fetch(FetchRequest<Named>(entityName: "River")).count == 1)
  }

  #if os(Linux) || os(macOS)
    @Test("M7 Inserting an object of a class with several entities stops the program")
    func whichOne() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        let model = try ManagedObjectModel(
          ["City", "River"].map { EntityDescription($0, className: "Named", properties: [.string("name")]) })
        _ = Named(context: try Sandbox(model, Named.self).container.newContext())
      }
      let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(said.contains("the class of several entities, City, River"))
    }
  #endif

  @Test("M7 An entity can have different classes in different containers")
  func manyClassesOfOne() throws {
    let model = try ManagedObjectModel([EntityDescription(from: Stone.self)])
    let plain = try Sandbox(model).container.newContext()
    try save(plain, "Stone")
    #expect(
      type(of: try #require(plain.fetch(FetchRequest<ManagedObject>(entityName: "Stone")).first))
        == ManagedObject.self)
    let container = PersistentContainer(
      name: "Stones", model: model, classes: [Stone.self], classesByEntityName: ["Stone": Named.self],
      description: .inMemory)
    try container.loadPersistentStores()
    let named = container.newContext()
    try save(named, "Stone")
    #expect(try named.fetch(FetchRequest<Named>(entityName: "Stone")).map(\.title) == ["n"])
  }

  @Test("M7 The class of a subentity need not inherit from the superentity's class")
  func otherTree() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Base", isAbstract: true, properties: [.string("name")]),
      EntityDescription("Left", superentity: "Base", properties: [.int64("l")]),
      EntityDescription("Right", superentity: "Base", className: "Named", properties: [.int64("r")]),
    ])
    let context = try Sandbox(model, Named.self).container.newContext()
    try save(context, "Left", "Right")
    let all = try context.fetch(FetchRequest<ManagedObject>(entityName: "Base"))
    #expect(
      Set(all.map { "\($0.entity.name) \(type(of: $0) == Named.self)" }) == ["Left false", "Right true"])
  }

  @Test("M5 An entity names its class with or without the module")
  func moduleNames() throws {
    for name in ["Named", ".Named", String(reflecting: Named.self)] {
      let model = try ManagedObjectModel([
        EntityDescription("Town", className: name, properties: [.string("name")])
      ])
      let context = try Sandbox(model, Named.self).container.newContext()
      let town = Named(context: context)
      #expect(town.entity.name == "Town")
    }
  }

  @Test("M5 An ambiguous class name is rejected unless the name includes the module")
  func ambiguousNames() throws {
    func container(_ name: String) throws -> PersistentContainer {
      let model = try ManagedObjectModel([
        EntityDescription("Person", className: name, properties: [.string("name")])
      ])
      let container = PersistentContainer(
        name: "K", model: model, classes: [Zoo.Keeper.self, Bank.Keeper.self], description: .inMemory)
      try container.loadPersistentStores()
      return container
    }
    let error = try #require(throws: PerdureError.self) { try container("Keeper") }
    #expect(error.code == .openFailed && error.message.contains("Name the module too"))
    let context = try container(String(reflecting: Bank.Keeper.self)).newContext()
    #expect(context.insertNewObject(forEntityName: "Person") is Bank.Keeper)
  }

  @Test("A class with accessors is rejected for an entity with different properties")
  func misfits() throws {
    let model = try ManagedObjectModel([EntityDescription("Pebble", properties: [.double("weight")])])
    let container = PersistentContainer(
      name: "P", model: model, classesByEntityName: ["Pebble": Stone.self], description: .inMemory)
    let error = #expect(throws: PerdureError.self) { try container.loadPersistentStores() }
    #expect(error?.message.contains("Stone describes Stone as [name: string, weight: double]") == true)
    let unknown = PersistentContainer(
      name: "P", model: model, classesByEntityName: ["Rock": Named.self], description: .inMemory)
    let other = #expect(throws: PerdureError.self) { try unknown.loadPersistentStores() }
    #expect(other?.message.contains("\"Rock\", but the model has no entity of that name") == true)
  }

  @Test("M6 Subentities at any depth inherit properties and are fetched with a superentity")
  func depth() throws {
    let depth = 12
    let entities = (0..<depth).map { level in
      EntityDescription(
        "E\(level)", superentity: level == 0 ? nil : "E\(level - 1)", isAbstract: level.isMultiple(of: 3),
        properties: [.int64("p\(level)", default: .integer(Int64(level)))])
    }
    let context = try Sandbox(ManagedObjectModel(entities)).container.newContext()
    let concrete = (0..<depth).filter { !$0.isMultiple(of: 3) }
    for level in concrete { context.insertNewObject(forEntityName: "E\(level)") }
    try context.save()
    for level in 0..<depth {
      let request = FetchRequest<ManagedObject>(
        entityName: "E\(level)", predicate: try FetchPredicate(format: "p0 == 0"))
      let found = try context.fetch(request)
      #expect(found.count == concrete.count { $0 >= level })
      #expect(found.allSatisfy { $0["p\(level)"] as? Int == level })
    }
  }
}
