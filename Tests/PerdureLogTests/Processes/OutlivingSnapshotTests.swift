import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Snapshots that outlive their closed store")
struct OutlivingSnapshotTests {
  /// A store that was opened from a checkpoint and then written. Its states have nodes in the index
  /// file, nodes in memory, and blob files.
  private static func make(
    _ name: String, _ fileSystem: any FileSystem = InMemoryFileSystem()
  ) throws -> WitnessedStore {
    let witnessed = try WitnessedStore(SeededGenerator.forTest(name), fileSystem)
    for _ in 0..<30 { try witnessed.commit() }
    try witnessed.writer.checkpoint()
    try witnessed.writer.close()
    try witnessed.open()
    for _ in 0..<3 { try witnessed.commit() }
    return witnessed
  }

  private static func table(of witnessed: WitnessedStore) throws -> ReaderTable {
    ReaderTable(directory: try witnessed.fileSystem.openDirectory(WitnessedStore.path))
  }

  /// Changes the open store, and removes all data that no reader needs.
  private static func overwrite(_ witnessed: WitnessedStore, rounds: Int = 4) throws {
    for _ in 0..<rounds {
      for _ in 0..<15 { try witnessed.commit() }
      try witnessed.writer.checkpoint()
      try witnessed.writer.compact()
      try witnessed.writer.checkpoint()
    }
  }

  private static func blobs(_ witnessed: WitnessedStore) throws -> Int {
    try witnessed.fileSystem.contents(of: WitnessedStore.path).count { $0.hasSuffix(".blob") }
  }

  @Test("The snapshot keeps the same state while later writers change the store", arguments: [true, false])
  func stays(closes: Bool) throws {
    let witnessed = try Self.make("outliving \(closes)")
    let old = try witnessed.writer.snapshot()
    try witnessed.commit()
    let snapshot = try witnessed.writer.snapshot()
    if closes { try witnessed.writer.close() }
    witnessed.kill()
    for round in 0..<3 {
      try witnessed.open()
      try Self.overwrite(witnessed)
      try witnessed.check(old, "round \(round), the older one")
      try witnessed.check(snapshot, "round \(round)")
      if round == 1 { try witnessed.writer.close() }
      witnessed.kill()
    }
  }

  @Test("A value that is read in pieces stays readable after the store is closed and a new writer removes it")
  func pieces() throws {
    let witnessed = try Self.make("outliving pieces")
    let extra = try witnessed.writer.keyspace("extra", .dense)
    let value = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    try witnessed.writer.write { try $0.put(value, id: 1, in: extra) }
    let reader = try #require(try witnessed.writer.snapshot().reader(id: 1, in: extra))
    #expect(try reader.bytes(in: 0..<100) == Array(value[0..<100]))
    try witnessed.writer.close()
    try witnessed.open()
    #expect(try !Self.table(of: witnessed).needs().holds.isEmpty)
    try witnessed.writer.write(durability: .powerLoss) { try $0.remove(id: 1, in: extra) }
    try witnessed.writer.write { try $0.put([1], id: 2, in: extra) }
    #expect(try reader.bytes(in: 0..<reader.count) == value)
  }

  @Test("Releasing the last snapshot frees its slot and space, even while the store object exists")
  func released() throws {
    let witnessed = try Self.make("outliving, released")
    let closed = try witnessed.writer
    let extra = try closed.keyspace("extra", .dense)
    try closed.write { try $0.put([UInt8](repeating: 1, count: 5000), id: 1, in: extra) }
    let sequence = try witnessed.last
    var snapshots = [closed.snapshot(), closed.snapshot()]
    try closed.close()
    try witnessed.open()
    let place = try #require(closed.engine.checkpoint)
    let hold = ReaderSlot.Hold(
      sequence: sequence, indexFile: place.reference.indexFile, checkpoint: place.root.number,
      lastSequence: sequence)
    #expect(try Self.table(of: witnessed).needs() == ReaderNeeds(holds: [hold]))
    try witnessed.writer.write(durability: .powerLoss) { try $0.remove(id: 1, in: extra) }
    let before = try Self.blobs(witnessed)
    snapshots.removeLast()
    #expect(try Self.table(of: witnessed).needs() == ReaderNeeds(holds: [hold]))
    snapshots.removeLast()
    #expect(try Self.table(of: witnessed).needs() == ReaderNeeds())
    try witnessed.writer.write(durability: .powerLoss) { try $0.put([1], id: 2, in: extra) }
    #expect(try Self.blobs(witnessed) == before - 1)
    withExtendedLifetime(closed) {}
  }

