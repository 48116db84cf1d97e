import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store with segments of 4 KiB, where single segments can be compacted.
private final class Segments {
  let memory: MemoryStore
  private(set) var store: Store
  let rows: Keyspace

  init() throws {
    memory = try MemoryStore(segmentCapacityBytes: 4096)
    store = try memory.open()
    rows = try store.keyspace("rows", .dense)
  }

  /// The segment that is being written.
  var segment: UInt64 { get throws { try store.engine.readingState { $0.end.segment } } }

  func put(_ id: UInt64, _ value: UInt8) throws {
    try store.write { try $0.put([UInt8](repeating: value, count: 100), id: id, in: rows) }
  }

  func remove(_ id: UInt64) throws { try store.write { try $0.remove(id: id, in: rows) } }

  func value(_ id: UInt64) throws -> UInt8? { try store.snapshot().value(id: id, in: rows)?.first }

  /// Fills the last segment enough for a compaction, and then continues the log in a new segment.
  func roll() throws {
    for round in 0..<40 as Range<UInt8> { try put(1000, round) }
    try store.engine.inTurn { try store.engine.rollLog(&$0) }
  }

  @discardableResult
  func compact(_ segments: [UInt64]) throws -> CompactionReport {
    var limits = CompactionLimits()
    limits.rollsLog = false
    limits.choose = { _ in Set(segments) }
    return try store.engine.compact(limits)
  }

  func reopen() throws {
    try store.close()
    store = try memory.open()
    #expect(try store.verify().isClean)
    #expect(try store.usage == store.countedUsage())
  }

  var tombstoneBytes: UInt64 {
    get throws {
      try store.engine.readingState { state in
        state.segments.segments.keys.reduce(0) { $0 + state.usage[$1].tombstoneBytes }
      }
    }
  }
}

