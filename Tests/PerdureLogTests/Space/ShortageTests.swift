import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Temporary shortages")
struct ShortageTests {
  private let simulated = SimulatedFileSystem()
  private var memory: CheckpointedStore { CheckpointedStore(simulated) }

  /// Writes rows into several segments, and overwrites half and then a third of them. Every
  /// twentieth row has a long value.
  private func fill(_ store: Store) throws -> Keyspace {
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<3 as Range<UInt64> {
      for id in 0..<60 as Range<UInt64> where id % (round + 1) == 0 {
        let value = [UInt8](repeating: UInt8(id), count: id % 20 == 19 ? 4000 : 500)
        try store.write(durability: .processCrash) { try $0.put(value, id: id, in: rows) }
      }
    }
    try store.sync()
    return rows
  }

  private func check(_ store: Store, _ rows: Keyspace) throws {
    let snapshot = store.snapshot()
    for id in 0..<60 as Range<UInt64> {
      let value = try snapshot.value(id: id, in: rows)
      #expect(value == [UInt8](repeating: UInt8(id), count: id % 20 == 19 ? 4000 : 500))
    }
    #expect(try store.verify().findings.map(\.description) == [])
  }

  @Test("A compaction without a descriptor for the directory throws, and the next compaction succeeds")
  func compaction() throws {
    let store = try memory.open()
    let rows = try fill(store)
    simulated.inject(InjectedFailure(of: .rename))
    _ = try? store.compact()
    // The directory is synced for the first time after the first rename.
    simulated.inject(InjectedFailure(of: .syncDirectory, nth: 2, code: .tooManyOpenFiles))
    let error = #expect(throws: StoreError.self) { try store.compact() }
    #expect(error?.code == .io && error?.cause?.code == .tooManyOpenFiles)
    try check(CheckpointedStore(simulated.currentImage.fileSystem()).open(), rows)
    try store.write { try $0.put([1], id: 100, in: rows) }
    #expect(try store.compact().segmentsRewritten > 0)
    try store.checkpoint()
    try check(store, rows)
    store.engine.abandon()
    try check(memory.open(), rows)
  }

  @Test(
    "A verification without a descriptor or permission throws, and reports no damage",
    arguments: ["SUPERBLOCK", ".blob", ".index"], [FileIOError.Code.tooManyOpenFiles, .permissionDenied])
  func verification(_ name: String, _ code: FileIOError.Code) throws {
    if name == ".index" && code == .permissionDenied { return }
    let store = try memory.open()
    let rows = try fill(store)
    try store.checkpoint()
    simulated.inject(InjectedFailure(of: .open, code: code, pathContains: name))
    let error = #expect(throws: StoreError.self) { try store.verify() }
    #expect(error?.code == .io && error?.cause?.code == code)
    try check(store, rows)
  }

  @Test("Verification reports a missing superblock and a missing value")
  func gone() throws {
    let store = try memory.open()
    _ = try fill(store)
    for name in try simulated.contents(of: store.path) where name == "SUPERBLOCK" || name.hasSuffix(".blob") {
      try simulated.remove(store.path + "/" + name)
    }
    let found = Set(try store.verify().findings.map(\.invariant))
    #expect(found == [.superblock, .blob])
  }

  @Test("An opening without a descriptor for the index throws, and the index is kept")
  func opening() throws {
    var store = try memory.open()
    let rows = try fill(store)
    try store.close()
    simulated.inject(InjectedFailure(of: .open, code: .tooManyOpenFiles, pathContains: ".index"))
    let error = #expect(throws: StoreError.self) { try memory.open() }
    #expect(error?.code == .io && error?.cause?.code == .tooManyOpenFiles)
    store = try memory.open()
    #expect(store.recoveryReport.indexRebuild == nil && store.recoveryReport.logBytes == 0)
    try check(store, rows)
  }

  @Test(
    "An opening without a descriptor for an indexed blob file throws, and loses no index"
  )
  func openingWithIndex() throws {
    var store = try memory.open()
    let rows = try fill(store)
    let index = try store.defineIndex(.slices("first bytes", rows, .value(offset: 0, length: 1)))
    store.engine.abandon()
    simulated.inject(InjectedFailure(of: .open, code: .tooManyOpenFiles, pathContains: ".blob"))
    let error = #expect(throws: StoreError.self) { try memory.open() }
    #expect(error?.cause?.code == .tooManyOpenFiles)
    store = try memory.open()
    #expect(try store.snapshot().count(in: index) == 60)
  }