  @Test("Without a free slot, the snapshot keeps the writer's lock until its release")
  func noSlot() throws {
    let fileSystem = SlotlessFileSystem()
    let witnessed = try Self.make("outliving without a slot", fileSystem)
    let closed = try witnessed.writer
    var snapshot: Snapshot? = closed.snapshot()
    try closed.close()
    let error = #expect(throws: StoreError.self) { try witnessed.open() }
    #expect(error?.code == .locked)
    try witnessed.check(try #require(snapshot), "while the lock is kept")
    snapshot = nil
    try witnessed.open()
    #expect(try Self.table(of: witnessed).needs() == ReaderNeeds())
    withExtendedLifetime((closed, snapshot)) {}
  }

  @Test("A closed store without snapshots has no slot, and acquires a slot for a later snapshot")
  func later() throws {
    for fileSystem in [InMemoryFileSystem() as any FileSystem, SlotlessFileSystem()] {
      let witnessed = try Self.make("snapshot of a closed store", fileSystem)
      let closed = try witnessed.writer
      try closed.close()
      #expect(try Self.table(of: witnessed).needs() == ReaderNeeds())
      var snapshot: Snapshot? = closed.snapshot()
      if fileSystem is SlotlessFileSystem {
        #expect(throws: StoreError.self) { try witnessed.open() }
        try witnessed.check(try #require(snapshot), "after the close")
        snapshot = nil
        try witnessed.open()
      } else {
        try witnessed.open()
        try Self.overwrite(witnessed)
        try witnessed.check(try #require(snapshot), "after the close")
        snapshot = nil
      }
      #expect(try Self.table(of: witnessed).needs() == ReaderNeeds())
      withExtendedLifetime(snapshot) {}
    }
  }

  @Test("Reads of a closed store's state throw if another writer may have changed it")
  func outdated() throws {
    let witnessed = try Self.make("outdated snapshot")
    let closed = try witnessed.writer
    try closed.close()
    try witnessed.open()
    try Self.overwrite(witnessed)
    let rows = try witnessed.writer.keyspace("rows", .dense)
    let error = #expect(throws: StoreError.self) { try closed.snapshot().value(id: 1, in: rows) }
    #expect(error?.code == .closed)
    #expect(try witnessed.writer.verify().findings.isEmpty)
    #expect(try Self.table(of: witnessed).needs() == ReaderNeeds())
  }

  @Test("All kinds of reads refuse nodes that another writer may have changed")
  func outdatedNodes() throws {
    let memory = try MemoryStore()
    var store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    func put(_ round: UInt8, into store: Store) throws {
      try store.write { transaction in
        for id in 1...3000 as ClosedRange<UInt64> {
          try transaction.put([round], id: id, in: try store.keyspace("rows", .dense))
          let name = Array(repeating: round, count: 300) + Array("\(id)".utf8)
          try transaction.put([round], key: name, in: try store.keyspace("names", .bytes))
          let old = Array(repeating: round &- 1, count: 300) + Array("\(id)".utf8)
          try transaction.remove(key: old, in: try store.keyspace("names", .bytes))
        }
      }
      try store.checkpoint()
    }
    try put(1, into: store)
    try store.close()
    store = try memory.open()
    let late = try store.keyspace("late", .dense)
    try store.write { try $0.put([7], id: 7, in: late) }
    // Checks each node of the file, so that later reads do not check it again.
    try store.snapshot().visitIDs(rows, from: 0) { _ in true }
    try store.snapshot().forEachKey(in: names) { _ in true }
    try store.close()
    let other = try memory.open()
    for round in 2...9 as ClosedRange<UInt8> { try put(round, into: other) }

    let snapshot = store.snapshot()
    let isRefused: (() throws -> Void) -> Void = { read in
      let error = #expect(throws: StoreError.self) { try read() }
      #expect(error?.code == .closed)
    }
    let name = Array(repeating: 1, count: 300) + Array("77".utf8)
    isRefused { for id in 1...3000 as ClosedRange<UInt64> { _ = try snapshot.value(id: id, in: rows) } }
    isRefused { _ = try snapshot.value(key: name, in: names) }
    isRefused { _ = try snapshot.version(.id(5), in: rows) }
    isRefused { try snapshot.withValues(ids: [1, 2, 3], in: rows) { _, _ in } }
    isRefused { try snapshot.visitIDs(rows, from: 0) { _ in true } }
    isRefused { try snapshot.forEachKey(in: names) { _ in true } }
    isRefused { _ = try snapshot.count(in: rows, ids: 5...70) }
    #expect(snapshot.count(in: rows) == 3000)
    #expect(try snapshot.value(id: 7, in: late) == [7])
  }

  @Test("A snapshot that reads no file has no slot")
  func nothingToKeep() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1, 2], id: 1, in: rows) }
    let snapshot = store.snapshot()
    try store.close()
    let again = try memory.open()
    #expect(try again.readers.isEmpty)
    try again.write { try $0.put([3], id: 1, in: rows) }
    #expect(try snapshot.value(id: 1, in: rows) == [1, 2])
  }
}

/// A file system on which no slot of the reader table can be locked.
private final class SlotlessFileSystem: ForwardingFileSystem {
  let behind: any FileSystem = InMemoryFileSystem()

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    let file = try behind.open(path, mode)
    return path.hasSuffix("/READERS") ? SlotlessFile(file) : file
  }
}

private final class SlotlessFile: ForwardingFile {
  let behind: any File

  init(_ behind: any File) { self.behind = behind }

  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool { false }
}