/// A test that names an issue covers a problem with removed keys in basho/bitcask on GitHub.
/// Bitcask is the best known store of this kind.
@Suite("Removed keys and compaction")
struct TombstoneTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("bitcask#82: compacting only the tombstone's segment keeps the tombstone, so no old value reappears")
  func partialCompaction() throws {
    let log = try Segments()
    let first = try log.segment
    try log.put(1, 7)
    try log.roll()
    let second = try log.segment
    try log.remove(1)
    try log.roll()
    #expect(try log.compact(Array(second..<log.segment)).segmentsRewritten > 0)
    #expect(try log.tombstoneBytes > 0)
    try log.reopen()
    #expect(try log.value(1) == nil)
    // When the segment of the old value is also clean, the tombstone is no longer needed.
    try log.compact(Array(first..<second))
    #expect(try log.compact(Array(second..<log.segment)).tombstonesDropped == 1)
    try log.reopen()
    #expect(try log.value(1) == nil)
    #expect(try log.tombstoneBytes == 0)
  }

  @Test("bitcask#102: a key that was removed twice stays removed for every order of compaction")
  func removedTwice() throws {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
      let log = try Segments()
      var starts = [try log.segment]
      for step in 0..<4 as Range<UInt8> {
        if step % 2 == 0 { try log.put(1, step) } else { try log.remove(1) }
        try log.roll()
        starts.append(try log.segment)
      }
      for part in order {
        try log.compact(Array(starts[part]..<starts[part + 1]))
        try log.reopen()
        #expect(try log.value(1) == nil, "after part \(part) of \(order)")
      }
    }
  }

  @Test("bitcask#128: a key that was put again after its removal keeps its new value")
  func putAgain() throws {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
      let log = try Segments()
      var starts = [try log.segment]
      try log.put(1, 1)
      try log.roll()
      starts.append(try log.segment)
      try log.remove(1)
      try log.roll()
      starts.append(try log.segment)
      try log.put(1, 2)
      try log.roll()
      starts.append(try log.segment)
      for part in order {
        try log.compact(Array(starts[part]..<starts[part + 1]))
        try log.reopen()
        #expect(try log.value(1) == 2, "after part \(part) of \(order)")
      }
    }
  }

  @Test("bitcask#134: after random operations and partial compactions, the store and a snapshot are right")
  func anyHistory() throws {
    print("PERDURE_SEED=\(seed)")
    for round in 0..<30 as Range<UInt64> {
      var random = SeededGenerator(seed: seed).derived(round)
      let log = try Segments()
      var expected: [UInt64: UInt8] = [:]
      var held: (snapshot: Snapshot, content: [UInt64: UInt8])?
      for step in 0..<60 as Range<UInt8> {
        let id = UInt64.random(in: 1...6, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0...3:
          try log.put(id, step)
          expected[id] = step
        case 4...6:
          try log.remove(id)
          expected[id] = nil
        case 7: try log.roll()
        case 8 where Bool.random(using: &random): try log.store.checkpoint()
        case 8: held = (log.store.snapshot(), expected)
        case 9:
          held = nil
          try log.reopen()
        default:
          let all = try Array(1...log.segment)
          try log.compact(all.filter { _ in Bool.random(using: &random) })
        }
        for id in 1...6 as ClosedRange<UInt64> {
          #expect(try log.value(id) == expected[id], "step \(step) of seed \(random.seed)")
          guard let held else { continue }
          #expect(try held.snapshot.value(id: id, in: log.rows)?.first == held.content[id], "step \(step)")
        }
      }
      held = nil
      try log.reopen()
      for id in 1...6 as ClosedRange<UInt64> { #expect(try log.value(id) == expected[id]) }
    }
  }

  @Test("bitcask#148: a removal during the compaction of its key's segment takes effect")
  func removedMeanwhile() throws {
    let log = try Segments()
    for id in 1...30 as ClosedRange<UInt64> { try log.put(id, 1) }
    try log.roll()
    var removed: UInt64 = 0
    var limits = CompactionLimits()
    // Removes a key at each pause of the compaction: between frames while it marks records, and
    // between slices while it copies.
    limits.pace = { _ in
      guard removed < 30 else { return }
      removed += 1
      try log.remove(removed)
    }
    try #expect(log.store.engine.compact(limits).segmentsRewritten > 0)
    #expect(removed == 30)
    for id in 1...30 as ClosedRange<UInt64> { #expect(try log.value(id) == nil) }
    try log.reopen()
    for id in 1...30 as ClosedRange<UInt64> { #expect(try log.value(id) == nil) }
    try log.store.compact()
    try log.store.compact()
    try log.reopen()
    for id in 1...30 as ClosedRange<UInt64> { #expect(try log.value(id) == nil) }
  }

  @Test("bitcask#156: after all keys were removed, compaction drops the tombstones and nearly all bytes")
  func reclaimed() throws {
    let log = try Segments()
    for id in 1...200 as ClosedRange<UInt64> { try log.put(id, 1) }
    for id in 1...200 as ClosedRange<UInt64> { try log.remove(id) }
    #expect(try log.tombstoneBytes > 0)
    let report = try log.store.compact()
    #expect(report.tombstonesDropped == 200)
    #expect(try log.tombstoneBytes == 0)
    // The catalog, an empty segment and the last segment remain.
    #expect(try log.memory.segmentBytes() < 1200)
    #expect(try log.memory.segmentNames().count <= 3)
    try log.reopen()
    #expect(log.store.snapshot().count(in: log.rows) == 0)
  }

  @Test("bitcask#196: removing an absent key writes nothing, and a removed key gets no second tombstone")
  func superfluous() throws {
    let log = try Segments()
    try log.put(1, 1)
    try log.remove(1)
    let before = try log.store.usage
    let sequence = log.store.snapshot().sequence
    try log.remove(1)
    try log.remove(2)
    #expect(try log.store.usage == before)
    #expect(log.store.snapshot().sequence == sequence)
    try log.store.compact()
    try log.remove(1)
    #expect(try log.tombstoneBytes == 0)
  }

  @Test("A tombstone stays while a snapshot keeps the removed record")
  func heldBySnapshot() throws {
    let log = try Segments()
    try log.put(1, 7)
    try log.roll()
    var held: Snapshot? = log.store.snapshot()
    try log.remove(1)
    try log.roll()
    try log.store.compact()
    #expect(try log.tombstoneBytes > 0)
    #expect(try held?.value(id: 1, in: log.rows)?.first == 7)
    held = nil
    try log.reopen()
    #expect(try log.value(1) == nil)
    try log.store.compact()
    #expect(try log.tombstoneBytes == 0)
    try log.reopen()
    #expect(try log.value(1) == nil)
  }
}

@Suite("Clean segments")
struct CleanedSegmentsTests {
  @Test("If a segment is not clean, all later segments count as not clean")
  func prefixes() {
    var cleaned = CleanedSegments()
    cleaned.append(2, cleanedThrough: 9)
    cleaned.append(5, cleanedThrough: 3)
    cleaned.append(7, cleanedThrough: 8)
    #expect(cleaned.areClean(upTo: 1, at: 100))
    #expect(cleaned.areClean(upTo: 4, at: 9))
    #expect(!cleaned.areClean(upTo: 4, at: 10))
    #expect(cleaned.areClean(upTo: 5, at: 3))
    #expect(!cleaned.areClean(upTo: 7, at: 4))
    cleaned.update(5, cleanedThrough: 10)
    #expect(cleaned.areClean(upTo: 7, at: 8))
    #expect(!cleaned.areClean(upTo: 99, at: 9))
    cleaned.update(5, cleanedThrough: 1)
    #expect(cleaned.areClean(upTo: 5, at: 9))
  }
}
