import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A test for each row of docs/limits.md.
@Suite("Limits of a store")
struct LimitsTests {
  private let fileSystem = SimulatedFileSystem()

  private func open(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> Store {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.durability = .relaxed
    options.checkpoints.closeTailBytes = 0
    change(&options)
    return try Store(at: "/s.perdure", options: options)
  }

  private func expectInvalid(_ body: () throws -> Void) {
    let error = #expect(throws: StoreError.self) { try body() }
    #expect(error?.code == .invalidArgument, "\(String(describing: error))")
  }

  @Test("A key has at most 65,535 bytes")
  func keys() throws {
    var store = try open()
    let texts = try store.keyspace("texts", .bytes)
    let longest = [UInt8](repeating: 7, count: StoreLimits.keyLengthMax)
    try store.write { try $0.put([1], key: longest, in: texts) }
    expectInvalid { try store.write { try $0.put([1], key: longest + [7], in: texts) } }
    expectInvalid { try store.write { try $0.remove(key: longest + [7], in: texts) } }
    try store.close()
    store = try open()
    #expect(try store.snapshot().value(key: longest, in: texts) == [1])
    #expect(try store.snapshot().value(key: longest + [7], in: texts) == nil)
    #expect(try store.verify().isClean)
  }

  @Test("A value of more than 4 GiB is refused before any byte is read")
  func values() throws {
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    let nowhere = UnsafeRawPointer(bitPattern: 4096)
    let value = UnsafeRawBufferPointer(start: nowhere, count: Int(StoreLimits.valueLengthMax) + 1)
    expectInvalid { try store.write { try $0.put(value, id: 1, in: rows) } }
    #expect(store.snapshot().count(in: rows) == 0)
  }

  @Test("Empty keys and empty values behave like all others")
  func nothing() throws {
    var store = try open()
    let (rows, texts) = (try store.keyspace("rows", .dense), try store.keyspace("texts", .bytes))
    try store.write {
      try $0.put([], id: 0, in: rows)
      try $0.put([], id: .max, in: rows)
      try $0.put([], key: [], in: texts)
      try $0.put([1], key: [0], in: texts)
    }
    for step in 0..<3 {
      let snapshot = store.snapshot()
      #expect(try snapshot.value(id: 0, in: rows) == [] && snapshot.value(id: .max, in: rows) == [])
      #expect(try snapshot.value(id: 1, in: rows) == nil)
      #expect(try snapshot.value(key: [], in: texts) == [] && snapshot.value(key: [0], in: texts) == [1])
      var keys: [[UInt8]] = []
      try snapshot.forEachKey(in: texts) { key in
        keys.append(key.withUnsafeBytes { Array($0) })
        return true
      }
      #expect(keys == [[], [0]])
      #expect(try store.verify().isClean)
      if step == 0 { try store.compact() }
      if step == 1 {
        try store.close()
        store = try open()
      }
    }
    try store.write {
      try $0.remove(key: [], in: texts)
      try $0.remove(id: 0, in: rows)
    }
    #expect(try !store.snapshot().contains(.bytes([]), in: texts) && store.snapshot().count(in: texts) == 1)
    #expect(try !store.snapshot().contains(.id(0), in: rows) && store.snapshot().count(in: rows) == 1)
  }

  @Test("A commit has at most as many bytes of records as the option allows")
  func batch() throws {
    let store = try open { $0.batchBytesMax = 2 << 20 }
    let rows = try store.keyspace("rows", .dense)
    let value = [UInt8](repeating: 1, count: (1 << 20) - 24)
    try store.write { for id in 1...2 as ClosedRange<UInt64> { try $0.put(value, id: id, in: rows) } }
    let sequence = store.snapshot().sequence
    expectInvalid {
      try store.write {
        for id in 3...4 as ClosedRange<UInt64> { try $0.put(value, id: id, in: rows) }
        try $0.remove(id: 1, in: rows)
      }
    }
    expectInvalid {
      try store.write { for id in 3...5 as ClosedRange<UInt64> { try $0.put(value, id: id, in: rows) } }
    }
    #expect(store.snapshot().sequence == sequence && store.snapshot().count(in: rows) == 2)
  }

  @Test("A commit has at most as many parts as the format allows")
  func parts() throws {
    try StoreLimits.check(commitParts: FormatLimits.commitPartsMax)
    expectInvalid { try StoreLimits.check(commitParts: FormatLimits.commitPartsMax + 1) }
  }

  @Test("Names have 1 to 255 bytes")
  func names() throws {
    let store = try open()
    _ = try store.keyspace(String(repeating: "é", count: 127) + "e", .dense)
    for name in ["", String(repeating: "é", count: 128)] {
      expectInvalid { _ = try store.keyspace(name, .dense) }
      expectInvalid {
        _ = try store.defineIndex(
          IndexDefinition(
            name: name, source: .records(keyspaces: [], extractor: SliceExtractor.name, parameters: [])))
      }
    }
  }

  @Test("A store has at most 65,536 keyspaces and 65,536 derived indexes")
  func catalog() throws {
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    try store.engine.inTurn { state in
      while state.catalog.keyspaces.count <= StoreLimits.keyspacesMax {
        _ = state.catalog.addKeyspace("k\(state.catalog.keyspaces.count)", .dense)
      }
    }
    expectInvalid { _ = try store.keyspace("one more", .dense) }
    #expect(try store.keyspace("rows", .dense) == rows)
    try StoreLimits.check(indexes: StoreLimits.indexesMax)
    expectInvalid { try StoreLimits.check(indexes: StoreLimits.indexesMax + 1) }
  }

  @Test("The definition of an index has at most 1 MiB")
  func definition() throws {
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    let parameters = [UInt8](repeating: 0, count: 1 << 20)
    expectInvalid {
      _ = try store.defineIndex(
        IndexDefinition(
          name: "i",
          source: .records(keyspaces: [rows], extractor: SliceExtractor.name, parameters: parameters)))
    }
  }

  @Test(
    "If two records have the same index entry and one is removed, verification (V4) reports the missing entry"
  )
  func sharedEntries() throws {
    let store = try open()
    let texts = try store.keyspace("texts", .bytes)
    let parameters = SliceExtractor.parameters([.value(offset: 0, length: 1)], reference: .keyPrefix)
    let index = try store.defineIndex(
      IndexDefinition(
        name: "i",
        source: .records(keyspaces: [texts], extractor: SliceExtractor.name, parameters: parameters)))
    let keys = [1, 2].map { [UInt8](repeating: 7, count: 8) + [$0] }
    try store.write { transaction in for key in keys { try transaction.put([5], key: key, in: texts) } }
    #expect(try store.snapshot().count(in: index) == 1)
    #expect(try store.verify().isClean)
    try store.write { try $0.remove(key: keys[0], in: texts) }
    let findings = try store.verify().findings
    #expect(findings.map(\.invariant) == [.derivedIndex])
    #expect(findings.first?.description.contains("two records had it and one was removed") == true)
  }

  @Test("Without a free segment number, only commits that need a new segment are refused")
  func segments() throws {
    let store = try open { $0.segmentCapacityBytes = 4096 }
    let rows = try store.keyspace("rows", .dense)
    try store.engine.inTurn { $0.nextSegment = FormatLimits.segmentNumberMax + 1 }
    expectInvalid { try store.write { try $0.put([UInt8](repeating: 1, count: 4000), id: 1, in: rows) } }
    try store.write { try $0.put([1], id: 1, in: rows) }
    #expect(try store.snapshot().value(id: 1, in: rows) == [1])
  }

  @Test(
    "If the system refuses a new segment, the commit is refused and the store stays usable",
    arguments: [
      (.create, .tooManyOpenFiles), (.map, .outOfMemory), (.write, .fileTooLarge),
    ] as [(FileOperation, FileIOError.Code)])
  func system(_ operation: FileOperation, _ code: FileIOError.Code) throws {
    let store = try open { $0.segmentCapacityBytes = 4096 }
    let rows = try store.keyspace("rows", .dense)
    fileSystem.inject(InjectedFailure(of: operation, code: code, pathContains: ".segment"))
    let value = [UInt8](repeating: 1, count: 4000)
    let error = #expect(throws: StoreError.self) { try store.write { try $0.put(value, id: 1, in: rows) } }
    #expect(error?.code == .io && error?.cause?.code == code)
    #expect(store.snapshot().count(in: rows) == 0)
    try store.write { try $0.put(value, id: 1, in: rows) }
    #expect(try store.snapshot().value(id: 1, in: rows) == value)
    #expect(try store.verify().isClean)
    try store.close()
    #expect(try open().snapshot().count(in: rows) == 1)
  }

  @Test(
    "An opening without descriptors or address space throws and changes nothing",
    arguments: [(.open, .tooManyOpenFiles), (.map, .outOfMemory)] as [(FileOperation, FileIOError.Code)])
  func opening(_ operation: FileOperation, _ code: FileIOError.Code) throws {
    var store = try open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 1, in: rows) }
    try store.close()
    fileSystem.inject(InjectedFailure(of: operation, code: code, pathContains: ".segment"))
    let error = #expect(throws: StoreError.self) { _ = try open() }
    #expect(error?.code == .io && error?.cause?.code == code)
    store = try open()
    #expect(try store.snapshot().value(id: 1, in: rows) == [1])
  }

  @Test("The statistics count thousands of open snapshots, and none after their release")
  func snapshots() throws {
    let store = try open()
    #expect(StoreLimits.snapshotsMax == 262_144)
    for _ in 0..<2 {
      let held = (0..<10_000).map { _ in store.snapshot() }
      #expect(try store.statistics.snapshots == held.count)
    }
    #expect(try store.statistics.snapshots == 0)
  }
}
