import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store with records of one kind. Its tail can replace one of them. The test changes the segment
/// file directly.
struct KindStore {
  enum Kind: CaseIterable {
    case row, blob, blobWithoutIndex, byteKeys, packed
  }

  static let path = "/s.perdure"
  static let count: UInt64 = 20
  /// The key that the tail replaces, and the key whose record is copied.
  static let (replaced, other) = (9, 10) as (UInt64, UInt64)
  let fileSystem = InMemoryFileSystem()
  let kind: Kind
  let bindsRecords: Bool

  /// - Parameter hasTail: Whether `replaced` gets another value after the checkpoint.
  init(_ kind: Kind, bindsRecords: Bool, hasTail: Bool) throws {
    (self.kind, self.bindsRecords) = (kind, bindsRecords)
    let store = try open()
    let rows = try rows(of: store)
    _ = try store.keyspace("others", .dense)
    if kind != .blobWithoutIndex {
      _ = try store.defineIndex(.slices("values", rows, .value(offset: 0, length: 2), isUnique: true))
    }
    for id in 1...Self.count {
      try store.write { try $0.set(value(id), of: key(id), in: rows) }
    }
    try store.checkpoint()
    if hasTail { try store.write { try $0.set(value(Self.replaced, 1), of: key(Self.replaced), in: rows) } }
    try store.close()
  }

  func open(comparesReplacedRecords: Bool = true, comparesReadRecords: Bool = true) throws -> Store {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    options.blobThresholdBytes = 1024
    options.bindsRecords = bindsRecords
    options.comparesReplacedRecords = comparesReplacedRecords
    options.comparesReadRecords = comparesReadRecords
    if kind == .packed { options.compression.mode = .eachValue }
    return try Store(at: Self.path, options: options)
  }

  func rows(of store: Store) throws -> Keyspace {
    try store.keyspace("rows", kind == .byteKeys ? .bytes : .dense)
  }

  func key(_ id: UInt64) -> Key { kind == .byteKeys ? .bytes(Self.name(id)) : .id(id) }

  static func name(_ id: UInt64) -> [UInt8] { Array("name \(1000 + id)".utf8) }

  func value(_ id: UInt64, _ version: UInt8 = 0) -> [UInt8] {
    let length =
      switch kind {
      case .blob, .blobWithoutIndex: 1500
      case .row, .byteKeys: 30
      case .packed: 400
      }
    return [UInt8(id), version] + [UInt8](repeating: 0xA0, count: length)
  }

  private var segment: any File {
    get throws { try fileSystem.open(Self.path + "/" + StoreFileName.segment(1).string, .readWrite) }
  }

  /// The offset and header of a key's first record.
  private func record(of id: UInt64) throws -> (offset: Int, header: RecordHeader) {
    let bytes = try segment.read(Int(segment.size()), at: 0)
    let stored = key(id).bytesInRecord
    let found = try bytes.withUnsafeBytes { bytes in
      let store = try SegmentHeader(reading: bytes).store
      var search = SegmentSearch(bytes, 1, store, end: nil, durableEnd: 0)
      while let piece = search.next() {
        guard case .frame(_, _, let payload) = piece else { continue }
        var records = SealedRecords(in: bytes.part(payload.lowerBound, payload.count))
        while let (record, offset, _) = try records.next() {
          if record.header.keyspace != 0, Array(record.key) == stored {
            return (offset: payload.lowerBound + offset, header: record.header) as (Int, RecordHeader)?
          }
        }
      }
      return nil
    }
    return try #require(found)
  }

  /// Copies the record of `other` over the record that the tail or the next commit replaces.
  func copyOther() throws {
    let (from, to) = (try record(of: Self.other), try record(of: Self.replaced))
    try #require(from.header.kind == to.header.kind && from.header.unpaddedLength == to.header.unpaddedLength)
    try checkKind(from.header)
    let bytes = try segment.read(from.header.unpaddedLength, at: UInt64(from.offset))
    try segment.write(bytes, at: UInt64(to.offset))
  }

  /// Gives the replaced record another keyspace number and a matching checksum.
  func renumber(to number: UInt32) throws {
    let (offset, header) = try record(of: Self.replaced)
    try checkKind(header)
    var bytes = try segment.read(header.unpaddedLength, at: UInt64(offset))
    withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(8..<12, with: $0) }
    let word = RecordAddress(
      segment: 1, offset: offset, recordLength: header.paddedLength, isBlob: header.kind == .blob
    ).rawValue
    let checksum = bytes.withUnsafeBytes { bytes in
      let covered = bytes.part(4, bytes.count - 4)
      return bindsRecords ? Checksum.crc32c(covered, thenWord: word) : Checksum.crc32c(covered)
    }
    withUnsafeBytes(of: checksum.littleEndian) { bytes.replaceSubrange(0..<4, with: $0) }
    try segment.write(bytes, at: UInt64(offset))
  }

  private func checkKind(_ header: RecordHeader) throws {
    switch kind {
    case .blob, .blobWithoutIndex: try #require(header.kind == .blob)
    case .row, .byteKeys: try #require(header.kind == .put)
    case .packed: try #require(header.kind == .packed)
    }
  }

  /// The first wrong result of a read; nil if every value and every entry is right.
  ///
  /// - Throws: The errors of reads.
  func mistake(in store: Store, _ version: UInt8) throws -> String? {
    let (rows, snapshot) = (try rows(of: store), store.snapshot())
    for id in 1...Self.count {
      let expected = value(id, id == Self.replaced ? version : 0)
      if try snapshot.value(of: key(id), in: rows) != expected { return "the value of \(id)" }
    }
    let right = (1...Self.count).map { [UInt8($0), $0 == Self.replaced ? version : 0] }
    for (index, _) in try store.indexes {
      var found: [[UInt8]] = []
      try snapshot.forEachEntry(in: index) { key, _ in
        found.append(key.withUnsafeBytes { Array($0.prefix(2)) })
        return true
      }
      if found != right { return "the entries of \(index.name): \(found)" }
    }
    return nil
  }
}

