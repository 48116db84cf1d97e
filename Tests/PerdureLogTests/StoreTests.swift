import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store in memory, with the options to reopen it.
struct MemoryStore {
  let fileSystem = InMemoryFileSystem()
  var options = StoreOptions()

  init(segmentCapacityBytes: Int = 64 << 10) throws {
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = segmentCapacityBytes
    options.blobThresholdBytes = 4096
    options.compactsAutomatically = false
  }

  func open() throws -> Store { try Store(at: "/store.perdure", options: options) }
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite("Basic operations of a store")
struct StoreTests {
  @Test("Committed values are readable after closing and reopening")
  func putAndGet() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let people = try store.keyspace("people", .dense)
    let names = try store.keyspace("names", .bytes)
    try store.write { transaction in
      try transaction.put(bytes("Ada"), id: 1, in: people)
      try transaction.put(bytes("1"), key: bytes("Ada"), in: names)
      try transaction.put([], key: [], in: names)
    }
    try store.write { try $0.put(bytes("Grace"), id: 2, in: people) }
    try store.write { try $0.remove(id: 1, in: people) }
    try store.close()
    let again = try memory.open()
    #expect(again.recoveryReport.wasClosed)
    let snapshot = again.snapshot()
    #expect(try snapshot.value(id: 2, in: people) == bytes("Grace"))
    #expect(try snapshot.value(id: 1, in: people) == nil)
    #expect(try snapshot.value(key: [], in: names) == [])
    #expect(snapshot.count(in: names) == 2)
    #expect(try again.verify().isClean)
  }

  @Test("A directory with foreign files is refused and left unchanged")
  func foreignDirectory() throws {
    let memory = try MemoryStore()
    try memory.fileSystem.createDirectory("/store.perdure")
    for name in ["notes.txt", "draft.tmp"] {
      _ = try memory.fileSystem.open("/store.perdure/\(name)", .create)
    }
    let error = #expect(throws: StoreError.self) { try memory.open() }
    #expect(error?.code == .notAStore)
    #expect(try memory.fileSystem.contents(of: "/store.perdure").sorted() == ["draft.tmp", "notes.txt"])
    try memory.fileSystem.remove("/store.perdure/notes.txt")
    try memory.open().close()
  }

  @Test("If two threads define a keyspace with different kinds, one definition is refused")
  func keyspaceKinds() async throws {
    let store = try MemoryStore().open()
    for number in 0..<100 {
      let kinds = await withTaskGroup(of: Bool.self) { group in
        for kind in [KeyspaceKind.dense, .bytes] {
          group.addTask { (try? store.keyspace("keyspace \(number)", kind))?.kind == kind }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(kinds.count { $0 } == 1)
    }
  }

  @Test("A snapshot does not change with later commits")
  func snapshotIsStable() throws {
    let store = try MemoryStore().open()
    let numbers = try store.keyspace("numbers", .dense)
    try store.write { try $0.put(bytes("old"), id: 7, in: numbers) }
    let before = store.snapshot()
    for i in 0..<2000 as Range<UInt64> {
      try store.write(durability: .processCrash) { try $0.put(bytes("new"), id: i, in: numbers) }
    }
    #expect(try before.value(id: 7, in: numbers) == bytes("old"))
    #expect(before.count(in: numbers) == 1)
    #expect(store.snapshot().count(in: numbers) == 2000)
  }

  @Test("A commit larger than a segment is complete after reopening")
  func commitOverSegments() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 8192)
    let store = try memory.open()
    let numbers = try store.keyspace("numbers", .dense)
    try store.write { transaction in
      for i in 0..<1000 as Range<UInt64> {
        try transaction.put([UInt8](repeating: UInt8(i % 251), count: 100), id: i, in: numbers)
      }
    }
    #expect(try store.statistics.segments > 10)
    try store.close()
    let snapshot = try memory.open().snapshot()
    #expect(snapshot.count(in: numbers) == 1000)
    #expect(try snapshot.value(id: 999, in: numbers) == [UInt8](repeating: UInt8(999 % 251), count: 100))
  }

