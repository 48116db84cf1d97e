import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A store whose rows were overwritten while a snapshot retained their old versions. Its compactor
/// runs only on request, on this thread.
private final class HeldStore {
  static let rowCount: UInt64 = 240
  let memory: MemoryStore
  let store: Store
  let rows: Keyspace
  let compactor = Compactor(
    CompactionPolicy(garbageRatio: 0.18, deadBytesMin: 8 << 10, bytesPerSecond: 1e15))
  var old: Snapshot?

  init() throws {
    var memory = try MemoryStore(segmentCapacityBytes: 16 << 10)
    memory.options.checkpoints = .manual
    self.memory = memory
    store = try memory.open()
    rows = try store.keyspace("rows", .dense)
    // A stopped compactor starts no thread.
    compactor.stop()
    try overwrite(0)
    old = store.snapshot()
    for round in 1...2 as ClosedRange<UInt8> { try overwrite(round) }
  }

  var engine: Engine { store.engine }

  func overwrite(_ round: UInt8) throws {
    for start in stride(from: 0, to: Self.rowCount, by: 40) {
      try store.write { transaction in
        for id in start..<(start + 40) {
          try transaction.put([UInt8](repeating: round, count: 300), id: id, in: rows)
        }
      }
    }
  }

  /// Makes a commit of minimal size.
  func touch() throws { try store.write { try $0.put([1], id: 9999, in: rows) } }

  /// - Returns: The number of runs until no run is due, at most 20.
  func runToRest() -> Int {
    var runs = 0
    while runs < 20, compactor.runIfDue(engine) { runs += 1 }
    return runs
  }
}

@Suite("Garbage that snapshots hold")
struct HeldGarbageTests {
  private static func share(_ version: UInt64, dead: UInt64, tombstones: UInt64 = 0) -> HeldGarbage.Share {
    HeldGarbage.Share(version: version, bytes: HeldGarbage.Bytes(dead: dead, tombstones: tombstones))
  }

  @Test("The release of a version removes only the garbage that this version held")
  func forgetting() {
    var garbage = HeldGarbage()
    #expect(!garbage.isAny)
    garbage.note(1, [Self.share(3, dead: 100), Self.share(5, dead: 10, tombstones: 1)])
    garbage.note(2, [Self.share(3, dead: 1000)])
    #expect(garbage.bytes == HeldGarbage.Bytes(dead: 1110, tombstones: 1) && garbage.bytes.all == 1111)
    #expect(garbage.bytes(in: 1).dead == 110 && garbage.bytes(in: 7) == HeldGarbage.Bytes())
    garbage.forget { $0 != 5 }
    #expect(garbage.bytes == HeldGarbage.Bytes(dead: 1100))
    garbage.note(1, [Self.share(3, dead: 50)])
    #expect(garbage.bytes.dead == 1050)
    garbage.forgetSegments(except: [1])
    #expect(garbage.bytes.dead == 50 && garbage.isAny)
    garbage.note(1, [])
    #expect(garbage.bytes.dead == 0 && !garbage.isAny)
  }

  @Test("A new run drops the held garbage of all versions that are not kept")
  func beginning() {
    var garbage = HeldGarbage()
    garbage.note(1, [Self.share(3, dead: 100), Self.share(5, dead: 10)])
    garbage.beginRun(keeping: [4, 5, 8])
    #expect(garbage.bytes.dead == 10 && garbage.isAny)
    garbage.forget { _ in false }
    #expect(garbage.bytes.dead == 0 && garbage.isAny, "The run may still leave garbage")
    garbage.endRun()
    #expect(!garbage.isAny)
  }

  @Test("Held tombstones and held dead records are subtracted from the totals, which never fall below zero")
  func totals() {
    let totals = CompactionPolicy.Totals(liveBytes: 500, totalBytes: 1000, tombstoneBytes: 100)
    let rest = totals.without(held: HeldGarbage.Bytes(dead: 300, tombstones: 60))
    #expect(rest == CompactionPolicy.Totals(liveBytes: 500, totalBytes: 640, tombstoneBytes: 40))
    #expect(totals.without(held: HeldGarbage.Bytes(dead: 9000, tombstones: 9000)).garbageBytes == 0)
  }

