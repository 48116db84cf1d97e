import Foundation
import Perdure
import PerdureFileIO
import PerdureLog
import PerdureModel
import Testing

@Suite("Containers")
struct PersistentContainerTests {
  @Test("A store in a directory keeps its objects for a second opening")
  func reopen() throws {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("perdure-\(UUID().uuidString).perdure").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let model = try ManagedObjectModel(Staff.entities)
    let container = PersistentContainer(name: "Staff", model: model, classes: Staff.classes, at: path)
    try container.loadPersistentStores()
    try container.loadPersistentStores()
    let context = container.newContext()
    let worker = context.worker("W")
    worker.company = context.company("C")
    let id = worker.objectID
    try context.save()
    try container.close()

    let again = PersistentContainer(
      name: "Staff", model: model, classes: Staff.classes,
      description: .init(url: URL(fileURLWithPath: path), isReadOnly: true))
    var reported: PerdureError?
    again.loadPersistentStores { _, error in reported = error }
    #expect(reported == nil)
    let reader = again.newContext()
    let copy = try #require(try reader.existingObject(with: id) as? Employee)
    #expect(copy.company?.name == "C")
    copy.salary = 1
    let error = #expect(throws: PerdureError.self) { try reader.save() }
    #expect(error?.code == .saveFailed)
    try again.close()
  }

  @Test("A description can set the engine's options, and its own settings take precedence")
  func engine() throws {
    let fileSystem = InMemoryFileSystem()
    var description = PersistentStoreDescription(path: "/things.perdure")
    let plain = description
    description.configuresEngine = { options in
      options.fileSystem = fileSystem
      (options.isReadOnly, options.durability) = (true, .relaxed)
    }
    #expect(description == plain && description.hashValue == plain.hashValue)
    let container = PersistentContainer(
      name: "Staff", model: try .init(Staff.entities), classes: Staff.classes, description: description)
    try container.loadPersistentStores()
    let context = container.newContext()
    _ = context.company("C")
    try context.save()
    try container.close()
    #expect(try fileSystem.contents(of: "/things.perdure").contains("SUPERBLOCK"))
    try container.loadPersistentStores()
    #expect(try container.newContext().count(for: Company.fetchRequest()) == 1)
  }

  @Test("Loading a store that cannot be opened reports the error each time")
  func failure() throws {
    let container = PersistentContainer(
      name: "Staff", model: try .init(Staff.entities), at: "/nonexistent/directory/x.perdure")
    let error = #expect(throws: PerdureError.self) { try container.loadPersistentStores() }
    #expect(error?.code == .openFailed)
    #expect(error?.cause != nil)
    var reported: PerdureError?
    container.loadPersistentStores { _, error in reported = error }
    #expect(reported?.code == .openFailed)
  }

  @Test("A model with changes other than additions causes error 134100, which lists the differences")
  func incompatible() throws {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("perdure-\(UUID().uuidString).perdure").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    func open(_ property: PropertyDescription) throws {
      let model = try ManagedObjectModel([EntityDescription("Thing", properties: [property])])
      let container = PersistentContainer(name: "Things", model: model, at: path)
      try container.loadPersistentStores()
      try container.close()
    }
    try open(.string("name"))
    let error = #expect(throws: PerdureError.self) { try open(.int64("name")) }
    #expect(error?.code == .incompatibleModel && error?.code.rawValue == 134_100)
    #expect((error?.cause as? ModelError)?.differences.isEmpty == false)
  }

