import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

/// Makes entries from the first byte of a value. After `isChanged` is set, makes them from the
/// second byte.
private final class ChangingSlices: IndexExtractorFactory {
  let isChanged = Atomic(false)

  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    Extractor(factory: self)
  }

  private struct Extractor: IndexExtractor {
    let factory: ChangingSlices

    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      let offset = factory.isChanged.load(ordering: .relaxed) ? 1 : 0
      entries.add(key: [value[offset]], reference: key.loadUnaligned(as: UInt64.self))
    }
  }
}

@Suite("A commit that replaces a record whose index entry is missing")
struct IndexMisfitTests {
  private let slices = ChangingSlices()
  private let memory: CheckpointedStore

  init() {
    var memory = CheckpointedStore()
    memory.options.bindsRecords = false
    memory.options.indexExtractors = ["changing": slices]
    self.memory = memory
  }

  private func changing(_ rows: Keyspace) -> IndexDefinition {
    IndexDefinition(
      name: "changing",
      source: .records(keyspaces: [rows], extractor: "changing", parameters: []))
  }

  private func expectUnavailable(_ index: DerivedIndex, _ snapshot: Snapshot) {
    let error = #expect(throws: StoreError.self) { try snapshot.count(in: index) }
    #expect(error?.code == .indexUnavailable)
    #expect(error?.message.contains("lacks 1 entry of replaced records") == true)
  }

  @Test("The commit succeeds, and the indexes of the keyspace are unavailable until they are rebuilt")
  func changedExtractor() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let others = try store.keyspace("others", .dense)
    try store.write { transaction in
      for id in 1...3 {
        try transaction.put([UInt8(id), UInt8(10 + id)], id: UInt64(id), in: rows)
        try transaction.put([UInt8(id)], id: UInt64(id), in: others)
      }
    }
    let index = try store.defineIndex(changing(rows))
    let second = try store.defineIndex(.slices("second", rows, .value(offset: 1, length: 1)))
    let counts = try store.defineIndex(
      IndexDefinition(name: "counts", source: .groupCounts(of: index)))
    let other = try store.defineIndex(.slices("other", others, .value(offset: 0, length: 1)))
    slices.isChanged.store(true, ordering: .relaxed)
    try store.write { try $0.put([9, 19], id: 2, in: rows) }
    let snapshot = store.snapshot()
    #expect(try snapshot.value(id: 2, in: rows) == [9, 19])
    for wrong in [index, second, counts] { expectUnavailable(wrong, snapshot) }
    #expect(try snapshot.count(in: other) == 3)
    try store.close()

    let again = try memory.open()
    #expect(try again.snapshot().count(in: index) == 3)
    #expect(try again.snapshot().count(in: second) == 3)
    #expect(try again.verify().findings.map(\.description) == [])
  }

  @Test("While a unique index is unavailable, commits that put records are refused, and removals succeed")
  func unique() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let others = try store.keyspace("others", .dense)
    try store.write { transaction in
      for id in 1...3 { try transaction.put([UInt8(id), UInt8(10 + id)], id: UInt64(id), in: rows) }
    }
    var definition = changing(rows)
    definition.isUnique = true
    let index = try store.defineIndex(definition)
    slices.isChanged.store(true, ordering: .relaxed)
    // A second commit with the key 11 is a duplicate, but the index has no entry that shows this.
    for id in [2, 4] as [UInt64] {
      let error = #expect(throws: StoreError.self) {
        try store.write { try $0.put([9, 11], id: id, in: rows) }
      }
      #expect(error?.code == .indexUnavailable)
      #expect(error?.message.contains("Unique index changing") == true)
      expectUnavailable(index, store.snapshot())
    }
    #expect(try store.snapshot().value(id: 2, in: rows) == [2, 12])
    try store.write { try $0.put([1], id: 1, in: others) }
    try store.write { try $0.remove(id: 3, in: rows) }
    // After its rebuild, the index refuses duplicates.
    #expect(try store.defineIndex(definition) == index)
    let error = #expect(throws: StoreError.self) {
      try store.write { try $0.put([9, 11], id: 2, in: rows) }
    }
    #expect(error?.code == .conflict)
    try store.write { try $0.put([9, 19], id: 2, in: rows) }
    try store.close()

    let again = try memory.open()
    #expect(try again.snapshot().count(in: index) == 2)
    #expect(try again.verify().findings.map(\.description) == [])
  }

  @Test(
    "Without bound checksums, an index entry that belongs to another version of its record gives no wrong result"
  )
  func exchangedVersion() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let index = try store.defineIndex(.slices("names", rows, .value(offset: 0, length: 4)))
    let (older, newer) = (Array("old!".utf8), Array("new!".utf8))
    for value in [older, newer] { try store.write { try $0.put(value, id: 1, in: rows) } }
    try store.close()
    try copyRecord(of: older, overThatOf: newer)

    let damaged = try memory.open()
    #expect(damaged.recoveryReport.checkpointSequence > 0)
    #expect(try damaged.snapshot().count(in: index) == 1)
    try damaged.write { try $0.put(Array("last".utf8), id: 1, in: rows) }
    expectUnavailable(index, damaged.snapshot())
    try damaged.close()

    let again = try memory.open()
    #expect(try again.snapshot().count(in: index) == 1)
    let found = try again.snapshot().count(in: index, range: .prefix(Array("last".utf8)))
    #expect(found == 1)
  }

  /// Copies one record of the first segment over another record of the same length.
  private func copyRecord(of source: [UInt8], overThatOf target: [UInt8]) throws {
    let name = StoreFileName.segment(1).string
    let bytes = try memory.bytes(name)
    func place(_ value: [UInt8]) throws -> Int {
      let places = (0..<(bytes.count - 4)).filter { Array(bytes[$0..<($0 + 4)]) == value }
      return try #require(places.first) - RecordHeader.length - 8
    }
    let (from, to) = (try place(source), try place(target))
    let length = RecordHeader(kind: .put, keyspace: 1, keyLength: 8, valueLength: 4).paddedLength
    let file = try memory.fileSystem.open(CheckpointedStore.path + "/" + name, .readWrite)
    try file.write(Array(bytes[from..<(from + length)]), at: UInt64(to))
    try file.close()
  }
}