  @Test(
    "A commit that fails because resources are exhausted leaves no blob file, and can be repeated",
    arguments: [(.create, .tooManyOpenFiles), (.map, .outOfMemory)] as [(FileOperation, FileIOError.Code)])
  func longValues(_ operation: FileOperation, _ code: FileIOError.Code) throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let filling = [UInt8](repeating: 1, count: 1900)
    for id in 0..<8 as Range<UInt64> { try store.write { try $0.put(filling, id: id, in: rows) } }
    let files = try simulated.contents(of: store.path).filter { $0.hasSuffix(".blob") }
    simulated.inject(InjectedFailure(of: operation, code: code, pathContains: ".segment"))
    let error = #expect(throws: StoreError.self) {
      try store.write { transaction in
        try transaction.put([UInt8](repeating: 2, count: 5000), id: 20, in: rows)
        for id in 30..<40 as Range<UInt64> { try transaction.put(filling, id: id, in: rows) }
      }
    }
    #expect(error?.code == .io && error?.cause?.code == code)
    #expect(try simulated.contents(of: store.path).filter { $0.hasSuffix(".blob") } == files)

    let writer = try store.makeBlobWriter()
    try writer.append([UInt8](repeating: 3, count: 5000))
    let written = try writer.finish()
    simulated.inject(InjectedFailure(of: operation, code: code, pathContains: ".segment"))
    func put() throws {
      try store.write { transaction in
        try transaction.put(written, id: 21, in: rows)
        for id in 30..<50 as Range<UInt64> { try transaction.put(filling, id: id, in: rows) }
      }
    }
    #expect(throws: StoreError.self) { try put() }
    try put()
    #expect(try store.snapshot().value(id: 21, in: rows)?.count == 5000)
    #expect(try store.verify().isClean)
  }

  @Test("If no sync thread can be started, the caller syncs, and the store stays usable")
  func threads() async throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try await PlatformThread.$isRefused.withValue(true) {
      try await store.write(durability: .powerLoss) { try $0.put([1], id: 1, in: rows) }
      try store.writeHere(durability: .ordered) { try $0.put([2], id: 2, in: rows) }
    }
    #expect(try store.statistics.syncsSinceOpen == 2)
    try store.sync()
    try await store.write(durability: .powerLoss) { try $0.put([3], id: 3, in: rows) }
    #expect(store.snapshot().count(in: rows) == 3)
  }

  @Test("A checkpoint without space for its superblock throws, and the next checkpoint succeeds")
  func superblock() throws {
    let store = try memory.open()
    let rows = try fill(store)
    simulated.inject(InjectedFailure(of: .write, code: .quotaExceeded, pathContains: "SUPERBLOCK"))
    let error = #expect(throws: StoreError.self) { try store.checkpoint() }
    #expect(error?.code == .diskFull && error?.cause?.code == .quotaExceeded)
    simulated.inject(
      InjectedFailure(
        of: .write, code: .noSpace, effect: .partialWrite(byteCount: 100), pathContains: "SUPERBLOCK"))
    #expect(throws: StoreError.self) { try store.compact() }
    try store.write { try $0.put([1], id: 100, in: rows) }
    try store.checkpoint()
    try store.compact()
    try check(store, rows)
    store.engine.abandon()
    let again = try memory.open()
    #expect(again.recoveryReport.indexRebuild == nil && again.recoveryReport.logBytes < 4096)
    try check(again, rows)
  }

  @Test("While READERS is unreadable, blob files are kept and the statistics report the error")
  func readers() throws {
    let hiding = HidingFileSystem(simulated)
    var options = memory.options
    options.fileSystem = hiding
    let store = try Store(at: CheckpointedStore.path, options: options)
    let rows = try fill(store)
    #expect(try store.statistics.lastReadersFailure == nil)
    _ = try Store(at: CheckpointedStore.path, options: memory.readOnly)
    hiding.isHiding.withLock { $0 = true }
    for id in [19, 39, 59] as [UInt64] { try store.write { try $0.remove(id: id, in: rows) } }
    let blobs = { try simulated.contents(of: CheckpointedStore.path).count { $0.hasSuffix(".blob") } }
    #expect(try blobs() >= 3)
    #expect(try store.statistics.lastReadersFailure?.contains("READERS") == true)
    hiding.isHiding.withLock { $0 = false }
    try store.write { try $0.put([1], id: 1, in: rows) }
    #expect(try blobs() == 0)
    #expect(try store.statistics.lastReadersFailure == nil)
  }
}

extension Store {
  /// Calls the synchronous overload from an asynchronous function.
  fileprivate func writeHere(
    durability: Durability, _ body: (inout WriteTransaction) throws -> Void
  ) throws { try write(durability: durability, body) }
}

extension CheckpointedStore {
  fileprivate var readOnly: StoreOptions {
    var options = options
    options.isReadOnly = true
    return options
  }
}

/// A file system on which READERS is temporarily unreadable, like a file of another user.
private final class HidingFileSystem: ForwardingFileSystem {
  let behind: any FileSystem
  let isHiding = Guarded(false)

  init(_ behind: any FileSystem) { self.behind = behind }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    if path.hasSuffix("READERS"), isHiding.withLock({ $0 }) {
      throw FileIOError(.permissionDenied, operation: .open, path: path)
    }
    return try behind.open(path, mode)
  }
}
