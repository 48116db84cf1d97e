import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store with records of 64 bytes. The tests change its segment file directly.
private struct MovableStore {
  static let path = "/s.perdure"
  let fileSystem = InMemoryFileSystem()
  var bindsRecords = true

  func open(readOnly: Bool = false) throws -> Store {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.isReadOnly = readOnly
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    options.bindsRecords = bindsRecords
    return try Store(at: Self.path, options: options)
  }

  static func value(_ number: UInt8, _ version: UInt8 = 0) -> [UInt8] {
    [number, version] + [UInt8](repeating: 0xA0, count: 38)
  }

  /// Puts ids 1 to 20, defines an index of their values, and writes a checkpoint. Then changes the
  /// ids in `tail`.
  init(bindsRecords: Bool, tail: [UInt64] = []) throws {
    self.bindsRecords = bindsRecords
    let store = try open()
    let rows = try store.keyspace("rows", .dense)
    _ = try store.keyspace("others", .dense)
    _ = try store.defineIndex(.slices("values", rows, .value(offset: 0, length: 2), isUnique: true))
    for id in 1...20 as ClosedRange<UInt64> {
      try store.write { try $0.put(Self.value(UInt8(id)), id: id, in: rows) }
    }
    try store.checkpoint()
    for id in tail { try store.write { try $0.put(Self.value(UInt8(id), 1), id: id, in: rows) } }
    try store.close()
  }

  var segment: any File {
    get throws { try fileSystem.open(Self.path + "/" + StoreFileName.segment(1).string, .readWrite) }
  }

  /// The offset of the record with this value.
  func place(of value: [UInt8]) throws -> Int {
    let bytes = try segment.read(Int(segment.size()), at: 0)
    let found = (0...(bytes.count - value.count)).first { bytes[$0...].starts(with: value) }
    return try #require(found) - RecordHeader.length - 8
  }

  /// Copies the record of a value over the record of another value.
  func copy(_ from: [UInt8], over to: [UInt8]) throws {
    let bytes = try segment.read(64, at: UInt64(place(of: from)))
    try segment.write(bytes, at: UInt64(place(of: to)))
  }

  /// Changes the record of a value and corrects its checksum.
  func change(_ value: [UInt8], _ body: (inout [UInt8]) -> Void) throws {
    let place = try place(of: value)
    var bytes = try segment.read(64, at: UInt64(place))
    body(&bytes)
    let word = RecordAddress(segment: 1, offset: place, recordLength: 64, isBlob: bytes[4] == 3).rawValue
    let checksum = bytes.withUnsafeBytes { bytes in
      bindsRecords
        ? Checksum.crc32c(bytes.part(4, 60), thenWord: word) : Checksum.crc32c(bytes.part(4, 60))
    }
    withUnsafeBytes(of: checksum.littleEndian) { bytes.replaceSubrange(0..<4, with: $0) }
    try segment.write(bytes, at: UInt64(place))
  }

  /// Whether the index has entries of all rows and of nothing else, and each entry matches the
  /// value that readers find.
  func indexFits(_ store: Store) throws -> Bool {
    let rows = try store.keyspace("rows", .dense)
    var entries: [UInt64: [UInt8]] = [:]
    for (index, _) in try store.indexes {
      try store.snapshot().forEachEntry(in: index) { key, reference in
        entries[reference] = key.withUnsafeBytes { Array($0.prefix(2)) }
        return true
      }
    }
    var values: [UInt64: [UInt8]] = [:]
    try store.snapshot().forEach(in: rows) { id, value in
      values[id] = value.withUnsafeBytes { Array($0.prefix(2)) }
      return true
    }
    return entries == values
  }
}

@Suite("Records copied over other records")
struct MovedRecordTests {
  @Test(
    "A record copied over a record that the tail replaces is detected or harmless",
    arguments: [false, true], [false, true])
  func underTail(bindsRecords: Bool, readOnly: Bool) throws {
    let moved = try MovableStore(bindsRecords: bindsRecords, tail: [9])
    try moved.copy(MovableStore.value(10), over: MovableStore.value(9))
    do {
      let store = try moved.open(readOnly: readOnly)
      #expect(try moved.indexFits(store))
    } catch let error as StoreError {
      #expect(error.code == .corruption && error.place?.hasPrefix("0000000000000001.segment") ?? false)
    }
  }