extension Key {
  fileprivate var bytesInRecord: [UInt8] {
    switch self {
    case .id(let id): withUnsafeBytes(of: id.littleEndian) { Array($0) }
    case .bytes(let bytes): bytes
    }
  }
}

@Suite("Records of every kind copied over other records")
struct MovedRecordKindTests {
  /// Opens the store. Expects right results, or an error that names the segment.
  private func expectRightOrRefused(_ moved: KindStore) throws {
    do {
      let store = try moved.open()
      #expect(try moved.mistake(in: store, 1) == nil)
      // The opening removes files that no record names.
      try store.close()
      let again = try moved.open()
      #expect(try moved.mistake(in: again, 1) == nil)
      let isWhole = try again.verify().findings.allSatisfy {
        $0.description.contains(StoreFileName.segment(1).string)
      }
      #expect(isWhole)
    } catch let error as StoreError {
      #expect(error.code == .corruption && error.place?.hasPrefix("0000000000000001.segment") ?? false)
    }
  }

  @Test("The store without damage opens from its checkpoint", arguments: KindStore.Kind.allCases)
  func undamaged(_ kind: KindStore.Kind) throws {
    let store = try KindStore(kind, bindsRecords: false, hasTail: true)
    let opened = try store.open()
    let report = opened.recoveryReport
    #expect(report.checkpointSequence > 0 && report.checkpointSequence < opened.snapshot().sequence)
    #expect(report.indexRebuild == nil)
    #expect(try store.mistake(in: opened, 1) == nil)
  }

  @Test(
    "If a record is copied over a record that the tail replaced, reads are right or corruption is reported",
    arguments: KindStore.Kind.allCases, [false, true])
  func underTail(_ kind: KindStore.Kind, bindsRecords: Bool) throws {
    let moved = try KindStore(kind, bindsRecords: bindsRecords, hasTail: true)
    try moved.copyOther()
    try expectRightOrRefused(moved)
  }

  @Test(
    "Without the comparison of keys, a copied record makes reads wrong or refused, except for indexed blobs",
    arguments: KindStore.Kind.allCases)
  func withoutComparison(_ kind: KindStore.Kind) throws {
    let moved = try KindStore(kind, bindsRecords: false, hasTail: true)
    try moved.copyOther()
    let store = try moved.open(comparesReplacedRecords: false)
    let isRight: Bool
    do { isRight = try moved.mistake(in: store, 1) == nil } catch { isRight = false }
    // The index of blobs is rebuilt, because the file of the replaced value was removed.
    #expect(!isRight || kind == .blob)
  }

  @Test(
    "If a replaced record has a wrong keyspace number, reads are right or corruption is reported",
    arguments: KindStore.Kind.allCases, [2, 3, 1000, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
  func keyspaceNumber(_ kind: KindStore.Kind, number: UInt32) throws {
    for bindsRecords in [false, true] {
      let moved = try KindStore(kind, bindsRecords: bindsRecords, hasTail: true)
      try moved.renumber(to: number)
      try expectRightOrRefused(moved)
    }
  }

  @Test(
    "A commit that replaces a record of any kind is refused if another record was copied over it",
    arguments: KindStore.Kind.allCases, [false, true])
  func liveCommit(_ kind: KindStore.Kind, bindsRecords: Bool) throws {
    let moved = try KindStore(kind, bindsRecords: bindsRecords, hasTail: false)
    try moved.copyOther()
    let store = try moved.open()
    let rows = try moved.rows(of: store)
    for value in [moved.value(KindStore.replaced, 1), nil] {
      let error = #expect(throws: StoreError.self) {
        try store.write { try $0.set(value, of: moved.key(KindStore.replaced), in: rows) }
      }
      #expect(error?.code == .corruption)
      #expect(error?.place?.hasPrefix("0000000000000001.segment") ?? false)
    }
    // The record that was copied keeps its value, its entries and its file.
    let kept = try store.snapshot().value(of: moved.key(KindStore.other), in: rows)
    #expect(kept == moved.value(KindStore.other))
  }
}
