import PerdureFileIO

/// Compacts in the background: a thread that sleeps until the committer has seen enough garbage.
///
/// It holds the engine only while it works, so a store that is let go of goes.
// Unchecked: what changes is guarded by `lock`.
final class Compactor: @unchecked Sendable {
  private let lock = Lock()
  private let condition = Condition()
  private var isWanted = false
  private var isStopped = false
  private var isStarted = false
  private var counts = Counts()
  private let policy: CompactionPolicy

  /// What it has done since the store was opened.
  struct Counts: Hashable, Sendable {
    var runs = 0
    var bytesWritten: UInt64 = 0
    /// Why the last run failed; nil after one that did not.
    var failure: String?
    /// Garbage that the last run had to leave.
    var futileBytes: UInt64 = 0
  }

  init(_ policy: CompactionPolicy) { self.policy = policy }

  var current: Counts { lock.withLock { counts } }

  /// Called by the committer after a commit.
  @inline(__always)
  func note(_ totals: CompactionPolicy.Totals, of engine: Engine) {
    if totals.garbageBytes >= policy.deadBytesMin { consider(totals, engine) }
  }

  private func consider(_ totals: CompactionPolicy.Totals, _ engine: Engine) {
    lock.withLock {
      guard !isWanted, !isStopped, policy.isDue(totals, futile: counts.futileBytes) else { return }
      isWanted = true
      if isStarted { return condition.signal() }
      isStarted = PlatformThread.start(name: "perdure-compact") { [self, weak engine] in work { engine } }
      guard !isStarted else { return }
      counts.failure = "The system gave no thread to compact on"
      // Asked again when there is more garbage.
      isWanted = false
      counts.futileBytes = totals.garbageBytes
    }
  }

  func stop() {
    lock.withLock {
      isStopped = true
      condition.broadcast()
    }
  }

  private func work(_ engine: () -> Engine?) {
    while waitUntilWanted() {
      guard let engine = engine() else { return }
      run(engine)
    }
  }

  private func waitUntilWanted() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    while !isWanted && !isStopped { condition.wait(lock) }
    return !isStopped
  }

  private func run(_ engine: Engine) {
    let before = engine.usageTotals
    let result = Result { try engine.compact(limits(engine, before)) }
    let after = engine.usageTotals
    lock.withLock {
      isWanted = false
      counts.futileBytes = after.garbageBytes
      switch result {
      case .success(let report):
        counts.runs += 1
        counts.bytesWritten += report.bytesAfter
        counts.failure = nil
      case .failure(let error):
        counts.failure = "\(error)"
      }
    }
  }

  private func limits(_ engine: Engine, _ totals: CompactionPolicy.Totals) -> CompactionLimits {
    var limits = CompactionLimits()
    limits.rollsLog = policy.closesLast(engine.lastSegmentUsage)
    limits.choose = { [policy] in policy.choose($0, totals) }
    var next = Clock.nowNanoseconds()
    limits.pace = { [policy, unowned engine] bytes in
      guard bytes > 0, let speed = policy.speed(engine.usageTotals) else {
        return try engine.compaction.checkNotStopped()
      }
      next = max(next, Clock.nowNanoseconds()) + UInt64(Double(bytes) / speed * 1e9)
      try engine.compaction.sleep(untilNanoseconds: next)
    }
    return limits
  }
}

extension StoreOptions {
  /// What compacts a store that is opened so by itself; nil: nothing does.
  var compactor: Compactor? {
    guard compactsAutomatically, !isReadOnly else { return nil }
    let least = min(8 << 20, max(1 << 20, segmentCapacityBytes / 8))
    return Compactor(
      CompactionPolicy(
        garbageRatio: compactionGarbageRatio, deadBytesMin: UInt64(least),
        bytesPerSecond: Double(compactionBytesPerSecond)))
  }
}
