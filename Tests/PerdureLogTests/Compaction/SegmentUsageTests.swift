import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

extension Store {
  /// The counts that the committer keeps.
  var usage: SegmentUsageTable { get throws { try engine.readingState { $0.usage } } }

  /// The counts computed again: live records from the index, and all other counts from the frames.
  func countedUsage() throws -> SegmentUsageTable {
    try engine.readingState { state in
      var table = SegmentUsageTable()
      for keyspace in state.catalog.keyspaces {
        IndexBuild.visitRecords(of: keyspace, state.root) { word, _ in
          let address = RecordAddress(rawValue: word)
          table[address.segment].liveBytes += UInt64(address.recordLengthMax)
        }
      }
      for (number, segment) in state.segments.segments {
        let end =
          number == state.end.segment ? Int(state.end.offset) : state.segments.entries[Int(number)].end
        try FrameCount.count(segment, upTo: end, into: &table[number])
      }
      return table
    }
  }
}

/// Reads the frames of a segment one after another, without the engine's own scan.
private enum FrameCount {
  static func count(_ segment: Segment, upTo end: Int, into usage: inout SegmentUsage) throws {
    usage.generation = segment.header.generation
    var body = segment.body(upTo: end)
    let end = body.end
    var offset = SegmentHeader.length
    while offset < end {
      let header = try FrameHeader(
        reading: body.bytes(offset..<(offset + FrameHeader.length)), store: segment.header.store,
        position: LogPosition(segment: segment.number, offset: UInt64(offset)))
      let start = offset + FrameHeader.length
      let payload = try body.bytes(start..<(start + Int(header.payloadLength)))
      var records = SealedRecords(in: payload)
      while let record = try records.next()?.record {
        let length = record.header.paddedLength
        let sizeClass = RecordAddress.sizeClass(of: length)
        let bytes = UInt64(sizeClass % 2 == 0 ? 32 << (sizeClass / 2) : 24 << ((sizeClass + 1) / 2))
        usage.totalBytes += bytes
        if record.header.kind == .tombstone { usage.tombstoneBytes += bytes }
      }
      offset += FrameHeader.length + Int(header.payloadLength)
    }
  }
}

@Suite("Counts of live records in each segment")
struct SegmentUsageTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("The counts are right after commits, after refused commits, and after reopening")
  func exact() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let memory = try MemoryStore(segmentCapacityBytes: 4096)
    var store: Store? = try memory.open()
    for step in 0..<300 {
      try change(store!, &random)
      if step % 10 == 0 { #expect(try store!.usage == store!.countedUsage(), "step \(step)") }
      guard Int.random(in: 0..<50, using: &random) == 0 else { continue }
      let before = try store!.usage
      if Bool.random(using: &random) { try store!.close() }
      store = nil
      store = try memory.open()
      #expect(try store!.usage == before, "opened at step \(step)")
    }
    #expect(try store!.usage == store!.countedUsage())
  }

  private func change(_ store: Store, _ random: inout SeededGenerator) throws {
    let rows = try store.keyspace("rows", .dense)
    let names = try store.keyspace("names", .bytes)
    let refuses = Int.random(in: 0..<4, using: &random) == 0
    var generator = random
    random = random.derived(1)
    do {
      try store.write(durability: .relaxed) { transaction in
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
          let id = UInt64.random(in: 1...20, using: &generator)
          let length = [10, 200, 900, 5000].randomElement(using: &generator) ?? 0
          switch Int.random(in: 0..<4, using: &generator) {
          case 0: try transaction.remove(id: id, in: rows)
          case 1: try transaction.remove(key: [UInt8(id)], in: names)
          case 2: try transaction.put([UInt8](repeating: 1, count: length), id: id, in: rows)
          default: try transaction.put([UInt8](repeating: 2, count: length), key: [UInt8(id)], in: names)
          }
        }
        if refuses { transaction.require(.exists(rows, .id(999))) }
      }
    } catch let error as StoreError where error.code == .conflict {
      #expect(refuses)
    }
  }

  @Test("A commit that a unique index refuses does not change the counts")
  func refusedByAnIndex() throws {
    let store = try MemoryStore().open()
    let rows = try store.keyspace("rows", .dense)
    _ = try store.defineIndex(.slices("unique", rows, .value(offset: 0, length: 1), isUnique: true))
    try store.write { try $0.put([1], id: 1, in: rows) }
    let before = try store.usage
    #expect(throws: StoreError.self) {
      try store.write { transaction in
        try transaction.put([2], id: 1, in: rows)
        try transaction.put([3], id: 2, in: rows)
        try transaction.put([3], id: 3, in: rows)
      }
    }
    #expect(try store.usage == before)
    try store.write { try $0.put([4], id: 1, in: rows) }
    #expect(try store.usage == store.countedUsage())
  }

  @Test("A commit whose write fails does not change the counts")
  func failedWrite() throws {
    let fileSystem = SimulatedFileSystem()
    var options = StoreOptions()
    options.fileSystem = fileSystem
    let store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 1, in: rows) }
    let before = try store.usage
    fileSystem.inject(InjectedFailure(of: .write, code: .noSpace))
    #expect(throws: StoreError.self) { try store.write { try $0.put([2], id: 1, in: rows) } }
    #expect(try store.usage == before)
  }

  @Test("Encoded counts decode to equal counts, and no bytes make the decoder trap")
  func coding() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    var table = SegmentUsageTable()
    for number in [1, 2, 7, 64, 1000] as [UInt64] {
      let live = UInt64.random(in: 0...1 << 26, using: &random)
      let dead = UInt64.random(in: 1...1 << 20, using: &random)
      table[number] = SegmentUsage(
        generation: number % 3, liveBytes: live, totalBytes: live + dead + 32, tombstoneBytes: 32)
    }
    let bytes = table.encode()
    #expect(bytes.count == 5 * SegmentUsageTable.entryLength)
    #expect(try bytes.withUnsafeBytes { try SegmentUsageTable(decoding: $0) } == table)
    for _ in 0..<2000 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      damaged.removeLast(Int.random(in: 0..<damaged.count, using: &random))
      let decoded = damaged.withUnsafeBytes { try? SegmentUsageTable(decoding: $0) }
      if let decoded { #expect(decoded.encode() == damaged) }
    }
  }
}
