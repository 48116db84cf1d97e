import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("Backups of a container's stores")
struct ContainerBackupTests {
  private func opened(_ description: PersistentStoreDescription) throws -> PersistentContainer {
    let model = try ManagedObjectModel([EntityDescription("Note", properties: [.string("text")])])
    let container = PersistentContainer(
      name: "Notes", model: model, classes: [], description: description)
    try container.loadPersistentStores()
    return container
  }

  private func save(_ count: Int, in context: ManagedObjectContext) throws {
    for number in 0..<count {
      context.insertNewObject(forEntityName: "Note")["text"] = "\(number)"
      try context.save()
    }
  }

  private func count(_ path: String) throws -> Int {
    let container = try opened(.init(path: path, isReadOnly: true))
    let count = try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Note"))
    try container.close()
    let inspection = try StoreInspection(at: path)
    #expect(try inspection.verifyGraph().isClean)
    return count
  }

  @Test("A backup has only saved changes, and a later backup also has the later saves")
  func saved() throws {
    let directory = try TemporaryDirectory()
    let container = try opened(.init(path: directory.file("notes"), durability: .processCrash))
    let context = container.newContext()
    try save(20, in: context)
    context.insertNewObject(forEntityName: "Note")["text"] = "pending"
    try container.backup(to: directory.file("first"))
    try save(5, in: context)
    try container.backup(to: directory.file("second"), since: directory.file("first"))
    #expect(try count(directory.file("first")) == 20 && count(directory.file("second")) == 26)
    try container.close()
  }

  @Test("A backup cancelled by its task or progress handler throws CancellationError, and leaves no backup")
  func cancelled() async throws {
    let directory = try TemporaryDirectory()
    let container = try opened(.init(path: directory.file("notes"), durability: .processCrash))
    try save(3, in: container.newContext())
    #expect(throws: CancellationError.self) {
      try container.backup(to: directory.file("backup")) { _ in throw CancellationError() }
    }
    let cancelled = Task {
      while !Task.isCancelled { await Task.yield() }
      try container.backup(to: directory.file("backup"))
    }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    struct Stop: Error {}
    let error = #expect(throws: PerdureError.self) {
      try container.backup(to: directory.file("backup")) { _ in throw Stop() }
    }
    #expect(error?.cause is Stop)
    try container.backup(to: directory.file("backup"))
    #expect(try count(directory.file("backup")) == 3)
    try container.close()
  }

  @Test("A store in memory is backed up to the disk")
  func memory() throws {
    let directory = try TemporaryDirectory()
    let container = try opened(.inMemory)
    try save(3, in: container.newContext())
    try container.backup(to: directory.file("notes"))
    #expect(try count(directory.file("notes")) == 3)
    try container.close()
  }

  @Test(
    "A backup fails if its target exists, its progress handler throws or its container is closed"
  )
  func refused() throws {
    struct Enough: Error {}
    let directory = try TemporaryDirectory()
    let container = try opened(.init(path: directory.file("notes")))
    try save(3, in: container.newContext())
    let taken = #expect(throws: PerdureError.self) { try container.backup(to: directory.file("notes")) }
    #expect((taken?.cause as? StoreError)?.code == .invalidArgument)
    let stopped = #expect(throws: PerdureError.self) {
      try container.backup(to: directory.file("backup")) { _ in throw Enough() }
    }
    #expect(stopped?.cause is Enough)
    try container.close()
    #expect(throws: PerdureError.self) { try container.backup(to: directory.file("backup")) }
  }
}
