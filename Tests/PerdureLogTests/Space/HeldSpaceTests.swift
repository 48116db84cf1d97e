import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store whose rows are all overwritten repeatedly, with checkpoints, and with compaction
/// whenever it is due.
private final class OverwrittenStore {
  static let rowCount: UInt64 = 240
  let memory: MemoryStore
  let store: Store
  let rows: Keyspace
  private let valueLength: Int
  private let compactor = Compactor(
    CompactionPolicy(garbageRatio: 0.18, deadBytesMin: 8 << 10, bytesPerSecond: 1e15))

  init(valueLength: Int) throws {
    var memory = try MemoryStore(segmentCapacityBytes: 16 << 10)
    memory.options.blobThresholdBytes = 1024
    memory.options.durability = .powerLoss
    memory.options.checkpoints = .manual
    memory.options.compactsAutomatically = false
    self.memory = memory
    self.valueLength = valueLength
    store = try memory.open()
    rows = try store.keyspace("rows", .dense)
  }

  func value(_ round: UInt8, _ id: UInt64) -> [UInt8] {
    [round] + [UInt8](repeating: UInt8(id % 251), count: valueLength)
  }

  /// Overwrites every row, in commits of 40 rows, and writes a checkpoint in the middle and at the
  /// end.
  func overwrite(_ round: UInt8) throws {
    for start in stride(from: 0, to: Self.rowCount, by: 40) {
      try store.write { transaction in
        for id in start..<(start + 40) { try transaction.put(value(round, id), id: id, in: rows) }
      }
      if start == 120 { try store.checkpoint() }
      compactor.runIfDue(store.engine)
    }
    try store.checkpoint()
  }

  func compactIfDue() { compactor.runIfDue(store.engine) }

  /// Counts the bytes of all files except the reserve. Includes replaced segments that are already
  /// removed from the directory, but that snapshots still read.
  func bytes() throws -> Int {
    let files = try memory.fileSystem.contents(of: "/store.perdure").filter { !$0.hasSuffix(".reserve") }
    let named = try files.reduce(0) { sum, name in
      sum + Int(try memory.fileSystem.open("/store.perdure/" + name, .read).size())
    }
    return named + (try store.statistics.replacedSegmentBytes)
  }

  func indexFileBytes() throws -> Int {
    let names = try memory.fileSystem.contents(of: "/store.perdure").filter { $0.hasSuffix(".index") }
    return try names.reduce(0) { sum, name in
      sum + Int(try memory.fileSystem.open("/store.perdure/" + name, .read).size())
    }
  }

  /// The number of blob files after the removal of all files that no state needs.
  func blobCount() throws -> Int {
    // A commit removes only the files that earlier commits dropped. This call also removes those of
    // the last commit.
    store.engine.removeReleasedFiles()
    return try memory.fileSystem.contents(of: "/store.perdure").count { $0.hasSuffix(".blob") }
  }

  func expect(_ round: UInt8, in snapshot: Snapshot) throws {
    #expect(snapshot.count(in: rows) == Int(Self.rowCount))
    for id in 0..<Self.rowCount {
      guard try snapshot.value(id: id, in: rows) == value(round, id) else {
        Issue.record("row \(id) of round \(round)")
        return
      }
    }
  }
}

@Suite("Space and memory that a snapshot holds")
struct HeldSpaceTests {
  /// The size of a store whose rows were written once, with values of this length.
  private static func liveBytes(valueLength: Int) throws -> Int {
    let store = try OverwrittenStore(valueLength: valueLength)
    try store.overwrite(0)
    return try store.bytes()
  }

  /// Allows for the last segment, the superblock, and the nodes that differ between two
  /// checkpoints.
  private static let constantBytes = (16 << 10) + (16 << 10) + (24 << 10)