  @Test("A uniqueness error names the declaring entity, even for objects of subentities")
  func declaringEntity() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Being", isAbstract: true, properties: [.string("note")]),
      EntityDescription(
        "Person", superentity: "Being", properties: [.string("name")], uniquenessConstraints: [["name"]]),
      EntityDescription("Student", superentity: "Person", properties: [.int64("year")]),
    ])
    let container = PersistentContainer(name: "People", model: model, description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    for _ in 0..<2 { context.insertNewObject(forEntityName: "Student")["name"] = "Ada" }
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.message.hasPrefix("Person.name must be unique") == true)
  }

  @Test("Objects of a closed container show their loaded values, and cannot be saved")
  func closed() throws {
    let container = try Staff.container(.engine)
    let context = container.newContext()
    let worker = context.worker("W")
    try context.save()
    try container.close()
    #expect(worker.name == "W")
    worker.salary = 1
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .readFailed)
    #expect(worker.isUpdated)
  }

  @Test("Background tasks can return ids, and background contexts keep objects between calls")
  func background() async throws {
    let container = try Staff.container()
    let id = try await container.performBackgroundTask { context in
      let worker = context.worker("W")
      try context.save()
      return worker.objectID
    }
    let background = container.newBackgroundContext()
    let isFound = try await background.perform { context in
      let worker = try #require(try context.existingObject(with: id) as? Employee)
      worker.salary = 7
      return worker.name == "W"
    }
    #expect(isFound)
    let context = container.newContext()
    let worker = try #require(try context.existingObject(with: id) as? Employee)
    #expect(worker.salary == 1000)
    try background.performAndWait { context in
      let identity = ObjectIdentifier(context)
      try background.performAndWait { inner in #expect(ObjectIdentifier(inner) == identity) }
      #expect(context.hasChanges)
      try context.save()
    }
    context.refreshAllObjects()
    #expect(worker.salary == 7)
    worker.salary = 8
    try context.save()
    let seen = try await background.perform { context in
      (try context.existingObject(with: id) as? Employee)?.salary
    }
    #expect(seen == 8)
  }

  @Test("With many concurrent background contexts, no save is lost")
  func parallel() async throws {
    let container = try Staff.container(.stored)
    let company = try await container.performBackgroundTask { context in
      let company = context.company("C")
      try context.save()
      return company.objectID
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          try await container.performBackgroundTask { context in
            for number in 0..<5 {
              let worker = context.worker("w\(task)-\(number)", email: "\(task)-\(number)")
              worker.company = context.object(with: company) as? Company
              try context.save()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let context = container.newContext()
    let found = try #require(try context.existingObject(with: company) as? Company)
    #expect(found.workerCount == 40)
    #expect(Set(found.workers.map(\.email)).count == 40)
  }

  @MainActor
  @Test("A container has one view context, which belongs to the main actor")
  func viewContext() throws {
    let container = try Staff.container()
    #expect(container.viewContext === container.viewContext)
    let worker = container.viewContext.worker("W")
    try container.viewContext.save()
    #expect(worker.name == "W")
  }

  @Test("A background task of a closed container throws an error")
  func taskAfterClosing() async throws {
    let container = try Staff.container()
    try container.close()
    let error = await #expect(throws: PerdureError.self) {
      try await container.performBackgroundTask { _ in }
    }
    #expect(error?.code == .readFailed)
  }

  @MainActor
  @Test(
    "Loading a store again creates a new view context, and old objects keep their values"
  )
  func viewContextAfterReopening() throws {
    let container = try Staff.container()
    let old = container.viewContext
    let worker = old.worker("W")
    try old.save()
    try container.close()
    #expect(container.viewContext === old && worker.name == "W")
    try container.loadPersistentStores()
    #expect(container.viewContext !== old)
    _ = container.viewContext.worker("V")
    try container.viewContext.save()
  }

  private final class Pair: ManagedObject {
    override class var entityDescription: EntityDescription {
      EntityDescription("Pair", properties: [.string("left"), .string("right")])
    }
  }

  @Test("A class whose properties differ from the model's in position or type is refused")
  func otherModel() throws {
    for properties in [
      [.string("right"), .string("left")], [.string("left"), .int64("right")],
      [.toOne("left", "Pair"), .string("right")],
    ] as [[PropertyDescription]] {
      let model = try ManagedObjectModel([EntityDescription("Pair", properties: properties)])
      let container = PersistentContainer(
        name: "Pairs", model: model, classes: [Pair.self], description: .inMemory)
      let error = #expect(throws: PerdureError.self) { try container.loadPersistentStores() }
      #expect(error?.code == .openFailed)
      #expect(error?.message.contains("left: string, right: string") == true)
    }
  }

  @Test("An actor can own a context")
  func actorContext() async throws {
    actor Registry {
      private let context: ManagedObjectContext
      init(_ container: PersistentContainer) { context = container.newContext() }
      func add(_ name: String) throws -> ManagedObjectID {
        let worker = context.worker(name)
        try context.save()
        return worker.objectID
      }
      func name(_ id: ManagedObjectID) -> String? { (context.object(with: id) as? Employee)?.name }
    }
    let registry = Registry(try Staff.container())
    let id = try await registry.add("W")
    #expect(await registry.name(id) == "W")
  }

  #if DEBUG
    @Test("In a debug build, using an object outside of its background context stops the program")
    func strayObject() async {
      await #expect(processExitsWith: .failure) {
        // Unchecked, because the compiler refuses this code without it. A client in an older
        // language mode can contain such code.
        struct Smuggler: @unchecked Sendable { let object: Employee }
        let smuggled = try await Staff.container().newBackgroundContext().perform { context in
          Smuggler(object: context.worker("W"))
        }
        _ = smuggled.object.name
      }
    }

    @Test(
      "In a debug build, a fetch, a count and a lookup outside of the context's isolation stop the program")
    func strayFetches() async {
      await #expect(processExitsWith: .failure) {
        let smuggled = try await SmuggledContext.background()
        _ = try smuggled.context.fetch(FetchRequest<Employee>())
      }
      await #expect(processExitsWith: .failure) {
        let smuggled = try await SmuggledContext.background()
        _ = try smuggled.context.count(for: FetchRequest<Employee>())
      }
      await #expect(processExitsWith: .failure) {
        let smuggled = try await SmuggledContext.background()
        _ = try smuggled.context.first(Employee.self, where: \.email, equals: "a")
      }
    }
  #endif
}

#if DEBUG
  // Unchecked, because the compiler refuses this code without it. A client in an older language
  // mode can contain such code.
  private struct SmuggledContext: @unchecked Sendable {
    let context: ManagedObjectContext

    static func background() async throws -> SmuggledContext {
      try await Staff.container().newBackgroundContext().perform { SmuggledContext(context: $0) }
    }
  }
#endif
