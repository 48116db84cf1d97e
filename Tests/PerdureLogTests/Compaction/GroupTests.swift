import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Records in groups")
struct GroupTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("Every kind of read returns grouped records unchanged, even after reopening and rewriting")
  func roundTrip() throws {
    let grouped = try GroupedStore()
    var store = try grouped.open()
    try GroupedStore.fill(store, 0..<3000)
    let names = try store.keyspace("names", .bytes)
    try store.write { transaction in
      for id in 0..<300 as Range<UInt64> {
        try transaction.put(PackedStore.value(id, kind: 1), key: Array("\(id)".utf8), in: names)
      }
    }
    try GroupedStore.group(store)
    let statistics = try store.statistics
    #expect(statistics.groupedSegments >= 2 && statistics.groupedBytesSaved > 200_000)
    for round in 0..<3 {
      try GroupedStore.check(store.snapshot(), store, 0..<3000)
      let keys = (0..<300).map { Array("\($0)".utf8) }
      try store.snapshot().withValues(keys: keys, in: names) { position, value in
        guard let value else {
          Issue.record("key \(position) is missing")
          return
        }
        #expect(value.withUnsafeBytes { Array($0) } == PackedStore.value(UInt64(position), kind: 1))
      }
      try store.snapshot().forEach(in: names) { key, value in
        let id = try #require(UInt64(String(decoding: key.withUnsafeBytes { Array($0) }, as: UTF8.self)))
        #expect(value.withUnsafeBytes { Array($0) } == PackedStore.value(id, kind: 1))
        return true
      }
      #expect(try store.verify().findings.map(\.description) == [])
      #expect(try store.usage == store.countedUsage())
      if round == 0 {
        try store.close()
        store = try grouped.open()
        #expect(try store.statistics.groupedSegments == statistics.groupedSegments)
      } else {
        let rows = try store.keyspace("rows", .dense)
        for id in stride(from: UInt64(round), to: 3000, by: 3) {
          try store.write(durability: .relaxed) { try $0.put(PackedStore.value(id), id: id, in: rows) }
        }
        #expect(try store.compact().segmentsGrouped >= 2)
      }
    }
  }

  @Test("Grouping shrinks small similar values by a factor of at least 1.8")
  func ratio() throws {
    let grouped = try GroupedStore(
      segmentCapacityBytes: 1 << 20, groupLength: FormatLimits.groupLengthTarget)
    let store = try grouped.open()
    var random = SeededGenerator(seed: seed)
    var values: [UInt64: [UInt8]] = [:]
    let words = (0..<400).map { _ in
      String(
        (0..<Int.random(in: 3...9, using: &random)).map { _ in
          "abcdefghijklmnopqrst".randomElement(using: &random) ?? "a"
        })
    }
    func word() -> String {
      // A few words occur often.
      words[Int.random(in: 0...Int.random(in: 0..<words.count, using: &random), using: &random)]
    }
    for id in 0..<8000 as Range<UInt64> {
      let text = (0..<Int.random(in: 6...16, using: &random)).map { _ in word() }.joined(separator: " ")
      values[id] = Array(
        "{\"id\":\(id),\"kind\":\"note\",\"author\":\"\(word())\",\"stars\":\(id % 97),\"title\":\"\(word())\",\"text\":\"\(text)\"}"
          .utf8)
    }
    try GroupedStore.fill(store, 0..<8000, garbageBytes: 0) { values[$0] ?? [] }
    let before = try grouped.bytes(ofSegment: 1).count
    try store.compact()
    let after = try grouped.bytes(ofSegment: 1).count
    print("ratio of groups: \(Double(before) / Double(after)), PERDURE_SEED=\(seed)")
    #expect(Double(before) >= 1.8 * Double(after))
    try GroupedStore.check(store.snapshot(), store, 0..<8000) { values[$0] }
  }

  @Test("A snapshot that is held while records are grouped keeps its state")
  func heldSnapshot() throws {
    let grouped = try GroupedStore()
    let store = try grouped.open()
    try GroupedStore.fill(store, 0..<1500)
    let first = store.snapshot()
    try GroupedStore.fill(store, 0..<500) { PackedStore.value($0, kind: 1) }
    try GroupedStore.group(store)
    let second = store.snapshot()
    try GroupedStore.fill(store, 500..<1000) { PackedStore.value($0, kind: 1) }
    try GroupedStore.group(store)
    #expect(try store.statistics.groupedSegments >= 1)
    try GroupedStore.check(first, store, 0..<1500)
    try GroupedStore.check(second, store, 0..<1500) { PackedStore.value($0, kind: $0 < 500 ? 1 : 0) }
    try GroupedStore.check(store.snapshot(), store, 0..<1500) {
      PackedStore.value($0, kind: $0 < 1000 ? 1 : 0)
    }
  }

  @Test("Without the option no segment is grouped, and grouped segments stay grouped")
  func option() throws {
    var grouped = try GroupedStore()
    var store = try grouped.open()
    try GroupedStore.fill(store, 0..<1000)
    try GroupedStore.group(store)
    let before = try store.groupedSegments()
    #expect(!before.isEmpty)
    try store.close()
    grouped.memory.options.compression = CompressionOptions()
    store = try grouped.open()
    try GroupedStore.fill(store, 1000..<2000)
    let rows = try store.keyspace("rows", .dense)
    try store.write { for id in 0..<500 as Range<UInt64> { try $0.remove(id: id, in: rows) } }
    try GroupedStore.group(store)
    #expect(try store.groupedSegments() == before)
    try GroupedStore.check(store.snapshot(), store, 0..<2000) { $0 < 500 ? nil : PackedStore.value($0) }
    #expect(try store.verify().isClean)
  }

  @Test("Segments of incompressible records are rewritten only for garbage, into uncompressed groups")
  func noise() throws {
    let grouped = try GroupedStore(segmentCapacityBytes: 64 << 10)
    let store = try grouped.open()
    func noise(_ id: UInt64) -> [UInt8] {
      var random = SeededGenerator(seed: id)
      return (0..<400).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    try GroupedStore.fill(store, 0..<1000, garbageBytes: 0, noise)
    #expect(try store.compact().segmentsRewritten == 0)
    #expect(try store.compact().segmentsRewritten == 0)
    let rows = try store.keyspace("rows", .dense)
    try store.write { for id in 0..<50 as Range<UInt64> { try $0.remove(id: id, in: rows) } }
    try store.compact()
    #expect(try store.groupedSegments() == [1])
    let groups = try grouped.bytes(ofSegment: 1).withUnsafeBytes { GroupTable.search(in: $0) }
    #expect(groups.count > 5)
    for group in groups {
      #expect(group.isPlain, "\(group.unpackedLength) bytes are stored in \(group.storedLength)")
    }
    try GroupedStore.check(store.snapshot(), store, 0..<1000) { $0 < 50 ? nil : noise($0) }
    #expect(try store.verify().isClean)
  }

  @Test("Values longer than a group, empty values and packed values can be grouped")
  func lengths() throws {
    var grouped = try GroupedStore()
    grouped.memory.options.blobThresholdBytes = 1 << 20
    grouped.memory.options.compression.modes = ["packed": .eachValue]
    let store = try grouped.open()
    func value(_ id: UInt64) -> [UInt8] {
      switch id % 5 {
      case 0: []
      case 1: Array(repeating: UInt8(truncatingIfNeeded: id), count: 5000)
      case 2: Array(Array(repeating: PackedStore.value(id), count: id == 42 ? 9000 : 60).joined())
      default: PackedStore.value(id)
      }
    }
    try GroupedStore.fill(store, 0..<400, value)
    let packed = try store.keyspace("packed", .dense)
    try store.write { transaction in
      for id in 0..<200 as Range<UInt64> {
        try transaction.put(PackedStore.repetitive(id), id: id, in: packed)
      }
    }
    try GroupedStore.group(store)
    #expect(try store.statistics.groupedSegments > 0)
    try GroupedStore.check(store.snapshot(), store, 0..<400, value)
    let snapshot = store.snapshot()
    for id in 0..<200 as Range<UInt64> {
      #expect(try snapshot.value(id: id, in: packed) == PackedStore.repetitive(id))
      let reader = try snapshot.reader(id: id, in: try store.keyspace("rows", .dense))
      #expect(try reader?.bytes(in: 0..<(reader?.count ?? 0)) == value(id))
    }
    #expect(try PackedStore.records(of: store).contains { $0.kind == .packed })
    #expect(try store.verify().isClean)
  }

  @Test("The first grouped segment sets the feature flag in the superblock permanently")
  func feature() throws {
    let fileSystem = SimulatedFileSystem()
    var grouped = try GroupedStore()
    grouped.memory.options.fileSystem = fileSystem
    let store = try grouped.open()
    func features() throws -> UInt64 {
      try fileSystem.open(GroupedStore.path + "/SUPERBLOCK", .read).read(Superblock.fileLength, at: 0)
        .withUnsafeBytes { try Superblock.newest(in: $0).incompatibleFeatures }
    }
    try GroupedStore.fill(store, 0..<1000)
    #expect(try features() & FormatVersion.groupedSegments == 0)
    try GroupedStore.group(store)
    #expect(try !store.groupedSegments().isEmpty)
    #expect(try features() & FormatVersion.groupedSegments != 0)
    try store.close()
    grouped.memory.options.compression = CompressionOptions()
    try Store(at: GroupedStore.path, options: grouped.memory.options).close()
    #expect(try features() & FormatVersion.groupedSegments != 0)
  }

  @Test("A record in a group keeps its commit number")
  func commitNumbers() throws {
    let grouped = try GroupedStore(segmentCapacityBytes: 32 << 10)
    let store = try grouped.open()
    let rows = try store.keyspace("rows", .dense)
    var sequences: [UInt64: UInt64] = [:]
    for id in 0..<800 as Range<UInt64> {
      sequences[id] = try store.write(durability: .relaxed) {
        try $0.put(PackedStore.value(id), id: id, in: rows)
      }
      .sequence
    }
    try GroupedStore.group(store)
    #expect(try !store.groupedSegments().isEmpty)
    let snapshot = store.snapshot()
    var numbers = CommitNumbers(snapshot)
    for id in 0..<800 as Range<UInt64> {
      let version = try #require(try snapshot.version(.id(id), in: rows))
      #expect(numbers.sequence(of: version) == sequences[id])
    }
  }

  @Test("Rewritten segments are cold, and so are the oldest three quarters of the segments")
  func policy() {
    func cold(_ count: Int) -> [Int] {
      (0..<count).filter { ColdSegments.isCold(generation: 0, place: $0, of: count) }
    }
    #expect(cold(0) == [] && cold(1) == [] && cold(2) == [0] && cold(4) == [0, 1, 2])
    #expect(cold(16) == Array(0..<12))
    #expect(ColdSegments.isCold(generation: 1, place: 0, of: 1))
    #expect(ColdSegments.expectedLength(length: 1100, frames: 1000, storedNow: 30, framesNow: 60) == 600)
    #expect(ColdSegments.expectedLength(length: 100, frames: 0, storedNow: 30, framesNow: 0) == 100)
  }

  @Test("Manual compaction also groups old segments without garbage; background compaction does not")
  func byHand() throws {
    let grouped = try GroupedStore(segmentCapacityBytes: 16 << 10)
    let store = try grouped.open()
    try GroupedStore.fill(store, 0..<2000, garbageBytes: 0)
    #expect(try store.engine.compact(CompactionLimits()).segmentsRewritten == 0)
    let sealed = try store.statistics.segments - 1
    let report = try store.compact()
    let wanted = (0..<sealed).filter { ColdSegments.isCold(generation: 0, place: $0, of: sealed) }
    #expect(try store.groupedSegments() == wanted.map { UInt64($0 + 1) })
    #expect(report.segmentsGrouped == wanted.count && report.recordsDropped == 0)
    #expect(try store.compact().segmentsRewritten == 0)
    let rows = try store.keyspace("rows", .dense)
    // The rows of a young segment. The test removes half of them, in two steps.
    let young = try (0..<2000 as Range<UInt64>).filter { id in
      let version = try #require(try store.snapshot().version(.id(id), in: rows))
      return RecordAddress(rawValue: version.rawValue).segment == UInt64(sealed - 1)
    }
    #expect(!young.isEmpty)
    for part in [0, 1] as [UInt64] {
      try store.write { for id in young where id % 4 == part { try $0.remove(id: id, in: rows) } }
      _ = try store.engine.compact(CompactionLimits())
      #expect(try store.groupedSegments().contains(UInt64(sealed - 1)) == (part == 1))
    }
    try GroupedStore.check(store.snapshot(), store, 0..<2000) {
      young.contains($0) && $0 % 4 < 2 ? nil : PackedStore.value($0)
    }
    #expect(try store.verify().isClean)
  }
}