  @Test(
    "A commit that replaces an overwritten record is refused, and the error names the segment",
    arguments: [false, true])
  func liveCommit(bindsRecords: Bool) throws {
    let moved = try MovableStore(bindsRecords: bindsRecords)
    try moved.copy(MovableStore.value(10), over: MovableStore.value(9))
    let store = try moved.open()
    let rows = try store.keyspace("rows", .dense)
    for change in [MovableStore.value(9, 1), nil] {
      let error = try #require(throws: StoreError.self) {
        try store.write { transaction in
          if let change {
            try transaction.put(change, id: 9, in: rows)
          } else {
            try transaction.remove(id: 9, in: rows)
          }
        }
      }
      #expect(error.code == .corruption && error.place?.hasPrefix("0000000000000001.segment") ?? false)
    }
    // The store is still usable, and the unique key still exists.
    try store.write { try $0.put(MovableStore.value(30), id: 30, in: rows) }
    let conflict = try #require(throws: StoreError.self) {
      try store.write { try $0.put(MovableStore.value(9), id: 31, in: rows) }
    }
    #expect(conflict.code == .conflict)
  }

  @Test(
    "A replaced record with a wrong or undefined keyspace number does not cause a crash",
    arguments: [false, true], [2, 3, 1000, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
  func keyspaceNumber(bindsRecords: Bool, number: UInt32) throws {
    let moved = try MovableStore(bindsRecords: bindsRecords, tail: [9])
    try moved.change(MovableStore.value(9)) { bytes in
      withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(8..<12, with: $0) }
    }
    do {
      let store = try moved.open()
      #expect(try moved.indexFits(store))
    } catch let error as StoreError {
      #expect(error.code == .corruption && error.place?.hasPrefix("0000000000000001.segment") ?? false)
    }
  }

  @Test("If records are bound, an older version copied over a newer one is detected")
  func olderVersion() throws {
    for bindsRecords in [true, false] {
      let moved = try MovableStore(bindsRecords: bindsRecords)
      let (old, new) = (MovableStore.value(9), MovableStore.value(9, 1))
      do {
        let store = try moved.open()
        let rows = try store.keyspace("rows", .dense)
        try store.write { try $0.put(new, id: 9, in: rows) }
        try store.checkpoint()
        try store.close()
      }
      try moved.copy(old, over: new)
      let store = try moved.open()
      let rows = try store.keyspace("rows", .dense)
      if bindsRecords {
        let error = try #require(throws: StoreError.self) {
          _ = try store.snapshot().value(id: 9, in: rows)
        }
        #expect(error.code == .corruption)
      } else {
        // FORMAT.md, "Record": a checksum that covers only the record cannot detect this.
        #expect(try store.snapshot().value(id: 9, in: rows) == old)
      }
      #expect(try !store.verify().isClean)
    }
  }

  @Test("A store of an earlier version can be written, and its new segments bind their records")
  func upgrade() throws {
    var moved = try MovableStore(bindsRecords: false, tail: [3, 4])
    func features() throws -> UInt64 {
      let file = try moved.fileSystem.open(MovableStore.path + "/SUPERBLOCK", .read)
      return try file.read(Superblock.fileLength, at: 0)
        .withUnsafeBytes { try Superblock.newest(in: $0).incompatibleFeatures }
    }
    #expect(try features() & FormatVersion.boundRecords == 0)
    moved.bindsRecords = true
    do {
      let store = try moved.open()
      #expect(try features() & FormatVersion.boundRecords != 0)
      let rows = try store.keyspace("rows", .dense)
      try store.write { try $0.put(MovableStore.value(30), id: 30, in: rows) }
      try store.compact()
      try store.write { try $0.put(MovableStore.value(31), id: 31, in: rows) }
      let binds = try store.engine.readingState { state in
        state.segments.segments.values.sorted { $0.number < $1.number }.map(\.header.bindsRecords)
      }
      #expect(binds.count > 1 && binds.first == false && binds.last == true)
      #expect(try store.verify().findings.map(\.description) == [])
      try store.close()
    }
    let again = try moved.open()
    #expect(try moved.indexFits(again))
    #expect(try again.verify().isClean)
  }

  @Test(
    "Bound records stay valid after compaction, and salvage restores all of them")
  func compaction() throws {
    let moved = try MovableStore(bindsRecords: true)
    do {
      let store = try moved.open()
      let rows = try store.keyspace("rows", .dense)
      for id in stride(from: 1, through: 20, by: 2) as StrideThrough<UInt64> {
        try store.write { try $0.put(MovableStore.value(UInt8(id), 2), id: id, in: rows) }
      }
      try store.compact()
      #expect(try store.verify().isClean)
      try store.close()
    }
    for damagesMap in [false, true] {
      if damagesMap {
        let size = Int(try moved.segment.size())
        let footer = try moved.segment.read(64, at: UInt64(size - 64))
        let lines: UInt32 = footer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 48, as: UInt32.self) }
        let map = UInt64(size - 64 - 8 - 64 * Int(lines))
        try moved.segment.write([0x55], at: map + 9)
      }
      let target = "/salvaged\(damagesMap)"
      var options = StoreOptions()
      options.fileSystem = moved.fileSystem
      _ = try Store.salvage(from: MovableStore.path, to: target, options: options)
      let store = try Store(at: target, options: options)
      let rows = try store.keyspace("rows", .dense)
      for id in 1...20 as ClosedRange<UInt64> {
        let version: UInt8 = id % 2 == 1 ? 2 : 0
        #expect(try store.snapshot().value(id: id, in: rows) == MovableStore.value(UInt8(id), version))
      }
      try store.close()
    }
  }
}
