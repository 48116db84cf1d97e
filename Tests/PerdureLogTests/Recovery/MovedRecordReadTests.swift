import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Reads of `KindStore.replaced`, each through its address.
private enum RowRead: CaseIterable {
  case value, batch, scan, descendingScan, partOfScan, reader, record, shortRecord, transaction, entries

  /// Runs the read. Does nothing if the keyspace has keys of another kind, or if the read skips
  /// records of this kind.
  func run(in store: Store, _ rows: Keyspace, _ kind: KindStore.Kind) throws {
    if kind == .byteKeys { return try readBytes(store, rows) }
    let (snapshot, id) = (store.snapshot(), KindStore.replaced)
    switch self {
    case .value: _ = try snapshot.value(id: id, in: rows)
    case .batch: try snapshot.withValues(ids: [id, KindStore.other], in: rows) { _, _ in }
    case .scan: try snapshot.forEach(in: rows) { (_: UInt64, _: RawSpan) in true }
    case .descendingScan: try snapshot.forEach(in: rows, descending: true) { (_: UInt64, _: RawSpan) in true }
    case .partOfScan: try snapshot.visitBytes(rows, ids: id...id, descending: false) { _, _, _ in true }
    case .reader: try snapshot.reader(id: id, in: rows)?.forEachPiece { _ in true }
    case .record: _ = try snapshot.record(id: id, in: rows)
    case .shortRecord:
      try [id].withUnsafeBufferPointer { ids in
        try snapshot.forEachShortRecord(ids: ids, in: rows, bytesMax: 1 << 20) { _, _, _ in }
      }
    case .transaction: _ = try store.transaction { try $0.value(id: id, in: rows) }
    case .entries: _ = try store.transaction { try $0.entries(in: rows, ids: id...id).count }
    }
  }

  private func readBytes(_ store: Store, _ rows: Keyspace) throws {
    let (snapshot, key) = (store.snapshot(), KindStore.name(KindStore.replaced))
    switch self {
    case .value: _ = try snapshot.value(key: key, in: rows)
    case .batch: try snapshot.withValues(keys: [key], in: rows) { _, _ in }
    case .scan: try snapshot.forEach(in: rows, range: .all) { (_: RawSpan, _: RawSpan) in true }
    case .descendingScan:
      try snapshot.forEach(in: rows, range: .all, descending: true) { (_: RawSpan, _: RawSpan) in true }
    case .partOfScan: try snapshot.forEach(in: rows, range: .prefix(key)) { (_: RawSpan, _: RawSpan) in true }
    case .reader: try snapshot.reader(key: key, in: rows)?.forEachPiece { _ in true }
    case .transaction: _ = try store.transaction { try $0.value(key: key, in: rows) }
    case .entries: _ = try store.transaction { try $0.entries(in: rows, range: .prefix(key)).count }
    case .record, .shortRecord: break
    }
  }

  func applies(to kind: KindStore.Kind) -> Bool {
    switch self {
    case .record: kind != .byteKeys
    case .shortRecord: kind == .row || kind == .packed
    default: true
    }
  }
}

@Suite("Reads of a checkpointed record that another key's record has overwritten")
struct MovedRecordReadTests {
  private func expectCorruption(_ what: Comment, _ body: () throws -> Void) {
    let error = #expect(throws: StoreError.self, what, performing: body)
    #expect(error?.code == .corruption, what)
    #expect(error?.place?.hasPrefix("0000000000000001.segment") ?? false, what)
  }

  @Test(
    "Every read of the key throws an error that names the segment, and other keys can be read",
    arguments: KindStore.Kind.allCases, [false, true])
  func resting(_ kind: KindStore.Kind, bindsRecords: Bool) throws {
    let moved = try KindStore(kind, bindsRecords: bindsRecords, hasTail: false)
    try moved.copyOther()
    let store = try moved.open()
    let rows = try moved.rows(of: store)
    for read in RowRead.allCases where read.applies(to: kind) {
      expectCorruption("\(read)") { try read.run(in: store, rows, kind) }
    }
    expectCorruption("index") {
      _ = try store.defineIndex(.slices("first", rows, .value(offset: 0, length: 1), isUnique: false))
    }
    for id in 1...KindStore.count where id != KindStore.replaced {
      #expect(try store.snapshot().value(of: moved.key(id), in: rows) == moved.value(id))
    }
    #expect(try !store.verify().isClean)
  }

  @Test(
    "A compaction does not make the record of another key valid",
    arguments: KindStore.Kind.allCases, [false, true])
  func compaction(_ kind: KindStore.Kind, bindsRecords: Bool) throws {
    let moved = try KindStore(kind, bindsRecords: bindsRecords, hasTail: false)
    try moved.copyOther()
    let store = try moved.open()
    let rows = try moved.rows(of: store)
    for id in 1...5 as ClosedRange<UInt64> {
      try store.write { try $0.set(moved.value(id, 1), of: moved.key(id), in: rows) }
    }
    expectCorruption("compaction") { try store.compact() }
    expectCorruption("value") { try RowRead.value.run(in: store, rows, kind) }
    for id in 1...KindStore.count where id != KindStore.replaced {
      let value = try store.snapshot().value(of: moved.key(id), in: rows)
      #expect(value == moved.value(id, id <= 5 ? 1 : 0))
    }
  }

  @Test(
    "Without the comparison of keys, the same reads return the record of the other key",
    arguments: [KindStore.Kind.row, .byteKeys, .packed])
  func withoutComparison(_ kind: KindStore.Kind) throws {
    let moved = try KindStore(kind, bindsRecords: false, hasTail: false)
    try moved.copyOther()
    let store = try moved.open(comparesReadRecords: false)
    let rows = try moved.rows(of: store)
    for read in RowRead.allCases where read.applies(to: kind) {
      #expect(throws: Never.self, "\(read)") { try read.run(in: store, rows, kind) }
    }
    let value = try store.snapshot().value(of: moved.key(KindStore.replaced), in: rows)
    #expect(value == moved.value(KindStore.other))
  }
}