  @Test(
    "During ten full overwrites, the store keeps only the snapshot's state and the newest state",
    arguments: [300, 3000])
  func tenOverwrites(valueLength: Int) throws {
    let live = try Self.liveBytes(valueLength: valueLength)
    let store = try OverwrittenStore(valueLength: valueLength)
    try store.overwrite(0)
    let indexBytes = try store.store.statistics.indexBytes
    let snapshot = store.store.snapshot()
    for round in 1...10 as ClosedRange<UInt8> {
      try store.overwrite(round)
      let bytes = try store.bytes()
      #expect(bytes < live + live * 3 / 2 + Self.constantBytes, "round \(round): \(bytes) for \(live)")
      let statistics = try store.store.statistics
      // Allows for three indexes: that of the snapshot, that of the newest state, and one that a
      // checkpoint has just released.
      #expect(statistics.indexBytes <= 3 * indexBytes)
      #expect(statistics.indexBytesRetired <= 2 * indexBytes)
    }
    if valueLength > 1024 { #expect(try store.blobCount() == 2 * Int(OverwrittenStore.rowCount)) }
    try store.expect(0, in: snapshot)
    try store.expect(10, in: store.store.snapshot())
    #expect(try store.store.verify().isClean)
  }

  @Test("Each of two snapshots keeps its own state, and its release frees that state")
  func two() throws {
    let store = try OverwrittenStore(valueLength: 2000)
    let count = Int(OverwrittenStore.rowCount)
    try store.overwrite(0)
    var snapshots = [store.store.snapshot()]
    for round in 1...3 as ClosedRange<UInt8> { try store.overwrite(round) }
    snapshots.append(store.store.snapshot())
    for round in 4...6 as ClosedRange<UInt8> { try store.overwrite(round) }
    #expect(try store.blobCount() == 3 * count)
    try store.expect(0, in: snapshots[0])
    try store.expect(3, in: snapshots[1])
    snapshots.removeFirst()
    try store.overwrite(7)
    #expect(try store.blobCount() == 2 * count)
    try store.expect(3, in: snapshots[0])
    snapshots.removeFirst()
    try store.overwrite(8)
    #expect(try store.blobCount() == count)
    try store.expect(8, in: store.store.snapshot())
  }

  @Test("A separately opened reader holds its own state, and no later state")
  func reader() throws {
    let live = try Self.liveBytes(valueLength: 2000)
    let store = try OverwrittenStore(valueLength: 2000)
    try store.overwrite(0)
    var options = store.memory.options
    options.isReadOnly = true
    let reader = try Store(at: "/store.perdure", options: options)
    for round in 1...8 as ClosedRange<UInt8> {
      try store.overwrite(round)
      #expect(try store.bytes() < live + live * 3 / 2 + Self.constantBytes, "round \(round)")
    }
    #expect(try store.blobCount() == 2 * Int(OverwrittenStore.rowCount))
    // The writer needs index files of twice the size of one checkpoint. The checkpoint that the
    // reader uses needs further space.
    let units = try store.indexFileBytes()
    #expect(units <= 4 * (try store.store.statistics.indexFileBytes), "\(units)")
    try store.expect(0, in: reader.snapshot())
    #expect(try reader.refresh())
    try store.expect(8, in: reader.snapshot())
  }

  @Test("A refreshed reader holds its newest state, and releases the earlier state")
  func refreshed() throws {
    let store = try OverwrittenStore(valueLength: 2000)
    try store.overwrite(0)
    var options = store.memory.options
    options.isReadOnly = true
    let reader = try Store(at: "/store.perdure", options: options)
    let first = try #require(try store.store.readers.first?.sequence)
    for round in 1...3 as ClosedRange<UInt8> {
      try store.overwrite(round)
      #expect(try reader.refresh())
      #expect(try store.store.readers.count == 1)
    }
    #expect(try #require(try store.store.readers.first?.sequence) > first)
    try store.overwrite(4)
    #expect(try store.blobCount() == 2 * Int(OverwrittenStore.rowCount))
    try store.expect(3, in: reader.snapshot())
    try reader.close()
  }

  @Test("Data that only a released snapshot could read is freed without a commit")
  func won() throws {
    let store = try OverwrittenStore(valueLength: 300)
    try store.overwrite(0)
    let before = try store.bytes()
    var snapshot: Snapshot? = store.store.snapshot()
    for round in 1...3 as ClosedRange<UInt8> { try store.overwrite(round) }
    let held = try store.bytes()
    try store.expect(0, in: #require(snapshot))
    snapshot = nil
    store.compactIfDue()
    #expect(try store.bytes() < held - before / 2)
    withExtendedLifetime(snapshot) {}
  }

  @Test("Held states stay complete during random operations, releases and openings")
  func histories() throws {
    let random = SeededGenerator.forTest("held states")
    for round in 0..<6 as Range<UInt64> {
      var random = random.derived(round)
      let witnessed = try WitnessedStore(random.derived(1))
      var snapshots: [Snapshot] = []
      for step in 0..<25 {
        try witnessed.act()
        if random.chance(50) { snapshots.append(try witnessed.writer.snapshot()) }
        if snapshots.count > 5 || (!snapshots.isEmpty && random.chance(25)) {
          snapshots.remove(at: .random(in: 0..<snapshots.count, using: &random))
        }
        // Freed nodes are filled with 0xDD in debug builds, so a read of a freed node fails.
        let engine = try witnessed.writer.engine
        engine.removeReleasedFiles()
        for snapshot in snapshots {
          try witnessed.check(snapshot, "seed \(random.seed), round \(round), step \(step)")
        }
      }
    }
  }
}
