import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Compaction in the background")
struct AutomaticCompactionTests {
  @Test(
    "A store that is overwritten repeatedly stays small, and closing it during compaction leaves it intact")
  func overwrites() async throws {
    var memory = try MemoryStore(segmentCapacityBytes: 256 << 10)
    memory.options.compactsAutomatically = true
    var store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for round in 0..<100 as Range<UInt64> {
      try await store.write(durability: .relaxed) { transaction in
        for id in 0..<500 as Range<UInt64> {
          try transaction.put([UInt8](repeating: UInt8(round), count: 200), id: id, in: rows)
        }
      }
      guard round % 25 == 24 else { continue }
      try store.close()
      store = try memory.open()
    }
    // The test has written 11 MB, of which 0.1 MB are live. The compactor may be slow on this
    // machine, so the loop makes further commits. After each commit, the compactor checks again
    // whether a run is due.
    var next: UInt64 = 500
    while try memory.segmentBytes() > 4 << 20, next < 20_000 {
      try await store.write(durability: .powerLoss) {
        try $0.put([UInt8](repeating: 1, count: 200), id: next % 500, in: rows)
      }
      next += 1
      try await Task.sleep(nanoseconds: 1_000_000)
    }
    #expect(try memory.segmentBytes() <= 4 << 20)
    let snapshot = store.snapshot()
    for id in 0..<500 as Range<UInt64> { #expect(try snapshot.value(id: id, in: rows)?.count == 200) }
    #expect(try store.verify().isClean)
    // The compactor may change the store between the two calls.
    let last = store
    #expect(try await Self.wait { try last.usage == last.countedUsage() })
    try store.close()
    #expect(try memory.open().verify().isClean)
  }

  /// Returns a store with 2.5 MB of records. One record in ten is live. No compaction has run yet.
  private static func makeUntidy(_ memory: inout MemoryStore) throws -> (Store, Keyspace) {
    memory.options.compactsAutomatically = false
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try overwrite(rows, in: store)
    return (store, rows)
  }

  private static func overwrite(_ rows: Keyspace, in store: Store) throws {
    for round in 0..<10 as Range<UInt64> {
      try store.write(durability: .relaxed) { transaction in
        for id in 0..<250 as Range<UInt64> {
          try transaction.put([UInt8](repeating: UInt8(round), count: 1000), id: id, in: rows)
        }
      }
    }
  }

  /// Waits until the compactor's thread makes the condition true. Returns false after 20,000
  /// checks. It makes no commit, so no commit triggers the compactor.
  private static func wait(until condition: () throws -> Bool) async throws -> Bool {
    for _ in 0..<20_000 {
      if try condition() { return true }
      try await Task.sleep(nanoseconds: 1_000_000)
    }
    return false
  }

  @Test("If the system refuses a thread, the compactor requests one again when garbage grows")
  func refusedThread() async throws {
    var memory = try MemoryStore(segmentCapacityBytes: 256 << 10)
    memory.options.compactsAutomatically = true
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try PlatformThread.$isRefused.withValue(true) { try Self.overwrite(rows, in: store) }
    #expect(try store.statistics.lastCompactionFailure?.contains("refused a thread") == true)
    #expect(try memory.segmentBytes() > 2 << 20)
    try Self.overwrite(rows, in: store)
    // A successful run clears the failure.
    #expect(try await Self.wait { try store.statistics.lastCompactionFailure == nil })
    #expect(try store.statistics.compactionBytesSinceOpen > 0)
  }

  @Test("A store that is opened with garbage compacts itself without a commit")
  func opening() async throws {
    var memory = try MemoryStore(segmentCapacityBytes: 256 << 10)
    try Self.makeUntidy(&memory).0.close()
    #expect(try memory.segmentBytes() > 2 << 20)
    memory.options.compactsAutomatically = true
    let store = try memory.open()
    #expect(try await Self.wait { try memory.segmentBytes() < 1 << 20 })
    #expect(try store.verify().isClean)
  }

  @Test("Releasing a snapshot that retained garbage starts compaction without a commit")
  func release() async throws {
    var memory = try MemoryStore(segmentCapacityBytes: 256 << 10)
    memory.options.compactsAutomatically = true
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try await store.write { transaction in
      for id in 0..<2500 as Range<UInt64> {
        try transaction.put([UInt8](repeating: 1, count: 1000), id: id, in: rows)
      }
    }
    var snapshot: Snapshot? = store.snapshot()
    try await store.write { transaction in
      for id in 250..<2500 as Range<UInt64> { try transaction.remove(id: id, in: rows) }
    }
    // A run has examined the segments, and found only garbage that the snapshot retains.
    let compactor = try #require(store.engine.compactor)
    #expect(try await Self.wait { compactor.heldBytes.dead > 1 << 20 })
    #expect(try memory.segmentBytes() > 2 << 20)
    #expect(snapshot?.count(in: rows) == 2500)
    // The next line releases a second snapshot, which retains no garbage. The compactor handles
    // this release, and still waits for the first snapshot.
    do { withExtendedLifetime(store.snapshot()) {} }
    #expect(try await Self.wait { compactor.isIdle })
    #expect(store.engine.pins.isAwaited)
    snapshot = nil
    #expect(try await Self.wait { try memory.segmentBytes() < 1 << 20 })
    #expect(try store.verify().isClean)
    withExtendedLifetime(snapshot) {}
  }

  @Test(
    "The store waits for the release of a snapshot only after a compaction has kept a file for that snapshot")
  func nothingHeld() throws {
    var memory = try MemoryStore(segmentCapacityBytes: 256 << 10)
    let (store, rows) = try Self.makeUntidy(&memory)
    for _ in 0..<3 {
      let snapshot = store.snapshot()
      try store.write { try $0.put([1], id: 1, in: rows) }
      #expect(!store.engine.pins.isAwaited)
      withExtendedLifetime(snapshot) {}
    }
    try store.compact()
    let snapshot = store.snapshot()
    #expect(!store.engine.pins.isAwaited, "This snapshot has the newest state")
    try store.write { try $0.put([2], id: 1, in: rows) }
    try store.compact()
    #expect(store.engine.pins.isAwaited, "This snapshot reads a replaced file")
    withExtendedLifetime(snapshot) {}
  }

  @Test(
    "Compaction is due if garbage exceeds a ratio and reaches a minimum, and enough of it is new since the last run"
  )
  func due() {
    let policy = CompactionPolicy(garbageRatio: 0.2, deadBytesMin: 1000, bytesPerSecond: 1e6)
    func totals(_ live: UInt64, _ total: UInt64) -> CompactionPolicy.Totals {
      CompactionPolicy.Totals(liveBytes: live, totalBytes: total, tombstoneBytes: 0)
    }
    #expect(!policy.isDue(totals(100, 1000), futile: 0))
    #expect(policy.isDue(totals(7000, 10_000), futile: 0))
    #expect(!policy.isDue(totals(8500, 10_000), futile: 0))
    #expect(!policy.isDue(totals(7000, 10_000), futile: 2900))
    #expect(policy.isDue(totals(7000, 10_000), futile: 2000))
  }

  @Test(
    "Compaction is faster when garbage exceeds the ratio, and new garbage allows writes without waiting")
  func pace() {
    let policy = CompactionPolicy(garbageRatio: 0.2, deadBytesMin: 1000, bytesPerSecond: 1e6)
    func totals(garbage: UInt64) -> CompactionPolicy.Totals {
      CompactionPolicy.Totals(liveBytes: 10_000_000 - garbage, totalBytes: 10_000_000, tombstoneBytes: 0)
    }
    #expect(policy.speed(totals(garbage: 1_000_000)) == 1e6)
    #expect(policy.speed(totals(garbage: 2_000_000)) == 1e6)
    #expect(policy.speed(totals(garbage: 5_000_000)) == 2.5e6)
    #expect(policy.bytesToWrite(forGarbage: 1000, totals(garbage: 2_000_000)) == 2000)
    #expect(policy.bytesToWrite(forGarbage: 1000, totals(garbage: 5_000_000)) == 5000)

    var pace = CompactionPace(policy, totals(garbage: 2_000_000), now: 1_000_000_000)
    // Without new garbage, a thousand bytes take one millisecond. The millisecond starts at the
    // time of the preceding write, or at the call if that is later.
    #expect(pace.pass(1000, totals(garbage: 2_000_000), now: 1_000_000_000) == 1_001_000_000)
    #expect(pace.pass(1000, totals(garbage: 2_000_000), now: 1_000_500_000) == 1_002_000_000)
    #expect(pace.pass(1000, totals(garbage: 2_000_000), now: 1_010_000_000) == 1_011_000_000)
    // A segment was rewritten, so there is less garbage than before. A decrease does not count as
    // new garbage.
    #expect(pace.pass(1000, totals(garbage: 1_000_000), now: 1_011_000_000) == 1_012_000_000)
    // For a thousand bytes of new garbage, two thousand bytes are written without waiting. The next
    // bytes wait.
    #expect(pace.pass(2000, totals(garbage: 1_001_000), now: 1_012_000_000) == 1_012_000_000)
    #expect(pace.pass(1000, totals(garbage: 1_001_000), now: 1_012_000_000) == 1_013_000_000)
    // The number of bytes written without waiting is limited.
    let credit = Int(CompactionPace.creditMax)
    #expect(pace.pass(credit, totals(garbage: 9_000_000), now: 1_013_000_000) == 1_013_000_000)
    #expect(pace.pass(1000, totals(garbage: 2_000_000), now: 1_013_000_000) == 1_014_000_000)
  }

  @Test("Of segments with equal usage, compaction takes the older first; with many tombstones it takes all")
  func choice() {
    let policy = CompactionPolicy(garbageRatio: 0.2, deadBytesMin: 1000, bytesPerSecond: 1e6)
    func candidate(_ number: UInt64, live: UInt64, total: UInt64, age: UInt64) -> CompactionCandidate {
      CompactionCandidate(
        number: number, usage: SegmentUsage(liveBytes: live, totalBytes: total, tombstoneBytes: 0), age: age)
    }
    let candidates = [
      candidate(1, live: 1000, total: 1000, age: 90), candidate(2, live: 500, total: 1000, age: 50),
      candidate(3, live: 500, total: 1000, age: 10), candidate(4, live: 990, total: 1000, age: 5),
    ]
    let totals = CompactionPolicy.Totals(liveBytes: 2990, totalBytes: 4000, tombstoneBytes: 0)
    #expect(policy.score(candidates[0]) == 0)
    #expect(policy.score(candidates[1]) > policy.score(candidates[2]))
    #expect(policy.choose(candidates, totals) == [2, 3])
    let few = CompactionPolicy.Totals(liveBytes: 3200, totalBytes: 4000, tombstoneBytes: 0)
    #expect(policy.choose(candidates, few) == [2])
    let tombstones = CompactionPolicy.Totals(liveBytes: 2000, totalBytes: 4000, tombstoneBytes: 900)
    #expect(policy.choose(candidates, tombstones) == [1, 2, 3, 4])
  }
}
