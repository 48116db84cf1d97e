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

  private func save(_ count: Int, _ container: PersistentContainer) throws {
    let context = container.newContext()
    for number in 0..<count {
      let note = context.insertNewObject(forEntityName: "Note")
      note["text"] = String(repeating: "\(number) ", count: 40)
      try context.save()
    }
  }

  @Test(
    "After many small saves the next opening reads none of them in the log, and after few closing writes nothing"
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

  @Test("What the description says of checkpoints holds")
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
