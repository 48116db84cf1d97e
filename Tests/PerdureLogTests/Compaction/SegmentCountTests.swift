import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Segments are never merged, so frequent compaction must not leave many segments.
@Suite("The number of segments after compaction")
struct SegmentCountTests {
  private static let capacity = 16 << 10
  private let memory: MemoryStore

  init() throws {
    var memory = try MemoryStore(segmentCapacityBytes: Self.capacity)
    memory.options.checkpoints = .manual
    memory.options.durability = .relaxed
    self.memory = memory
  }

  private func segmentCount(_ store: Store) throws -> Int { try store.segmentNumbers.count }

  /// Puts a new row that stays live, and row 0 twice, so that older records of row 0 become
  /// garbage.
  private func putRound(_ store: Store, _ round: UInt64, garbage: Int) throws {
    let rows = try store.keyspace("rows", .dense)
    for _ in 0..<2 {
      try store.write { try $0.put([UInt8](repeating: 1, count: garbage), id: 0, in: rows) }
    }
    try store.write { try $0.put([2, 3], id: 1 + round, in: rows) }
  }

  @Test("Repeated manual compactions leave a bounded number of segments")
  func bounded() throws {
    let store = try memory.open()
    let rounds = 60
    for round in 0..<UInt64(rounds) {
      try putRound(store, round, garbage: 20)
      try store.compact()
    }
    // The garbage of all rounds is less than half of a segment.
    #expect(try segmentCount(store) <= CompactionPolicy.shortSegmentsMax + 3)
    #expect(try store.verify().isClean)
    let rows = try store.keyspace("rows", .dense)
    #expect(store.snapshot().count(in: rows) == rounds + 1)
  }

  @Test("After manual compaction, the last segment's garbage is less than a quarter of a segment")
  func lastSegment() throws {
    let store = try memory.open()
    for round in 0..<40 as Range<UInt64> {
      try putRound(store, round, garbage: 1000)
      try store.compact()
      let last = store.engine.lastSegmentUsage
      #expect(last.deadBytes + last.tombstoneBytes < UInt64(Self.capacity) / 4, "round \(round)")
    }
  }

  @Test("Compaction does not close the last segment if nothing in it can be freed")
  func nothingToWin() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for id in 1...20 as ClosedRange<UInt64> {
      try store.write { try $0.put([1], id: id, in: rows) }
      try store.compact()
    }
    #expect(try segmentCount(store) == 1)
  }

  @Test("One compaction removes the garbage of a small store")
  func small() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for _ in 0..<5 { try store.write { try $0.put([UInt8](repeating: 1, count: 400), id: 1, in: rows) } }
    #expect(store.engine.usageTotals.deadBytes > 1600)
    try store.compact()
    #expect(store.engine.usageTotals.deadBytes == 0)
  }

  @Test("In a log with full segments, manual compactions leave as few short segments as in a small log")
  func longLog() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for first in stride(from: 1000 as UInt64, to: 2000, by: 20) {
      try store.write { transaction in
        for id in first..<(first + 20) {
          try transaction.put([UInt8](repeating: 2, count: 400), id: id, in: rows)
        }
      }
    }
    let full = try segmentCount(store)
    #expect(full > 20)
    for round in 0..<20 as Range<UInt64> {
      try putRound(store, round, garbage: 20)
      try store.compact()
    }
    #expect(try segmentCount(store) <= full + CompactionPolicy.shortSegmentsMax + 1)
    #expect(try store.verify().isClean)
  }

  @Test(
    "With many short segments, manual compaction closes the last one if background compaction closes it")
  func likeTheBackground() throws {
    /// Makes a store with many short segments.
    func make() throws -> (Store, StoreOptions) {
      var memory = try MemoryStore(segmentCapacityBytes: 8 << 20)
      memory.options.checkpoints = .manual
      memory.options.durability = .relaxed
      memory.options.blobThresholdBytes = 64 << 10
      let store = try memory.open()
      for round in 0..<10 as Range<UInt64> {
        try putRound(store, round, garbage: 20)
        try store.compact()
      }
      return (store, memory.options)
    }
    func putGarbage(_ store: Store) throws {
      let rows = try store.keyspace("rows", .dense)
      for _ in 0..<10 {
        try store.write { try $0.put([UInt8](repeating: 1, count: 60_000), id: 0, in: rows) }
      }
    }
    let (store, options) = try make()
    let (other, _) = try make()
    let background = HandDrivenCompactor(
      other, options, garbageBytesMin: options.compactionPolicy.deadBytesMin)
    try putGarbage(store)
    try putGarbage(other)
    let garbage = store.engine.lastSegmentUsage.deadBytes
    #expect(garbage > 500_000 && other.engine.lastSegmentUsage.deadBytes == garbage)
    #expect(try store.compact().bytesLeft == garbage)
    #expect(store.engine.lastSegmentUsage.deadBytes == garbage)
    #expect(!background.step().hasRun)
    #expect(other.engine.lastSegmentUsage.deadBytes == garbage)
    try putGarbage(store)
    try putGarbage(other)
    #expect(try store.compact().bytesLeft == 0)
    #expect(store.engine.usageTotals.deadBytes == 0)
    #expect(background.step() == (true, nil))
    #expect(other.engine.usageTotals.deadBytes == 0)
  }

  @Test(
    "Garbage, short segments and free space decide whether manual compaction closes the last segment",
    arguments: [
      // The garbage and all bytes of the last segment; the number of other short segments; whether
      // space is short, groups are made, and the segment is closed.
      (0, 1000, 0, false, false, false), (0, 1000, 0, true, false, false), (0, 1000, 0, false, true, true),
      (0, 0, 7, false, false, true), (1, 1000, 7, false, false, true), (1, 1000, 8, false, false, false),
      (1, 1000, 8, true, false, true), (0, 1000, 8, true, true, false), (0, 1000, 8, false, true, false),
      (2 << 20, 8 << 20, 8, false, false, true), ((2 << 20) - 1, 8 << 20, 8, false, false, false),
      (1 << 20, 2 << 20, 8, false, false, true), ((1 << 20) - 1, 2 << 20, 8, false, false, false),
    ] as [(UInt64, UInt64, Int, Bool, Bool, Bool)])
  func policy(
    _ garbage: UInt64, _ total: UInt64, _ short: Int, _ lacksRoom: Bool, _ makesGroups: Bool, _ ended: Bool
  ) {
    var options = StoreOptions()
    options.segmentCapacityBytes = 8 << 20
    let usage = SegmentUsage(liveBytes: total - garbage, totalBytes: total)
    let closes = options.compactionPolicy.closesLastByHand(
      usage, shortSegments: short, capacity: 8 << 20, lacksRoom: lacksRoom, makesGroups: makesGroups)
    #expect(closes == ended)
  }
}
