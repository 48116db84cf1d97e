import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Compressed values")
struct PackedValueTests {
  private func packedCount(_ store: Store) throws -> Int {
    try PackedStore.records(of: store).count { $0.kind == .packed }
  }

  @Test("Repetitive values are packed, and incompressible or short values are stored unchanged")
  func rawWhenItDoesNotPay() throws {
    let store = try PackedStore(.eachValue).open()
    let rows = try store.keyspace("rows", .dense)
    var random = SeededGenerator(seed: 1)
    let noise = (0..<500).map { _ in UInt8.random(in: 0...255, using: &random) }
    let short = [UInt8](repeating: 1, count: 47)
    try store.write { transaction in
      try transaction.put(PackedStore.repetitive(1), id: 1, in: rows)
      try transaction.put(noise, id: 2, in: rows)
      try transaction.put(short, id: 3, in: rows)
      try transaction.put([], id: 4, in: rows)
    }
    #expect(try packedCount(store) == 1)
    let snapshot = store.snapshot()
    #expect(try snapshot.value(id: 1, in: rows) == PackedStore.repetitive(1))
    #expect(try snapshot.value(id: 2, in: rows) == noise)
    #expect(try snapshot.value(id: 3, in: rows) == short)
    #expect(try snapshot.value(id: 4, in: rows) == [])
    let statistics = try store.statistics
    #expect(statistics.compressibleBytesSinceOpen == UInt64(PackedStore.repetitive(1).count + 547))
    #expect(statistics.compressedBytesSinceOpen < 600)
  }

  @Test("A value is packed only if packing makes it at least a twentieth shorter")
  func limit() {
    #expect(ValuePacker.lengthMax(of: 100) == 95)
    #expect(ValuePacker.lengthMax(of: 101) == 95)
    #expect(ValuePacker.lengthMax(of: 120) == 114)
    #expect(ValuePacker.lengthMax(of: 48) == 45)
  }

