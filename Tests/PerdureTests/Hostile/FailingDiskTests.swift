import PerdureFileIO
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

/// Saves on a disk that fails.
@Suite("A graph on a failing disk")
struct FailingDiskTests {
  /// A container with its store on a simulated file system.
  private static func container(_ fileSystem: SimulatedFileSystem) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "staff", model: try ManagedObjectModel(Staff.entities), classes: Staff.classes,
      description: .init(path: "/staff.perdure"),
      factory: StoreFactory { _, model in
        var options = StoreOptions()
        options.fileSystem = fileSystem
        options.segmentCapacityBytes = 16 << 10
        options.blobThresholdBytes = 2048
        return try LogPersistentStore(at: "/staff.perdure", model: model, options: options)
      })
    try container.loadPersistentStores()
    return container
  }

  /// The lengths of names, the emails and the companies of all workers, and the worker count of
  /// each company.
  private static func content(_ context: ManagedObjectContext) throws -> [String] {
    let workers = try context.fetch(FetchRequest<Employee>()).map {
      "\($0.name.count) \($0.email ?? "-") \($0.company?.name ?? "-")"
    }
    let companies = try context.fetch(FetchRequest<Company>()).map { "\($0.name) \($0.workerCount)" }
    return (workers + companies).sorted()
  }

  private static func setUp(_ fileSystem: SimulatedFileSystem) throws {
    let container = try container(fileSystem)
    let context = container.newContext()
    let company = context.company("C")
    for number in 0..<4 { context.worker("w", email: "\(number)").company = company }
    try context.save()
    try container.close()
  }

  /// Makes changes of every kind. The last name has its own blob file.
  private static func edit(_ context: ManagedObjectContext) throws {
    let workers = try context.fetch(FetchRequest<Employee>(sortDescriptors: [FetchOrder("email")]))
    guard workers.count == 4 else { return }
    context.delete(workers[0])
    workers[1].email = "0"
    workers[2].company = context.company("D")
    workers[3].name = String(repeating: "n", count: 5000)
    workers[3].friends.insert(workers[2])
  }

  @Test(
    "If any call fails, a save is complete or has no effect, and the store opens again",
    arguments: [FileIOError.Code.noSpace, .mediaError])
  func everyFailure(_ code: FileIOError.Code) throws {
    let pristine = SimulatedFileSystem()
    try Self.setUp(pristine)
    let before = try Self.content(try Self.container(pristine).newContext())
    var struck = 0
    for nth in 1...200 {
      let fileSystem = SimulatedFileSystem()
      try Self.setUp(fileSystem)
      do {
        let container = try Self.container(fileSystem)
        let context = container.newContext()
        fileSystem.inject(InjectedFailure(of: nil, nth: nth, repeats: code == .noSpace, code: code))
        do {
          try Self.edit(context)
          let pending = try Self.content(context)
          let counts = [context.insertedObjects, context.updatedObjects, context.deletedObjects].map(\.count)
          do {
            try context.save()
          } catch {
            #expect([.saveFailed, .readFailed].contains(error.code), "\(error)")
            #expect(error.cause != nil, "\(error)")
            let now = [context.insertedObjects, context.updatedObjects, context.deletedObjects].map(\.count)
            #expect(now == counts)
            if context.core.viewState.readFailure == nil { #expect(try Self.content(context) == pending) }
          }
          context.rollback()
        } catch let error as PerdureError {
          #expect([.saveFailed, .readFailed].contains(error.code), "\(error)")
        }
        try? container.close()
      }
      let hasStruck = fileSystem.injectedFailureCount > 0
      fileSystem.removeInjectedFailures()
      let again = try Self.container(fileSystem)
      let context = again.newContext()
      let found = try Self.content(context)
      if found == before { try Self.edit(context) }
      try context.save()
      let after = try Self.content(again.newContext())
      #expect(after.count == before.count && after != before, "call \(nth)")
      try again.close()
      if !hasStruck { break }
      struck += 1
      #expect(nth < 200)
    }
    #expect(struck > 3)
  }

  @Test("After a failed sync, the result of a save is unknown; on a full disk, a save writes nothing")
  func outcome() throws {
    for (failure, isOpen) in [
      (InjectedFailure(of: .sync, code: .mediaError), true),
      (InjectedFailure(of: .write, code: .noSpace), false),
    ] {
      let fileSystem = SimulatedFileSystem()
      try Self.setUp(fileSystem)
      let container = try Self.container(fileSystem)
      let context = container.newContext()
      let worker = context.worker("new")
      fileSystem.inject(failure)
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .saveFailed && error?.isOutcomeUnknown == isOpen)
      #expect(error?.message.contains("Nothing was saved") == !isOpen)
      #expect(worker.isInserted && context.insertedObjects == [worker])
      let seen = try container.newContext().count(for: FetchRequest<Employee>())
      #expect(seen == (isOpen ? 5 : 4))
      fileSystem.removeInjectedFailures()
      // After a failed sync the store accepts no more writes, so a later save does not begin.
      let other = container.newContext()
      _ = other.company("later")
      if isOpen {
        let later = #expect(throws: PerdureError.self) { try other.save() }
        #expect(later?.code == .saveFailed && later?.isOutcomeUnknown == false)
      } else {
        try other.save()
      }
      try? container.close()
    }
  }

  @Test(
    "If reads fail, a fetch throws, whatever its plan is",
    arguments: ["name CONTAINS 'x'", "salary == 1000", "friends.@count == 0 OR name == mentor.name"])
  func unreadable(_ format: String) throws {
    let fileSystem = SimulatedFileSystem()
    let first = try Self.container(fileSystem)
    let writer = first.newContext()
    _ = writer.worker(String(repeating: "n", count: 5000))
    try writer.save()
    try first.close()
    let container = try Self.container(fileSystem)
    let context = container.newContext()
    let request = FetchRequest<Employee>(predicate: try FetchPredicate(format: format))
    fileSystem.inject(InjectedFailure(of: nil, repeats: true, code: .mediaError))
    let error = #expect(throws: PerdureError.self) { try context.fetch(request) }
    #expect(error?.code == .readFailed && error?.cause is StoreError)
    fileSystem.removeInjectedFailures()
    _ = try context.fetch(request)
    try container.close()
  }

  @Test("Objects without reserved ids cannot be saved, and a rollback makes the context usable again")
  func provisionalIDs() throws {
    let fileSystem = SimulatedFileSystem()
    let container = try Self.container(fileSystem)
    let context = container.newContext()
    fileSystem.inject(InjectedFailure(of: .write, code: .noSpace))
    let worker = context.worker("W")
    #expect(worker.name == "W" && worker.isInserted)
    for _ in 0..<2 {
      let error = #expect(throws: PerdureError.self) { try context.save() }
      #expect(error?.code == .saveFailed)
      #expect(error?.message.contains("so they can never be saved") == true)
      context.refreshAllObjects()
    }
    context.rollback()
    #expect(!context.hasChanges)
    try context.save()
    #expect(try container.newContext().count(for: FetchRequest<Employee>()) == 0)
  }

  @Test("A fault whose row cannot be read does not count as an absent object")
  func unreadable() throws {
    let fileSystem = SimulatedFileSystem()
    let container = try Self.container(fileSystem)
    let setup = container.newContext()
    // Rows of this size have their own blob files.
    let workers = ["a", "b"].map { setup.worker(String(repeating: $0, count: 5000)) }
    try setup.save()
    let context = container.newContext()
    fileSystem.inject(InjectedFailure(of: nil, repeats: true, pathContains: ".blob"))
    for worker in workers {
      let error = #expect(throws: PerdureError.self) { try context.existingObject(with: worker.objectID) }
      #expect(error?.code == .readFailed)
    }
    fileSystem.removeInjectedFailures()
    context.rollback()
    for worker in workers {
      #expect(
        try context.existingObject(with: worker.objectID).value(forKey: "name") as? String == worker.name)
    }
  }
}
