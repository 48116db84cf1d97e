import Perdure
import PerdureLog
import PerdureTestSupport
import Testing

@Suite("Backup streams of a container's stores")
struct ContainerBackupStreamTests {
  private let directory: TemporaryDirectory
  private let container: PersistentContainer

  init() throws {
    directory = try TemporaryDirectory()
    container = try Self.opened(.init(path: directory.file("notes"), durability: .processCrash))
    try save(20)
  }

  private static func opened(_ description: PersistentStoreDescription) throws -> PersistentContainer {
    let model = try ManagedObjectModel([EntityDescription("Note", properties: [.string("text")])])
    let container = PersistentContainer(name: "Notes", model: model, description: description)
    try container.loadPersistentStores()
    return container
  }

  private func save(_ count: Int) throws {
    let context = container.newContext()
    for number in 0..<count {
      context.insertNewObject(forEntityName: "Note")["text"] = "\(number)"
      try context.save()
    }
  }

  private func restored(_ bytes: [UInt8], _ name: String) throws -> Int {
    var rest = bytes[...]
    try Store.restore(to: directory.file(name)) { count in
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    let inspection = try StoreInspection(at: directory.file(name))
    #expect(try inspection.engine.verify().isClean && inspection.verifyGraph().isClean)
    return inspection.objectCounts.reduce(0) { $0 + $1.count }
  }

  @Test("A stream has only saves from before its start, and the store restored from it can be used")
  func saved() throws {
    let pending = container.newContext()
    pending.insertNewObject(forEntityName: "Note")["text"] = "pending"
    var (bytes, progress) = ([UInt8](), BackupProgress())
    let report = try container.backup(progress: { progress = $0 }) { part in
      if bytes.isEmpty { try save(1) }
      part.withUnsafeBytes { bytes += $0 }
    }
    #expect(report.bytesCopied > 0 && progress.bytesDone == report.bytesCopied)
    #expect(try restored(bytes, "restored") == 20)
    #expect(try container.newContext().count(for: FetchRequest<ManagedObject>(entityName: "Note")) == 21)
    let copy = try Self.opened(.init(path: directory.file("restored")))
    #expect(copy.persistentStores[0].identifier == container.persistentStores[0].identifier)
    let context = copy.newContext()
    context.insertNewObject(forEntityName: "Note")["text"] = "of the copy"
    try context.save()
    try copy.close()
    try container.close()
  }

  @Test("A store in memory, or one of several stores, can be backed up as a stream")
  func chosen() throws {
    let memory = try container.addPersistentStore(.inMemory)
    var bytes: [UInt8] = []
    try container.backup(memory) { part in part.withUnsafeBytes { bytes += $0 } }
    #expect(try restored(bytes, "of memory") == 0)
    try container.close()
  }

  @Test("The error of a failed stream has the closure's error as cause, and the partial stream is refused")
  func thrown() throws {
    struct Full: Error {}
    var bytes: [UInt8] = []
    let error = #expect(throws: PerdureError.self) {
      try container.backup { part in
        if bytes.count > 100 { throw Full() }
        part.withUnsafeBytes { bytes += $0 }
      }
    }
    #expect(error?.code == .readFailed && error?.cause is Full)
    let refused = #expect(throws: StoreError.self) { try restored(bytes, "restored") }
    #expect(refused?.code == .corruption)
    #expect(throws: CancellationError.self) { try container.backup { _ in throw CancellationError() } }
    try container.close()
    let closed = #expect(throws: PerdureError.self) { try container.backup { _ in } }
    #expect(closed?.code == .readFailed)
  }
}