  @Test("While an old snapshot holds garbage, the release of short-lived newer snapshots starts no run")
  func companions() throws {
    let held = try HeldStore()
    var companions: [Snapshot] = []
    for _ in 0..<5 {
      companions.append(held.store.snapshot())
      try held.touch()
    }
    let first = held.runToRest()
    #expect((1...5).contains(first), "\(first)")
    let bytes = held.compactor.heldBytes.dead
    #expect(bytes > 240 * 300)
    // Releases one snapshot after another, without commits.
    while companions.count > 1 {
      companions.removeFirst()
      #expect(held.runToRest() == 0)
    }
    // Releases snapshots between commits. A newer snapshot exists at each release.
    for _ in 0..<20 {
      companions.append(held.store.snapshot())
      try held.touch()
      companions.removeFirst()
      #expect(held.runToRest() == 0)
    }
    #expect(held.compactor.heldBytes.dead > 240 * 300)
    let before = try held.memory.segmentBytes()
    held.old = nil
    let last = held.runToRest()
    #expect((1...3).contains(last), "\(last)")
    #expect(try held.memory.segmentBytes() < before - 240 * 200)
    #expect(try held.store.verify().isClean)
    withExtendedLifetime(companions) {}
  }

  @Test("After the older of two snapshots is released, compaction checks their shared garbage once more")
  func heirs() throws {
    let held = try HeldStore()
    try held.touch()
    let heir = held.store.snapshot()
    try held.overwrite(3)
    _ = held.runToRest()
    #expect(held.compactor.heldBytes.dead > 2 * 240 * 300)
    held.old = nil
    #expect(held.runToRest() >= 1)
    let bytes = held.compactor.heldBytes.dead
    #expect(bytes > 240 * 300 && bytes < 2 * 240 * 300)
    #expect(held.runToRest() == 0)
    #expect(try heir.value(id: 7, in: held.rows) == [UInt8](repeating: 2, count: 300))
  }

  @Test("If a snapshot is released after its pin was read and before the result is used, this is detected")
  func race() throws {
    let held = try HeldStore()
    _ = held.runToRest()
    #expect(held.compactor.heldBytes.dead > 240 * 300)
    let before = try held.memory.segmentBytes()
    let pinned = held.compactor.pinned(in: held.engine)
    #expect(held.engine.pins.isAwaited)
    held.old = nil
    #expect(!held.engine.pins.isAwaited, "The release has cleared the request")
    held.compactor.noteRelease(in: held.engine)
    held.compactor.forget(unless: pinned)
    #expect(held.compactor.hasUnreadReleases && held.compactor.heldBytes.dead > 240 * 300)
    #expect(held.runToRest() >= 1)
    #expect(!held.compactor.hasUnreadReleases && held.compactor.heldBytes.dead == 0)
    #expect(try held.memory.segmentBytes() < before - 240 * 200)
    #expect(try held.store.statistics.replacedSegmentBytes == 0)
  }

