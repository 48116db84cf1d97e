import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A medium that refuses writes, changes of names, and locks on files.
private final class UnwritableFileSystem: ForwardingFileSystem {
  let behind: any FileSystem

  init(_ behind: any FileSystem) { self.behind = behind }

  private func refusal(_ operation: FileIOError.Operation, _ path: String) -> FileIOError {
    FileIOError(.readOnly, operation: operation, path: path)
  }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    guard mode == .read else { throw refusal(.open, path) }
    return UnwritableFile(try behind.open(path, mode))
  }
  func createDirectory(_ path: String) throws(FileIOError) { throw refusal(.createDirectory, path) }
  func rename(_ source: String, to destination: String) throws(FileIOError) {
    throw refusal(.rename, source)
  }
  func remove(_ path: String) throws(FileIOError) { throw refusal(.remove, path) }
  func syncDirectory(_ path: String) throws(FileIOError) { throw refusal(.syncDirectory, path) }
  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    throw refusal(.lock, path)
  }
}

private final class UnwritableFile: ForwardingFile {
  let behind: any File

  init(_ behind: any File) { self.behind = behind }

  private func refusal(_ operation: FileIOError.Operation) -> FileIOError {
    FileIOError(.readOnly, operation: operation, path: path)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(FileIOError) {
    throw refusal(.write)
  }
  func sync(_ mode: SyncMode) throws(FileIOError) { throw refusal(.sync) }
  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool { throw refusal(.tryLock) }
}

@Suite("Reading on a read-only medium")
struct UnwritableMediumTests {
  @Test(
    "A store on a read-only medium can be read, whether it was closed or not, with or without READERS",
    arguments: [true, false], [true, false])
  func read(closes: Bool, hasReaders: Bool) throws {
    let random = SeededGenerator.forTest("unwritable medium \(closes) \(hasReaders)")
    let witnessed = try WitnessedStore(random)
    for _ in 0..<6 { try witnessed.act() }
    try witnessed.writer.checkpoint()
    try witnessed.commit()
    if hasReaders { _ = try witnessed.reader() }
    let last = try witnessed.last
    if closes { try witnessed.writer.close() }
    witnessed.kill()
    let before = try witnessed.fileSystem.files(in: WitnessedStore.path)
    #expect(before.keys.contains("READERS") == hasReaders)

    let store = try witnessed.reader(on: UnwritableFileSystem(witnessed.fileSystem))
    #expect(store.recoveryReport.wasClosed == closes)
    #expect(store.recoveryReport.checkpointSequence > 0)
    let snapshot = store.snapshot()
    #expect(snapshot.sequence == last)
    try witnessed.check(snapshot, "seed \(random.seed)")
    #expect(try !store.refresh())
    #expect(try store.readers.isEmpty)
    #expect(try store.verify().isClean)
    let error = #expect(throws: StoreError.self) { try store.checkpoint() }
    #expect(error?.code == .readOnly)
    try store.close()
    try witnessed.check(snapshot, "seed \(random.seed), closed")
    #expect(try witnessed.fileSystem.files(in: WitnessedStore.path) == before)
  }

  @Test("An unregistered reader checks the whole index file, and ignores it if a node is damaged")
  func wholeCopy() throws {
    var memory = CheckpointedStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { transaction in
      for id in 0..<600 as Range<UInt64> { try transaction.put([UInt8(id % 250)], id: id, in: rows) }
    }
    let content = try CrashOracle.content(of: store)
    try store.close()
    let name = try #require(try memory.indexFiles().first)
    let last = try #require(try memory.nodes(name).last)
    try memory.change(name) { $0[last.lowerBound + 100] ^= 0xFF }
    // A registered reader checks a node only when it first reads the node.
    let registered = try memory.open(readOnly: true)
    #expect(registered.recoveryReport.indexRebuild == nil)
    try registered.close()
    memory.options.fileSystem = UnwritableFileSystem(memory.fileSystem)
    let reader = try memory.open(readOnly: true)
    #expect(reader.recoveryReport.indexRebuild != nil)
    #expect(try CrashOracle.content(of: reader) == content)
  }

  @Test("A store on a read-only medium does not open for writing, and the error gives the reason")
  func write() throws {
    let witnessed = try WitnessedStore(SeededGenerator.forTest("writing on an unwritable medium"))
    try witnessed.writer.close()
    var options = witnessed.options
    options.fileSystem = UnwritableFileSystem(witnessed.fileSystem)
    let error = #expect(throws: StoreError.self) { try Store(at: WitnessedStore.path, options: options) }
    #expect(error?.code == .io && error?.cause?.code == .readOnly)
  }
}