  @Test("A value above the threshold is readable, and after an opening no unused blob file exists")
  func blobs() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let files = try store.keyspace("files", .dense)
    let large = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try store.write { try $0.put(large, id: 1, in: files) }
    #expect(try store.snapshot().value(id: 1, in: files) == large)
    struct Refused: Error {}
    #expect(throws: Refused.self) {
      try store.write { transaction in
        try transaction.put(large, id: 2, in: files)
        throw Refused()
      }
    }
    try store.write { try $0.remove(id: 1, in: files) }
    try memory.fileSystem.open("/store.perdure/00000000000000ff.blob", .create).close()
    try store.close()
    let again = try memory.open()
    #expect(again.recoveryReport.orphansRemoved == 1)
    #expect(try blobFiles(memory) == 0)
  }

  private func blobFiles(_ memory: MemoryStore) throws -> Int {
    try memory.fileSystem.contents(of: "/store.perdure").filter { $0.hasSuffix(".blob") }.count
  }

  @Test("A replaced value's file is removed when no reader needs it and the commit is durable")
  func supersededBlobs() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let files = try store.keyspace("files", .dense)
    let large = [UInt8](repeating: 5, count: 10_000)
    func replace(_ durability: Durability) throws {
      try store.write(durability: durability) { try $0.put(large, id: 1, in: files) }
    }
    try replace(.powerLoss)
    var reader: Snapshot? = store.snapshot()
    try replace(.powerLoss)
    try replace(.powerLoss)
    #expect(try blobFiles(memory) == 3)
    #expect(try reader?.value(id: 1, in: files) == large)
    reader = nil
    try replace(.relaxed)
    // The state after a power cut still needs the previous file.
    #expect(try blobFiles(memory) == 2)
    try store.close()
    #expect(try blobFiles(memory) == 1)
    #expect(try memory.open().snapshot().value(id: 1, in: files) == large)
  }

  @Test("A commit with an unsatisfied precondition writes nothing")
  func preconditions() throws {
    let store = try MemoryStore().open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put(bytes("a"), id: 1, in: rows) }
    let version = try store.snapshot().version(.id(1), in: rows)
    try store.write { try $0.put(bytes("b"), id: 1, in: rows) }
    let error = #expect(throws: StoreError.self) {
      try store.write { transaction in
        transaction.require(.unchanged(rows, .id(1), version))
        transaction.require(.exists(rows, .id(1)))
        transaction.require(.exists(rows, .id(9)))
        try transaction.put(bytes("c"), id: 1, in: rows)
      }
    }
    #expect(error?.code == .conflict)
    #expect(error?.conflicts.count == 2)
    #expect(try store.snapshot().value(id: 1, in: rows) == bytes("b"))
  }

  @Test("A range precondition detects an added entry, and ignores entries outside the range")
  func rangePreconditions() throws {
    let store = try MemoryStore().open()
    let links = try store.keyspace("links", .bytes)
    try store.write { try $0.put([], key: [1, 1], in: links) }
    let before = store.snapshot()
    try store.write { try $0.put([], key: [2, 1], in: links) }
    try store.write { transaction in
      transaction.require(.rangeUnchanged(links, .prefix([1]), since: before))
      try transaction.put([], key: [3], in: links)
    }
    let error = #expect(throws: StoreError.self) {
      try store.write { transaction in
        transaction.require(.rangeUnchanged(links, .prefix([2]), since: before))
        try transaction.put([], key: [4], in: links)
      }
    }
    #expect(error?.code == .conflict && error?.isRetryable == true)
    #expect(try store.snapshot().value(key: [3], in: links) == [])
    #expect(try store.snapshot().value(key: [4], in: links) == nil)
  }

  @Test("A unique derived index follows its records and refuses duplicates")
  func derivedIndexes() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let index = try store.defineIndex(.slices("by value", rows, .valueRest(offset: 0), isUnique: true))
    try store.write { transaction in
      try transaction.put(bytes("b"), id: 1, in: rows)
      try transaction.put(bytes("a"), id: 2, in: rows)
    }
    #expect(throws: StoreError.self) { try store.write { try $0.put(bytes("a"), id: 3, in: rows) } }
    // Two rows may swap their keys in one commit.
    try store.write { transaction in
      try transaction.put(bytes("a"), id: 1, in: rows)
      try transaction.put(bytes("b"), id: 2, in: rows)
    }
    func references(_ store: Store) throws -> [UInt64] {
      var found: [UInt64] = []
      try store.snapshot().forEachEntry(in: index) { _, reference in
        found.append(reference)
        return true
      }
      return found
    }
    #expect(try references(store) == [1, 2])
    #expect(try store.verify().isClean)
    try store.close()
    #expect(try references(memory.open()) == [1, 2])
  }

  @Test("Group counts follow the index that they count")
  func groupCounts() throws {
    let store = try MemoryStore().open()
    let rows = try store.keyspace("rows", .dense)
    let members = try store.defineIndex(.slices("members", rows, .value(offset: 0, length: 8)))
    let counts = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: members)))
    for id in 1...100 as ClosedRange<UInt64> {
      try store.write(durability: .processCrash) {
        try $0.put([0, 0, 0, 0, 0, 0, 0, UInt8(id % 3)], id: id, in: rows)
      }
    }
    try store.write { transaction in
      for id in 1...30 as ClosedRange<UInt64> { try transaction.remove(id: id, in: rows) }
    }
    var found: [UInt64] = []
    try store.snapshot().forEachEntry(in: counts, descending: true) { _, group in
      found.append(group)
      return true
    }
    #expect(found.first == 1)
    #expect(found.count == 3)
    #expect(try store.verify().isClean)
  }

  @Test("Walks visit keys in order, in both directions, by range and prefix")
  func ranges() throws {
    let store = try MemoryStore().open()
    let words = try store.keyspace("words", .bytes)
    let all = ["a", "ab", "abc", "b", "ba", "c"]
    try store.write { transaction in
      for word in all.shuffled() { try transaction.put([], key: bytes(word), in: words) }
    }
    func keys(_ range: KeyRange, descending: Bool = false) throws -> [String] {
      var found: [String] = []
      try store.snapshot().forEachKey(in: words, range: range, descending: descending) { key in
        found.append(key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        return true
      }
      return found
    }
    #expect(try keys(.all) == all)
    #expect(try keys(.all, descending: true) == all.reversed())
    #expect(try keys(.prefix(bytes("a"))) == ["a", "ab", "abc"])
    #expect(try keys(.prefix(bytes("a")), descending: true) == ["abc", "ab", "a"])
    #expect(try keys(KeyRange(lower: bytes("ab"), upper: bytes("b")), descending: true) == ["abc", "ab"])
    #expect(try store.snapshot().count(in: words, range: .prefix(bytes("b"))) == 2)
  }

  @Test("A second opening is refused with an error that names the holder")
  func locked() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let error = #expect(throws: StoreError.self) { try memory.open() }
    #expect(error?.code == .locked)
    // The description has the holder, the path and the remedy once each.
    let text = try #require(error).description
    let holder = try #require(error?.cause?.detail)
    #expect(text.ranges(of: holder).count == 1, "\(text)")
    #expect(text.ranges(of: "/LOCK").count == 1, "\(text)")
    #expect(text.contains("close it there first") && !text.contains("Wait until"), "\(text)")
    try store.close()
    #expect(throws: Never.self) { try memory.open() }
  }

  @Test("The error of a read-only store names the missing keyspace or index, and the remedy")
  func missing() throws {
    let memory = try MemoryStore()
    let writer = try memory.open()
    let rows = try writer.keyspace("rows", .dense)
    try writer.close()
    var options = memory.options
    options.isReadOnly = true
    let reader = try Store(at: "/store.perdure", options: options)
    #expect(try reader.keyspace("rows", .dense) == rows)
    for (name, open) in [
      ("keyspace people", { _ = try reader.keyspace("people", .dense) }),
      ("index byName", { _ = try reader.defineIndex(.slices("byName", rows, .valueRest(offset: 0))) }),
    ] as [(String, () throws -> Void)] {
      let error = #expect(throws: StoreError.self) { try open() }
      #expect(error?.code == .readOnly)
      let text = try #require(error).message
      #expect(text.contains("has no \(name)") && text.contains("open the store for writing"), "\(text)")
    }
  }

  @Test("A closed store refuses writes, and its snapshots show the content at closing")
  func closed() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 1, in: rows) }
    try store.close()
    try store.close()
    let error = #expect(throws: StoreError.self) { try store.write { try $0.put([1], id: 2, in: rows) } }
    #expect(error?.code == .closed)
    let next = try memory.open()
    try next.write { try $0.put([2], id: 1, in: rows) }
    #expect(try store.snapshot().value(id: 1, in: rows) == [1])
    #expect(try next.snapshot().value(id: 1, in: rows) == [2])
  }

  @Test("A store that was not closed opens with all commits")
  func dropped() throws {
    let memory = try MemoryStore()
    var store: Store? = try memory.open()
    let rows = try store!.keyspace("rows", .dense)
    try store!.write { try $0.put([1], id: 1, in: rows) }
    store = nil
    let again = try memory.open()
    #expect(!again.recoveryReport.wasClosed)
    #expect(try again.snapshot().value(id: 1, in: rows) == [1])
  }

  @Test("All commits of several concurrent writers are present")
  func concurrentWriters() async throws {
    let store = try MemoryStore(segmentCapacityBytes: 1 << 20).open()
    let rows = try store.keyspace("rows", .dense)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<8 as Range<UInt64> {
        group.addTask {
          for i in 0..<100 as Range<UInt64> {
            try await store.write { try $0.put([UInt8(writer)], id: writer * 100 + i, in: rows) }
          }
        }
      }
      try await group.waitForAll()
    }
    let snapshot = store.snapshot()
    #expect(snapshot.count(in: rows) == 800)
    for id in 0..<800 as Range<UInt64> {
      #expect(try snapshot.value(id: id, in: rows) == [UInt8(id / 100)])
    }
    #expect(try store.verify().isClean)
  }
}
