import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Checkpoints beside writers")
struct CheckpointBesideWritersTests {
  private static func put(_ byte: UInt8, _ ids: Range<UInt64>, _ rows: Keyspace, _ store: Store) throws {
    try store.write(durability: .powerLoss) { transaction in
      for id in ids { try transaction.put([byte, UInt8(id % 250)], id: id, in: rows) }
    }
  }

  /// Commits on another thread, and waits for that thread with a timeout.
  private static func commitMeanwhile(_ rows: Keyspace, _ store: Store) throws {
    let outcome = Guarded<Result<Void, any Error>?>(nil)
    #expect(
      PlatformThread.start(name: "committer") {
        let result = Result { try Self.put(2, 100..<150, rows, store) }
        outcome.withLock { $0 = result }
      })
    let (lock, condition) = (Lock(), Condition())
    for _ in 0..<20_000 {
      if let result = outcome.withLock({ $0 }) { return try result.get() }
      lock.withLock { _ = condition.wait(lock, untilNanoseconds: Clock.nowNanoseconds() + 1_000_000) }
    }
    throw Stopped()
  }

  private struct Stopped: Error {}

  /// Commits and compacts on another thread, and waits for that thread with a timeout. That thread
  /// may have to wait for this thread.
  private static func compactMeanwhile(
    _ rows: Keyspace, _ store: Store, _ outcome: Guarded<Result<Void, any Error>?>
  ) {
    #expect(
      PlatformThread.start(name: "compactor") {
        let result = Result {
          try Self.put(2, 100..<200, rows, store)
          _ = try store.compact()
        }
        outcome.withLock { $0 = result }
      })
    wait(for: outcome, milliseconds: 40)
  }

  @discardableResult
  private static func wait(
    for outcome: Guarded<Result<Void, any Error>?>, milliseconds: Int
  ) -> Result<Void, any Error>? {
    let (lock, condition) = (Lock(), Condition())
    for _ in 0..<milliseconds {
      if let result = outcome.withLock({ $0 }) { return result }
      lock.withLock { _ = condition.wait(lock, untilNanoseconds: Clock.nowNanoseconds() + 1_000_000) }
    }
    return nil
  }

  @Test("A compaction during the first checkpoint does not rewrite the segment in which the checkpoint ends")
  func compaction() throws {
    var call = 0
    var isThrough = false
    while !isThrough {
      var memory = try MemoryStore()
      memory.options.checkpoints = .manual
      memory.options.compactsAutomatically = false
      memory.options.segmentCapacityBytes = 4096
      let stepping = SteppingFileSystem(memory.fileSystem)
      memory.options.fileSystem = stepping
      let store = try memory.open()
      let rows = try store.keyspace("rows", .dense)
      try Self.put(1, 0..<200, rows, store)
      // Makes garbage in the segment in which the checkpoint ends.
      try Self.put(1, 180..<200, rows, store)
      let outcome = Guarded<Result<Void, any Error>?>(nil)
      stepping.run(before: call) { Self.compactMeanwhile(rows, store, outcome) }
      try store.checkpoint()
      isThrough = stepping.isWaiting
      if !isThrough {
        guard let result = Self.wait(for: outcome, milliseconds: 20_000) else { throw Stopped() }
        try result.get()
      }
      store.engine.abandon()
      memory.options.fileSystem = memory.fileSystem
      let again = try memory.open()
      #expect(again.recoveryReport.indexRebuild == nil, "call \(call)")
      for id in 0..<200 as Range<UInt64> {
        let byte: UInt8 = (100..<200).contains(id) && !isThrough ? 2 : 1
        #expect(try again.snapshot().value(id: id, in: rows) == [byte, UInt8(id % 250)], "row \(id)")
      }
      #expect(try again.verify().isClean)
      call += 1
    }
    #expect(call > 4)
  }

  @Test(
    "A commit completes during a checkpoint, and is in the checkpoint if it precedes the checkpoint's turn")
  func commits() throws {
    var call = 0
    var isThrough = false
    while !isThrough {
      var memory = try MemoryStore()
      memory.options.checkpoints = .manual
      let stepping = SteppingFileSystem(memory.fileSystem)
      memory.options.fileSystem = stepping
      let store = try memory.open()
      let rows = try store.keyspace("rows", .dense)
      try Self.put(1, 0..<200, rows, store)
      try store.checkpoint()
      try Self.put(1, 150..<300, rows, store)
      let before = try store.statistics.sequence
      stepping.run(before: call) { try Self.commitMeanwhile(rows, store) }
      try store.checkpoint()
      isThrough = stepping.isWaiting
      if let failure = stepping.failure { throw failure }
      // Both the checkpoint and the commit must be present after reopening.
      store.engine.abandon()
      memory.options.fileSystem = memory.fileSystem
      let again = try memory.open()
      // Call 0 is the check of the folder, before the checkpoint's turn.
      #expect(again.recoveryReport.checkpointSequence == (call == 0 ? before + 1 : before))
      let snapshot = again.snapshot()
      for id in 0..<300 as Range<UInt64> {
        let byte: UInt8 = (100..<150).contains(id) && !isThrough ? 2 : 1
        #expect(try snapshot.value(id: id, in: rows) == [byte, UInt8(id % 250)], "row \(id), call \(call)")
      }
      #expect(try again.verify().isClean)
      call += 1
    }
    #expect(call > 4)
  }
}
