import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Handles of another store")
struct ForeignHandleTests {
  private let store: Store
  private let rows: Keyspace
  private let names: Keyspace
  private let byFirst: DerivedIndex
  /// Keyspaces of another store. The first has the number of `rows`, but another name. The second
  /// has the number of `names`, but another kind. The third has a number that `store` does not
  /// have.
  private let foreign: [Keyspace]
  private let other: Store

  init() throws {
    store = try MemoryStore().open()
    rows = try store.keyspace("rows", .dense)
    names = try store.keyspace("names", .bytes)
    byFirst = try store.defineIndex(.slices("by first", rows, .value(offset: 0, length: 1)))
    other = try MemoryStore().open()
    foreign = try [
      other.keyspace("people", .dense), other.keyspace("places", .dense), other.keyspace("far", .dense),
    ]
    try store.write { transaction in
      try transaction.put([7], id: 1, in: rows)
      try transaction.put([8], key: [1], in: names)
    }
  }

  private func expectRefused(_ keyspace: Keyspace, _ body: () throws -> Void) {
    let error = #expect(throws: StoreError.self) { try body() }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains(keyspace.name) == true)
    #expect(error?.message.contains("Store.keyspace(_:_:)") == true)
  }

  private func expectUntouched() throws {
    let snapshot = store.snapshot()
    #expect(try snapshot.value(id: 1, in: rows) == [7])
    #expect(snapshot.count(in: rows) == 1)
    #expect(snapshot.count(in: names) == 1)
    #expect(try store.verify().isClean)
  }

  @Test("A commit that changes a foreign keyspace is refused completely")
  func writes() throws {
    let before = store.snapshot().sequence
    for keyspace in foreign {
      expectRefused(keyspace) {
        try store.write { transaction in
          try transaction.put([1], id: 2, in: rows)
          try transaction.put([9], id: 1, in: keyspace)
        }
      }
      expectRefused(keyspace) { try store.write { try $0.remove(id: 1, in: keyspace) } }
    }
    #expect(store.snapshot().sequence == before)
    try expectUntouched()
    try store.write { try $0.put([2], id: 2, in: rows) }
  }