  @Test("A run pins no version, and keeps the records of snapshots that are released during the run")
  func keeping() throws {
    let held = try HeldStore()
    var snapshots: [Snapshot] = []
    for _ in 0..<200 {
      snapshots.append(held.store.snapshot())
      try held.touch()
    }
    var limits = CompactionLimits()
    limits.progress = { [engine = held.engine] done, _, _ in
      if done == 0 {
        #expect(engine.pins.held().exact.count == 201 && engine.pins.count == 201)
        snapshots = []
        held.old = nil
      }
      // Freed nodes are filled with 0xDD in debug builds, so that a read of a freed node fails.
      engine.removeReleasedFiles()
      return true
    }
    limits.didKeep = { #expect($0.count == 201) }
    #expect(try held.engine.compact(limits).segmentsExamined > 5)
    #expect(!held.engine.pins.isAnyHeld)
    #expect(try held.engine.readingState { $0.compactedVersions } == [])
    #expect(try held.store.statistics.replacedSegmentBytes == 0)
    #expect(try held.store.verify().isClean)
  }
}

@Suite("Waiting for the release of snapshots")
struct AwaitedReleaseTests {
  @Test("A pin is awaited if it was claimed before the scanned version was published")
  func versions() {
    let pins = PinTable()
    let (old, racing, newest) = (pins.pin(5), pins.pin(6), pins.pin(7))
    old.settle(5)
    racing.settle(7)
    newest.settle(7)
    #expect(!pins.isAwaited && !pins.isAwaited(old))
    #expect(pins.heldAndAwaited(published: 7).exact == [5, 7, 7])
    // A call with an older version number does not change the set of awaited pins.
    _ = pins.heldAndAwaited(published: 6)
    #expect(pins.isAwaited && pins.isAwaited(old))
    #expect(pins.isAwaited(racing), "The pin was claimed before version 7 was published")
    #expect(!pins.isAwaited(newest))
    _ = pins.heldAndAwaited(published: 8)
    #expect(pins.isAwaited(newest))
    #expect(pins.takeAwaited() && !pins.takeAwaited() && !pins.isAwaited(old))
    for pin in [old, racing, newest] { pin.release() }
    #expect(!pins.isAnyHeld)
  }

  @Test("Snapshots of the newest state wake no thread while an older snapshot holds garbage")
  func newest() throws {
    var memory = try MemoryStore(segmentCapacityBytes: 16 << 10)
    memory.options.checkpoints = .manual
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    func overwrite() throws {
      for _ in 0..<10 {
        try store.write { transaction in
          for id in 0..<20 as Range<UInt64> {
            try transaction.put([UInt8](repeating: 1, count: 300), id: id, in: rows)
          }
        }
      }
    }
    try overwrite()
    let old = store.snapshot()
    try overwrite()
    try store.compact()
    #expect(store.engine.pins.isAwaited, "The old snapshot reads a replaced file")
    var wakes = 0
    for _ in 0..<100 {
      do { withExtendedLifetime(store.snapshot()) {} }
      if !store.engine.pins.isAwaited { wakes += 1 }
    }
    #expect(wakes == 0)
    var held: Snapshot? = store.snapshot()
    #expect(held?.count(in: rows) == 20)
    try overwrite()
    store.engine.removeReleasedFiles()
    held = nil
    #expect(!store.engine.pins.isAwaited, "The released snapshot may have held garbage")
    withExtendedLifetime((old, held)) {}
  }

  @Test("The end of a checkpoint notifies the thread that waits for the release of its state")
  func checkpoint() throws {
    var memory = try MemoryStore()
    memory.options.checkpoints = .manual
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write(durability: .powerLoss) {
      try $0.put([UInt8](repeating: 1, count: 5000), id: 1, in: rows)
    }
    let engine = store.engine
    var hasRemoved = false
    engine.checkpointer.writer.isCancelled = {
      if hasRemoved { return false }
      hasRemoved = true
      let result = Result { try store.write(durability: .powerLoss) { try $0.remove(id: 1, in: rows) } }
      #expect(throws: Never.self) { _ = try result.get() }
      engine.removeReleasedFiles()
      #expect(engine.pins.isAwaited, "The checkpoint's state has the value")
      return false
    }
    defer { engine.checkpointer.writer.isCancelled = { false } }
    #expect(try engine.writeCheckpoint(with: &engine.checkpointer.writer))
    #expect(hasRemoved && !engine.pins.isAwaited)
    engine.removeReleasedFiles()
    #expect(try !memory.fileSystem.contents(of: "/store.perdure").contains { $0.hasSuffix(".blob") })
  }
}
