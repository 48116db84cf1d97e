import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Closing a store")
struct ClosingTests {
  private func opened(_ directory: TemporaryDirectory) throws -> (PersistentContainer, LogPersistentStore) {
    let model = try ManagedObjectModel([EntityDescription("Note", properties: [.string("text")])])
    let container = PersistentContainer(
      name: "Notes", model: model, classes: [],
      description: .init(path: directory.file("notes.perdure"), durability: .processCrash))
    try container.loadPersistentStores()
    return (container, try #require(container.newContext().core.store as? LogPersistentStore))
  }

  /// Expects the error of a closed container.
  private func expectClosedError<R>(
    _ body: () throws -> R, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: PerdureError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(
      error?.code == .readFailed && (error?.cause as? StoreError)?.code == .closed,
      sourceLocation: sourceLocation)
  }

  private func save(_ count: Int, _ container: PersistentContainer) throws {
    let context = container.newContext()
    for number in 0..<count {
      let note = context.insertNewObject(forEntityName: "Note")
      note["text"] = String(repeating: "\(number) ", count: 40)
      try context.save()
    }
  }

  @Test(
    "Closing writes a checkpoint after many small saves, and no checkpoint after a few"
  )
  func checkpoint() throws {
    let directory = try TemporaryDirectory()
    var (container, store) = try opened(directory)
    try save(3, container)
    try container.close()
    (container, store) = try opened(directory)
    #expect(store.store.recoveryReport.checkpointSequence == 0)
    try save(1000, container)
    let sequence = store.view().sequence
    #expect(try store.store.statistics.checkpointTailBytes > UInt64(StoreFactory.closeTailBytes))
    try container.close()
    (container, store) = try opened(directory)
    #expect(store.store.recoveryReport.checkpointSequence == sequence)
    #expect(try container.newContext().fetch(FetchRequest<ManagedObject>(entityName: "Note")).count == 1003)
    try container.close()
  }

  @Test("After a container is closed, fetches and saves throw until it is loaded again")
  func reads() async throws {
    let directory = try TemporaryDirectory()
    let (container, _) = try opened(directory)
    try save(3, container)
    let context = container.newContext()
    let request = FetchRequest<ManagedObject>(entityName: "Note")
    let notes = try context.fetch(request)
    let text = notes[0]["text"] as? String
    let faults = try container.newContext().fetch(request).map(\.objectID)
    let background = container.newBackgroundContext()
    try container.close()

    func expectClosed(_ context: ManagedObjectContext) {
      for read in [
        { _ = try context.fetch(request) }, { _ = try context.count(for: request) },
        { _ = try context.fetchIDs(request) },
        {
          let predicate = try FetchPredicate(format: "text != nil")
          _ = try context.count(for: FetchRequest<ManagedObject>(entityName: "Note", predicate: predicate))
        },
      ] as [() throws -> Void] {
        expectClosedError { try read() }
      }
    }
    expectClosed(context)
    #expect(notes[0]["text"] as? String == text)
    #expect(throws: PerdureError.self) {
      try FetchPredicate(format: "text != nil").evaluate(with: notes[0])
    }
    notes[0]["text"] = "later"
    expectClosedError { try context.save() }
    expectClosedError { try background.performAndWait { try $0.count(for: request) } }

    let late = container.newContext()
    expectClosed(late)
    expectClosedError { try late.existingObject(with: faults[0]) }
    let lost = late.insertNewObject(forEntityName: "Note")
    lost["text"] = "lost"
    expectClosedError { try late.save() }
    expectClosedError { try late.obtainPermanentIDs(for: [lost]) }
    expectClosedError { try container.backup(to: directory.file("backup")) }
    expectClosedError { try container.persistentStoreMetadata() }
    #expect(container.managedObjectID(forURI: faults[0].uri) == faults[0])
    let error = await #expect(throws: PerdureError.self) {
      try await container.performBackgroundTask { try $0.count(for: request) }
    }
    #expect(error?.code == .readFailed && (error?.cause as? StoreError)?.code == .closed)
    expectClosedError { try container.newBackgroundContext().performAndWait { try $0.count(for: request) } }
    try container.close()

    try container.loadPersistentStores()
    #expect(try container.newContext().count(for: request) == 3)
    try container.close()
  }

  @Test("A fault of a closed container reads as nil, and the next fetch throws the reason")
  func faults() throws {
    let directory = try TemporaryDirectory()
    let (container, _) = try opened(directory)
    try save(1, container)
    let context = container.newContext()
    var request = FetchRequest<ManagedObject>(entityName: "Note")
    request.includesPropertyValues = false
    let note = try #require(try context.fetch(request).first)
    try container.close()
    #expect(note["text"] == nil)
    let error = #expect(throws: PerdureError.self) { try context.fetch(request) }
    #expect(error?.code == .readFailed && (error?.cause as? StoreError)?.code == .closed)
  }

  @Test("Contexts of a removed store can still read, but new contexts, metadata and backups throw")
  func removed() throws {
    let directory = try TemporaryDirectory()
    let (container, _) = try opened(directory)
    try save(2, container)
    let context = container.newContext()
    let request = FetchRequest<ManagedObject>(entityName: "Note")
    try container.removePersistentStore(try #require(container.persistentStores.first))
    #expect(try context.count(for: request) == 2)
    let late = #expect(throws: PerdureError.self) { try container.newContext().count(for: request) }
    #expect(late?.code == .readFailed && (late?.cause as? StoreError)?.code == .closed)
    try container.close()
    #expect(try context.count(for: request) == 2)
    for use in [
      { _ = try container.persistentStoreMetadata() }, { try container.setPersistentStoreMetadata([:]) },
      { try container.backup(to: directory.file("backup")) },
    ] as [() throws -> Void] {
      let error = #expect(throws: PerdureError.self) { try use() }
      #expect(error?.code == .readFailed)
    }
    try container.loadPersistentStores()
    #expect(try container.newContext().count(for: request) == 2)
    try container.close()
  }

  @Test("A description can replace the default checkpoint at closing")
  func configured() throws {
    let directory = try TemporaryDirectory()
    var description = PersistentStoreDescription(path: directory.file("notes.perdure"))
    description.configuresEngine = { options in
      #expect(options.checkpoints.closeTailBytes == StoreFactory.closeTailBytes)
      options.checkpoints = .manual
    }
    let model = try ManagedObjectModel([EntityDescription("Note", properties: [.string("text")])])
    let container = PersistentContainer(name: "Notes", model: model, classes: [], description: description)
    try container.loadPersistentStores()
    try save(1000, container)
    try container.close()
    let (again, store) = try opened(directory)
    #expect(store.store.recoveryReport.checkpointSequence == 0)
    try again.close()
  }
}