  @Test("A long value for a foreign keyspace leaves no file, and a refused blob stays usable")
  func blobs() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let long = [UInt8](repeating: 3, count: 5000)
    expectRefused(foreign[0]) { try store.write { try $0.put(long, id: 1, in: foreign[0]) } }
    let files = try memory.fileSystem.contents(of: "/store.perdure")
    #expect(!files.contains { $0.hasSuffix(".blob") })
    let writer = try store.makeBlobWriter()
    try writer.append(long)
    let blob = try writer.finish()
    expectRefused(foreign[0]) { try store.write { try $0.put(blob, id: 1, in: foreign[0]) } }
    try store.write { try $0.put(blob, id: 1, in: rows) }
    #expect(try store.snapshot().value(id: 1, in: rows) == long)
  }

  @Test("A precondition with a foreign keyspace or a foreign snapshot is refused")
  func preconditions() throws {
    let snapshot = store.snapshot()
    for keyspace in foreign {
      let conditions: [Precondition] = [
        .unchanged(keyspace, .id(1), nil), .exists(keyspace, .id(1)),
        .idRangeUnchanged(keyspace, 0...9, since: snapshot),
      ]
      for condition in conditions {
        expectRefused(keyspace) {
          try store.write { transaction in
            transaction.require(condition)
            try transaction.put([1], id: 2, in: rows)
          }
        }
      }
    }
    let error = #expect(throws: StoreError.self) {
      try store.write { $0.require(.idRangeUnchanged(rows, 0...9, since: other.snapshot())) }
    }
    #expect(error?.code == .invalidArgument)
    try expectUntouched()
  }

  @Test("A precondition whose key has the wrong kind is refused")
  func kinds() throws {
    let snapshot = store.snapshot()
    let conditions: [Precondition] = [
      .unchanged(rows, .bytes([1]), nil), .exists(names, .id(1)),
      .rangeUnchanged(rows, .all, since: snapshot),
      .idRangeUnchanged(names, 0...9, since: snapshot),
    ]
    for condition in conditions {
      let error = #expect(throws: StoreError.self) { try store.write { $0.require(condition) } }
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test("Reads in a foreign keyspace throw, and its count of all keys is 0")
  func reads() throws {
    let snapshot = store.snapshot()
    let (dense, wrongKind) = (foreign[0], foreign[1])
    expectRefused(dense) { _ = try snapshot.value(id: 1, in: dense) }
    expectRefused(wrongKind) { _ = try snapshot.value(id: 1, in: wrongKind) }
    expectRefused(dense) { try snapshot.withValues(ids: [1], in: dense) { _, _ in } }
    expectRefused(dense) { try snapshot.forEach(in: dense, ids: 0...9) { _, _ in true } }
    expectRefused(dense) { _ = try snapshot.reader(id: 1, in: dense) }
    for keyspace in foreign {
      #expect(snapshot.count(in: keyspace) == 0)
    }
    for keyspace in foreign.dropLast() {
      expectRefused(keyspace) { _ = try snapshot.count(in: keyspace, ids: 0 ... .max) }
      expectRefused(keyspace) { _ = try snapshot.contains(.id(1), in: keyspace) }
    }
    // A keyspace whose number the store does not have yet is empty.
    #expect(try snapshot.value(id: 1, in: foreign[2]) == nil)
    let bytes = try MemoryStore().open().keyspace("texts", .bytes)
    expectRefused(bytes) { _ = try snapshot.value(key: [1], in: bytes) }
    expectRefused(bytes) { try snapshot.withValues(keys: [[1]], in: bytes) { _, _ in } }
    expectRefused(bytes) { try snapshot.forEach(in: bytes, range: .all) { _, _ in true } }
    expectRefused(bytes) { _ = try snapshot.count(in: bytes, range: .all) }
    expectRefused(bytes) { try snapshot.forEachKey(in: bytes) { _ in true } }
  }

  @Test("Transactions refuse reads and writes in a foreign keyspace")
  func transactions() throws {
    for keyspace in foreign.dropLast() {
      expectRefused(keyspace) { try store.transaction { _ = try $0.value(id: 1, in: keyspace) } }
      expectRefused(keyspace) { try store.transaction { _ = try $0.contains(.id(1), in: keyspace) } }
      expectRefused(keyspace) { try store.transaction { _ = try $0.count(in: keyspace, ids: 0...9) } }
      expectRefused(keyspace) { try store.transaction { _ = try $0.entries(in: keyspace, ids: 0...9) } }
    }
    for keyspace in foreign {
      expectRefused(keyspace) { try store.transaction { try $0.put([1], id: 1, in: keyspace) } }
    }
    try expectUntouched()
  }

  @Test("A foreign index is refused for reads, counts and preconditions")
  func indexes() throws {
    let people = foreign[0]
    let foreignIndex = try other.defineIndex(.slices("by age", people, .value(offset: 0, length: 1)))
    let snapshot = store.snapshot()
    let uses: [() throws -> Void] = [
      { try snapshot.forEachEntry(in: foreignIndex) { _, _ in true } },
      { _ = try snapshot.count(in: foreignIndex) },
      { try store.write { $0.require(.indexRangeUnchanged(foreignIndex, .all, since: snapshot)) } },
      { try store.transaction { _ = try $0.indexEntries(in: foreignIndex) } },
      { _ = try store.defineIndex(IndexDefinition(name: "n", source: .groupCounts(of: foreignIndex))) },
    ]
    for use in uses {
      let error = #expect(throws: StoreError.self) { try use() }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message.contains("by age") == true)
    }
    expectRefused(people) {
      _ = try store.defineIndex(.slices("by age", people, .value(offset: 0, length: 1)))
    }
    #expect(try snapshot.count(in: byFirst) == 1)
  }

  @Test("Handles of another store with equal definitions are unequal and refused")
  func twins() throws {
    let memories = try [MemoryStore(), MemoryStore()]
    var stores = try memories.map { try $0.open() }
    for isReopened in [false, true] {
      if isReopened {
        try stores[0].checkpoint()
        for store in stores { try store.close() }
        stores = try memories.map { try $0.open() }
      }
      let films = try stores.map { try $0.keyspace("films", .dense) }
      let indexes = try zip(stores, films).map {
        try $0.defineIndex(.slices("by first", $1, .value(offset: 0, length: 1)))
      }
      #expect(films[0] != films[1] && films[0].id == films[1].id && films[0].name == films[1].name)
      #expect(indexes[0] != indexes[1])
      let snapshot = stores[0].snapshot()
      expectRefused(films[1]) { try stores[0].write { try $0.put([1], id: 1, in: films[1]) } }
      expectRefused(films[1]) { _ = try snapshot.value(id: 1, in: films[1]) }
      #expect(snapshot.count(in: films[1]) == 0)
      let error = #expect(throws: StoreError.self) { _ = try snapshot.count(in: indexes[1]) }
      #expect(error?.code == .invalidArgument)
      #expect(throws: StoreError.self) {
        try stores[0].write { $0.require(.indexRangeUnchanged(indexes[1], .all, since: snapshot)) }
      }
      try stores[0].write { try $0.put([1], id: 1, in: films[0]) }
    }
  }

  @Test("A handle of an earlier opening is valid, and earlier snapshots find its keyspace empty")
  func goodHandles() throws {
    let memory = try MemoryStore()
    let first = try memory.open()
    let early = first.snapshot()
    let rows = try first.keyspace("rows", .dense)
    let index = try first.defineIndex(.slices("by first", rows, .value(offset: 0, length: 1)))
    try first.write { try $0.put([1], id: 1, in: rows) }
    #expect(try early.value(id: 1, in: rows) == nil)
    #expect(try early.count(in: index) == 0)
    try first.checkpoint()
    try first.close()
    let again = try memory.open()
    try again.write { try $0.put([2], id: 2, in: rows) }
    #expect(try again.snapshot().value(id: 1, in: rows) == [1])
    #expect(try again.snapshot().count(in: index) == 2)
    #expect(try again.keyspaces == [rows])
  }

  @Test(
    "No dictionary is trained for a foreign keyspace",
    arguments: [CompressionOptions.Mode.dictionary, .off])
  func dictionaries(_ mode: CompressionOptions.Mode) throws {
    var memory = try MemoryStore()
    memory.options.compression.mode = mode
    let store = try memory.open()
    _ = try store.keyspace("rows", .dense)
    expectRefused(foreign[0]) { _ = try store.trainDictionary(for: foreign[0]) }
    expectRefused(foreign[0]) { _ = try store.dictionaries(of: foreign[0]) }
  }
}