  @Test("Every kind of read returns unpacked values")
  func everyWayToRead() throws {
    let packed = try PackedStore(.eachValue)
    let store = try packed.open()
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    let ids = Array(1...50 as ClosedRange<UInt64>)
    let key = { (id: UInt64) in withUnsafeBytes(of: id.bigEndian) { Array($0) } }
    try store.write { transaction in
      for id in ids {
        try transaction.put(PackedStore.repetitive(id), id: id, in: rows)
        try transaction.put(PackedStore.repetitive(id), key: key(id), in: names)
      }
    }
    #expect(try packedCount(store) == 100)
    let snapshot = store.snapshot()
    var seen = 0
    func expect(_ bytes: [UInt8]?, _ id: UInt64) {
      #expect(bytes == PackedStore.repetitive(id))
      seen += 1
    }
    let copy = { (span: RawSpan) in span.withUnsafeBytes { Array($0) } }
    for id in ids {
      expect(try snapshot.value(id: id, in: rows), id)
      expect(try snapshot.value(key: key(id), in: names), id)
      try snapshot.withValue(id: id, in: rows) { expect(copy($0), id) }
      expect(try snapshot.record(id: id, in: rows).map { Array($0.bytes) }, id)
    }
    try snapshot.withValues(ids: ids + [99], in: rows) { place, value in
      guard let value else {
        #expect(place == ids.count)
        return
      }
      expect(copy(value), ids[place])
    }
    try snapshot.withValues(keys: ids.map(key), in: names) { place, value in
      guard let value else { return }
      expect(copy(value), ids[place])
    }
    try snapshot.forEach(in: rows, ids: 0 ... .max, descending: true) { id, value in
      expect(copy(value), id)
      return true
    }
    try snapshot.forEach(in: names, range: .all) { stored, value in
      expect(copy(value), stored.withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) })
      return true
    }
    try snapshot.visitBytes(rows, ids: 0 ... .max, descending: false) { id, bytes, _ in
      expect(Array(bytes), id)
      return true
    }
    try snapshot.withRecords(ids: ids, in: rows) { place, record in
      expect(record.map { Array($0.bytes) }, ids[place])
    }
    try ids.withUnsafeBufferPointer {
      try snapshot.forEachShortRecord(ids: $0, in: rows, bytesMax: 4096) { place, bytes, _ in
        expect(Array(bytes), ids[place])
      }
    }
    let sum = try store.transaction { transaction in
      try ids.reduce(0) { try $0 + (transaction.value(id: $1, in: rows)?.count ?? 0) }
    }
    #expect(sum.result == ids.reduce(0) { $0 + PackedStore.repetitive($1).count })
    #expect(seen == 11 * ids.count)
  }

  @Test("Reads can be nested, and bytes that the caller keeps stay valid as long as the snapshot")
  func nested() throws {
    let store = try PackedStore(.eachValue).open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { transaction in
      for id in 1...3 as ClosedRange<UInt64> {
        try transaction.put(PackedStore.repetitive(id), id: id, in: rows)
      }
    }
    let snapshot = store.snapshot()
    let kept = try #require(try snapshot.record(id: 3, in: rows)).bytes
    try snapshot.withValue(id: 1, in: rows) { outer in
      try snapshot.withValue(id: 2, in: rows) { inner in
        #expect(inner.withUnsafeBytes { Array($0) } == PackedStore.repetitive(2))
      }
      #expect(outer.withUnsafeBytes { Array($0) } == PackedStore.repetitive(1))
    }
    #expect(try snapshot.record(id: 3, in: rows)?.bytes.baseAddress == kept.baseAddress)
    #expect(Array(kept) == PackedStore.repetitive(3))
  }

  @Test("Derived indexes use unpacked values when records change, at definition and at opening")
  func derivedIndexes() throws {
    let packed = try PackedStore(.eachValue)
    var store = try packed.open()
    let rows = try store.keyspace("rows", .dense)
    func define(_ name: String) throws -> DerivedIndex {
      try store.defineIndex(
        IndexDefinition(
          name: name,
          source: .records(
            keyspaces: [rows], extractor: SliceExtractor.name,
            parameters: SliceExtractor.parameters([.value(offset: 200, length: 12)])), isUnique: false))
    }
    let first = try define("first")
    for id in 1...30 as ClosedRange<UInt64> {
      try store.write { try $0.put(PackedStore.repetitive(id), id: id, in: rows) }
    }
    try store.write { try $0.put(PackedStore.repetitive(31), id: 5, in: rows) }
    try store.write { try $0.remove(id: 6, in: rows) }
    let second = try define("second")
    func entries(_ index: DerivedIndex) throws -> [[UInt8]: UInt64] {
      var found: [[UInt8]: UInt64] = [:]
      try store.snapshot().forEachEntry(in: index) { key, reference in
        found[key.withUnsafeBytes { Array($0) } + [UInt8(reference)]] = reference
        return true
      }
      return found
    }
    var expected: [[UInt8]: UInt64] = [:]
    for id in 1...30 as ClosedRange<UInt64> where id != 6 {
      let value = PackedStore.repetitive(id == 5 ? 31 : id)
      expected[Array(value[200..<212]) + [UInt8(id)]] = id
    }
    #expect(try entries(first) == expected && entries(second) == expected)
    #expect(try store.verify().isClean)
    try store.checkpoint()
    try store.write { try $0.put(PackedStore.repetitive(7), id: 5, in: rows) }
    expected = expected.filter { $0.value != 5 }
    expected[Array(PackedStore.repetitive(7)[200..<212]) + [5]] = 5
    for removesIndex in [false, true] {
      try store.close()
      for name in try packed.memory.fileSystem.contents(of: PackedStore.path)
      where removesIndex && name.hasSuffix(".index") {
        try packed.memory.fileSystem.remove(PackedStore.path + "/" + name)
      }
      store = try packed.open()
      #expect(try entries(first) == expected && entries(second) == expected)
      #expect(try store.verify().isClean)
    }
  }

  @Test("Packed and unpacked values stay readable after the compression option changes")
  func modesChange() throws {
    var packed = try PackedStore(.eachValue)
    var store = try packed.open()
    var rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put(PackedStore.repetitive(1), id: 1, in: rows) }
    try store.close()
    packed.memory.options.compression = CompressionOptions()
    store = try packed.open()
    rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put(PackedStore.repetitive(2), id: 2, in: rows) }
    #expect(try store.snapshot().value(id: 1, in: rows) == PackedStore.repetitive(1))
    #expect(try packedCount(store) == 1)
    try store.close()
    packed.memory.options.isReadOnly = true
    store = try packed.open()
    #expect(try store.snapshot().value(id: 2, in: rows) == PackedStore.repetitive(2))
  }

  @Test("Compression options can differ by keyspace, and values out of range are rejected")
  func options() throws {
    var packed = try PackedStore(.off)
    packed.memory.options.compression.modes = ["rows": .eachValue]
    let store = try packed.open()
    for (name, count) in [("others", 0), ("rows", 1)] {
      let keyspace = try store.keyspace(name, .dense)
      try store.write { try $0.put(PackedStore.repetitive(1), id: 1, in: keyspace) }
      #expect(try packedCount(store) == count)
    }
    for change in [
      { $0.valueBytesMin = 15 }, { $0.valueBytesMin = 1 << 21 }, { $0.dictionaryBytes = 1023 },
      { $0.dictionaryBytes = 65_536 },
    ] as [(inout CompressionOptions) -> Void] {
      var options = StoreOptions()
      options.fileSystem = InMemoryFileSystem()
      change(&options.compression)
      let error = #expect(throws: StoreError.self) { try Store(at: "/s", options: options) }
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test("Opening with compression sets the feature flag of packed values in the superblock permanently")
  func feature() throws {
    var packed = try PackedStore(.eachValue)
    func features() throws -> UInt64 {
      let file = try packed.memory.fileSystem.open(PackedStore.path + "/SUPERBLOCK", .read)
      return try file.read(Superblock.fileLength, at: 0).withUnsafeBytes {
        try Superblock.newest(in: $0).incompatibleFeatures & FormatVersion.packedValues
      }
    }
    packed.memory.options.compression.mode = .off
    try packed.open().close()
    #expect(try features() == 0)
    packed.memory.options.compression.mode = .eachValue
    var store = try packed.open()
    #expect(try features() == FormatVersion.packedValues)
    try store.close()
    packed.memory.options.compression.mode = .off
    store = try packed.open()
    #expect(try features() == FormatVersion.packedValues)
  }

  @Test("Packed values and dictionaries are readable in segments that compaction has rewritten")
  func compaction() throws {
    let packed = try PackedStore(.dictionary, segmentCapacityBytes: 8192)
    var store = try packed.open()
    var rows = try store.keyspace("rows", .dense)
    for round in 0..<4 as Range<UInt64> {
      try store.write { transaction in
        for id in 0..<200 as Range<UInt64> {
          try transaction.put(PackedStore.value(id + round), id: id, in: rows)
        }
      }
      if round == 0 { #expect(try store.trainDictionary(for: rows)?.number == 1) }
    }
    #expect(try store.compact().segmentsRewritten > 2)
    func check() throws {
      for id in 0..<200 as Range<UInt64> {
        #expect(try store.snapshot().value(id: id, in: rows) == PackedStore.value(id + 3))
      }
      #expect(try store.verify().isClean)
    }
    try check()
    try store.close()
    store = try packed.open()
    rows = try store.keyspace("rows", .dense)
    try check()
  }

  @Test("If a value with a valid checksum cannot be unpacked, only reads of this value fail")
  func hostileBlocks() throws {
    let store = try PackedStore(.eachValue).open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put(PackedStore.repetitive(1), id: 1, in: rows) }
    var random = SeededGenerator(seed: SeededGenerator.seedFromEnvironment())
    let lengths: [UInt32] = [1, 64, 1 << 20, 0, (1 << 21) - 1]
    for id in 2..<300 as Range<UInt64> {
      let head = (lengths.randomElement(using: &random) ?? 1) | UInt32.random(in: 0...3, using: &random) << 21
      let noise = (0..<Int.random(in: 1...90, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      let value = withUnsafeBytes(of: head.littleEndian) { Array($0) } + noise
      var batch = WriteBatch()
      withUnsafeBytes(of: id.littleEndian) { key in
        value.withUnsafeBytes { batch.append(.packed, keyspace: rows.id, key: key, value: $0) }
      }
      _ = try store.engine.append(batch, [])
    }
    let snapshot = store.snapshot()
    var refused = 0
    for id in 2..<300 as Range<UInt64> {
      do { _ = try snapshot.value(id: id, in: rows) } catch let error as StoreError {
        #expect(error.code == .corruption)
        refused += 1
      }
    }
    #expect(refused > 200)
    #expect(try snapshot.value(id: 1, in: rows) == PackedStore.repetitive(1))
    let report = try store.verify()
    #expect(report.findingCount == refused)
    #expect(report.findings.allSatisfy { $0.invariant == .address })
  }
}
