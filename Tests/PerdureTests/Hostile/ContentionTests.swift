import Foundation
import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Contexts in conflict")
struct ContentionTests {
  @Test("If many contexts save a unique value, one succeeds and the errors of the others name its object")
  func uniqueKey() async throws {
    let container = try Staff.container(.stored)
    let (rounds, rivals) = (20, 6)
    let won = try await withThrowingTaskGroup(of: [Int].self) { group in
      for rival in 0..<rivals {
        group.addTask {
          try await container.performBackgroundTask { context in
            try (0..<rounds).filter { round in
              let worker = context.worker("rival \(rival)", email: "\(round)")
              do {
                try context.save()
                return true
              } catch let error as PerdureError where error.code == .constraintConflict {
                guard case .duplicate(let names, let existing)? = error.conflicts.first?.kind else {
                  throw error
                }
                #expect(names == ["email"] && existing != worker.objectID)
                #expect(error.conflicts.first?.objectID == worker.objectID)
                context.rollback()
                #expect((try context.existingObject(with: existing) as? Employee)?.email == "\(round)")
                return false
              }
            }
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(won.sorted() == Array(0..<rounds))
    #expect(try container.newContext().count(for: FetchRequest<Employee>()) == rounds)
  }

  @Test("While contexts move a unique value between objects, no context sees two owners")
  func handingOn() async throws {
    let container = try Staff.container(.stored)
    let ids = try await container.performBackgroundTask { context in
      let workers = (0..<4).map { context.worker("w\($0)", email: $0 == 0 ? "it" : nil) }
      try context.save()
      return workers.map(\.objectID)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for taker in 0..<4 {
        group.addTask {
          try await container.performBackgroundTask { context in
            for _ in 0..<25 { try Self.take(ids[taker], of: ids, context) }
          }
        }
      }
      try await group.waitForAll()
    }
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: "email == 'it'"))
    #expect(try container.newContext().count(for: request) == 1)
  }

  /// Moves the unique value to another object. Another context may save first.
  private static func take(
    _ id: ManagedObjectID, of ids: [ManagedObjectID], _ context: ManagedObjectContext
  ) throws {
    context.rollback()
    let workers = try ids.compactMap { try context.existingObject(with: $0) as? Employee }
    #expect(workers.count { $0.email == "it" } == 1)
    workers.first { $0.email == "it" }?.email = nil
    workers.first { $0.objectID == id }?.email = "it"
    do throws(PerdureError) {
      try context.save()
    } catch {
      #expect([.constraintConflict, .mergeConflict].contains(error.code))
    }
  }

  @Test("Additions to a model are accepted, other changes are refused, and the data stays")
  func changedModel() throws {
    let directory = try TemporaryDirectory()
    func entity(_ properties: PropertyDescription..., unique: [[String]] = []) -> EntityDescription {
      EntityDescription("Thing", properties: properties, uniquenessConstraints: unique)
    }
    func open(_ entities: EntityDescription...) throws -> PersistentContainer {
      let container = PersistentContainer(
        name: "Things", model: try ManagedObjectModel(entities), at: directory.file("t.perdure"))
      try container.loadPersistentStores()
      return container
    }
    func insert(_ container: PersistentContainer, _ values: [String: Any]) throws {
      let context = container.newContext()
      let thing = context.insertNewObject(forEntityName: "Thing")
      for (key, value) in values { thing.setValue(value, forKey: key) }
      try context.save()
      try container.close()
    }
    func names(_ container: PersistentContainer) throws -> [String] {
      let request = FetchRequest<ManagedObject>(entityName: "Thing")
      return try container.newContext().fetch(request).map { $0.value(forKey: "name") as? String ?? "-" }
        .sorted()
    }
    try insert(try open(entity(.string("name"))), ["name": "a"])
    try insert(try open(entity(.string("name"))), ["name": "a"])
    let wider = entity(.string("name"), .int64("size", default: 7))
    try insert(try open(wider, EntityDescription("Other", properties: [])), ["name": "b", "size": 9])
    for narrower in [
      [entity(.string("name"))], [wider], [entity(.int64("name"), .int64("size"))],
      [
        entity(.string("name"), .int64("size", default: 7), unique: [["name"]]),
        EntityDescription("Other", properties: []),
      ],
      [EntityDescription("Other", properties: [])],
    ] {
      let container = PersistentContainer(
        name: "Things", model: try ManagedObjectModel(narrower), at: directory.file("t.perdure"))
      let error = #expect(throws: PerdureError.self) { try container.loadPersistentStores() }
      #expect(error?.code == .incompatibleModel)
      let cause = try #require(error?.cause as? ModelError)
      #expect(cause.code == .incompatibleModel && !cause.differences.isEmpty)
    }
    let container = try open(wider, EntityDescription("Other", properties: []))
    #expect(try names(container) == ["a", "a", "b"])
    let request = FetchRequest<ManagedObject>(
      entityName: "Thing", predicate: try FetchPredicate(format: "size == 7"))
    #expect(try container.newContext().count(for: request) == 2)
    try container.close()
  }
}
