import Foundation
import Perdure
import PerdureLog
import PerdureModel
import Testing

@Suite("A read-only container beside a writing container")
struct ReadOnlyContainerTests {
  private final class Pair {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("perdure-\(UUID().uuidString).perdure").path
    let writer: PersistentContainer
    let reader: PersistentContainer
    /// The number of saved workers.
    private(set) var count = 0

    init() throws {
      let model = try ManagedObjectModel(Staff.entities)
      writer = PersistentContainer(
        name: "writer", model: model, classes: Staff.classes,
        description: .init(path: path, durability: .relaxed))
      reader = PersistentContainer(
        name: "reader", model: model, classes: Staff.classes,
        description: .init(path: path, isReadOnly: true))
      try writer.loadPersistentStores()
      try addWorker()
      try reader.loadPersistentStores()
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @discardableResult
    func addWorker() throws -> ManagedObjectID {
      let context = writer.newContext()
      let worker = context.worker("W\(count)")
      try context.save()
      count += 1
      return worker.objectID
    }

    func close() throws {
      try reader.close()
      try writer.close()
    }
  }

  private static func workers(_ context: ManagedObjectContext) throws -> Int {
    try context.fetch(FetchRequest<Employee>()).count
  }

  @Test("A context sees the writer's saves when it advances, and not before")
  func follows() throws {
    let pair = try Pair()
    let context = pair.reader.newContext()
    #expect(try Self.workers(context) == 1)
    let steps: [(ManagedObjectContext) -> Void] = [
      { $0.rollback() }, { $0.refreshAllObjects() }, { $0.reset() },
    ]
    for step in steps {
      let before = pair.count
      let id = try pair.addWorker()
      #expect(try Self.workers(context) == before)
      #expect(throws: PerdureError.self) { try context.existingObject(with: id) }
      step(context)
      #expect(try Self.workers(context) == pair.count)
      #expect((try context.existingObject(with: id) as? Employee)?.name == "W\(before)")
    }
    try pair.addWorker()
    #expect(try Self.workers(pair.reader.newContext()) == pair.count)
    #expect(try Self.workers(context) == pair.count - 1)
    try pair.close()
    context.rollback()
    let error = #expect(throws: PerdureError.self) { try Self.workers(context) }
    #expect(error?.code == .readFailed && error?.message.contains("closed") == true)
  }

  @Test("A background context sees the writer's saves at the start of each task")
  func background() throws {
    let pair = try Pair()
    let background = pair.reader.newBackgroundContext()
    for _ in 0..<3 {
      #expect(try background.performAndWait { try Self.workers($0) } == pair.count)
      try pair.addWorker()
    }
    let context = pair.reader.newContext()
    let held = try #require(try context.fetch(FetchRequest<Employee>()).first)
    let name = held.name
    let other = pair.writer.newContext()
    let same = try #require(try other.existingObject(with: held.objectID) as? Employee)
    same.name = "changed"
    try other.save()
    #expect(held.name == name)
    context.refreshAllObjects()
    #expect(held.name == "changed")
    other.delete(same)
    try other.save()
    context.refreshAllObjects()
    #expect(held.isDeleted)
    try pair.close()
  }

  @Test("After the writer changes the model, readers with the old model throw when they advance")
  func changedModel() throws {
    let pair = try Pair()
    let context = pair.reader.newContext()
    let held = try #require(try context.fetch(FetchRequest<Employee>()).first)
    try pair.writer.close()
    let model = try ManagedObjectModel(
      Staff.entities + [EntityDescription("Note", properties: [.string("text")])])
    let next = PersistentContainer(
      name: "next", model: model, classes: Staff.classes, description: .init(path: pair.path))
    try next.loadPersistentStores()
    let writing = next.newContext()
    _ = writing.worker("new")
    try writing.save()
    #expect(try Self.workers(context) == 1)
    context.rollback()
    let error = #expect(throws: PerdureError.self) { try Self.workers(context) }
    #expect(error?.code == .readFailed)
    #expect((error?.cause as? PerdureError)?.code == .incompatibleModel)
    #expect(held.name == "W0")
    // After each attempt to advance, one fetch throws. Earlier saves stay readable.
    #expect(try Self.workers(context) == 1)
    let another = pair.reader.newContext()
    #expect(throws: PerdureError.self) { try Self.workers(another) }
    #expect(try another.fetch(FetchRequest<Employee>()).map(\.name) == ["W0"])
    let reader = PersistentContainer(
      name: "reader", model: model, classes: Staff.classes,
      description: .init(path: pair.path, isReadOnly: true))
    try reader.loadPersistentStores()
    #expect(try Self.workers(reader.newContext()) == 2)
    try reader.close()
    try pair.close()
    try next.close()
  }

  @Test("After a failed refresh, only the next fetch throws")
  func passingFailure() throws {
    let (container, failing) = try UnreadableStore.container(isReadOnly: true)
    let background = container.newBackgroundContext()
    let context = container.newContext()
    failing.set([.newest])
    try background.performAndWait { (context) throws in
      #expect(throws: PerdureError.self) { try Self.workers(context) }
      #expect(try Self.workers(context) == 0)
      context.refreshAllObjects()
      let error = #expect(throws: PerdureError.self) { try Self.workers(context) }
      #expect(error?.code == .readFailed && error?.cause is UnreadableStore.Failure)
    }
    context.refreshAllObjects()
    failing.set([])
    #expect(try background.performAndWait { try Self.workers($0) } == 0)
    context.refreshAllObjects()
    #expect(try Self.workers(context) == 0)
  }

  @Test("A save in a read-only container throws, and the message gives the reason")
  func inserting() throws {
    let pair = try Pair()
    let context = pair.reader.newContext()
    _ = context.worker("X")
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .saveFailed && error?.message.contains("opened for reading only") == true)
    context.rollback()
    #expect(try Self.workers(context) == pair.count)
    try pair.close()
  }
}
