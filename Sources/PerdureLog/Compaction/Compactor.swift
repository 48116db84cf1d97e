import PerdureFileIO

/// Compacts in the background: a thread sleeps until enough garbage is reported.
///
/// The thread retains the engine only while it works, so a released store can be freed.
///
/// Garbage that snapshots hold cannot be freed. It does not count until the snapshots are released
/// (`HeldGarbage`).
///
/// Invariant: `hasReleased` is reset before files are freed and pins are read, not after. A release
/// between these steps either is visible in the pins, or sets `hasReleased` again and causes one
/// more round.
// Unchecked: its state is guarded by `lock`.
final class Compactor: @unchecked Sendable {
  private let lock = Lock()
  private let condition = Condition()
  private var isWanted = false
  private var isStopped = false
  private var isStarted = false
  private var counts = Counts()
  private var garbage = HeldGarbage()
  private var hasReleased = false
  private let policy: CompactionPolicy

  /// The counts of its runs since the store was opened.
  struct Counts: Hashable, Sendable {
    var runs = 0
    /// The reason why the last run failed; nil if it did not fail.
    var failure: String?
    /// Garbage that the last run left, without garbage that snapshots hold.
    var futileBytes: UInt64 = 0
  }

  init(_ policy: CompactionPolicy) { self.policy = policy }

  var current: Counts { lock.withLock { counts } }

  /// The garbage that snapshots hold.
  var heldBytes: HeldGarbage.Bytes { lock.withLock { garbage.bytes } }

  /// Called by the committer at the opening and after each commit.
  @inline(__always)
  func note(_ totals: CompactionPolicy.Totals, of engine: Engine) {
    if totals.garbageBytes >= policy.deadBytesMin { consider(totals, engine) }
  }

  /// Whether a run has left garbage because of snapshots, or is about to do so.
  var isHeldBack: Bool { lock.withLock { garbage.isAny } }

  /// Whether `noteRelease` was called since the pins were last read.
  var hasUnreadReleases: Bool { lock.withLock { hasReleased } }

  /// Whether its thread has no work.
  var isIdle: Bool { lock.withLock { !isWanted } }

  /// Notes the release of a snapshot that prevented the removal of files or garbage
  /// (`PinTable.isAwaited`).
  func noteRelease(in engine: Engine) {
    lock.withLock {
      hasReleased = true
      if !isWanted && !isStopped { want(engine, CompactionPolicy.Totals()) }
    }
  }

  private func consider(_ totals: CompactionPolicy.Totals, _ engine: Engine) {
    lock.withLock {
      guard !isWanted, !isStopped, isDue(totals) else { return }
      want(engine, totals)
    }
  }

  /// Whether there is enough garbage for a run. The caller holds the lock.
  private func isDue(_ totals: CompactionPolicy.Totals) -> Bool {
    policy.isDue(totals.without(held: garbage.bytes), futile: counts.futileBytes)
  }

  private func want(_ engine: Engine, _ totals: CompactionPolicy.Totals) {
    isWanted = true
    if isStarted { return condition.signal() }
    isStarted = PlatformThread.start(name: "perdure-compact") { [self, weak engine] in work { engine } }
    guard !isStarted else { return }
    counts.failure = "The system refused a thread for compaction"
    // The run is retried when there is more garbage.
    isWanted = false
    counts.futileBytes = totals.without(held: garbage.bytes).garbageBytes
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
      // Commits may have added garbage meanwhile, and no further commit may follow for a long time.
      while runIfDue(engine) {}
      lock.withLock { isWanted = hasReleased }
    }
  }

  private func waitUntilWanted() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    while !isWanted && !isStopped { condition.wait(lock) }
    return !isStopped
  }

  /// Frees the files of released snapshots. Then runs a compaction on this thread, if there is
  /// enough garbage for a run.
  ///
  /// - Returns: Whether there was enough garbage for a run.
  @discardableResult
  func runIfDue(_ engine: Engine) -> Bool {
    takeReleases(engine)
    forget(unless: pinned(in: engine))
    let totals = engine.usageTotals
    guard lock.withLock({ isDue(totals) }) else { return false }
    let result = Result { try engine.compact(limits(engine, totals)) }
    let after = engine.usageTotals
    lock.withLock {
      garbage.endRun()
      counts.futileBytes = after.without(held: garbage.bytes).garbageBytes
      switch result {
      case .success:
        counts.runs += 1
        counts.failure = nil
      case .failure(let error):
        counts.failure = "\(error)"
      }
    }
    return true
  }

  // The following steps run one after another. They are separate functions, so that tests can
  // release snapshots between them.

  /// Frees the files of released snapshots.
  private func takeReleases(_ engine: Engine) {
    let (isAny, hasFailed) = lock.withLock {
      defer { hasReleased = false }
      return (hasReleased, counts.failure != nil)
    }
    guard isAny else { return }
    let before = hasFailed ? engine.replacedSegmentBytes : 0
    engine.removeReleasedFiles()
    // The freed space may be enough for the run that failed.
    if hasFailed, engine.replacedSegmentBytes < before { lock.withLock { counts.futileBytes = 0 } }
  }

  /// The held versions. If garbage waits for a snapshot, the next release of a snapshot is
  /// reported.
  func pinned(in engine: Engine) -> PinnedVersions {
    isHeldBack ? engine.pins.heldAndAwaited(published: engine.version) : engine.pins.held()
  }

  /// Counts the garbage of released snapshots as freeable again.
  func forget(unless pinned: PinnedVersions) {
    lock.withLock { garbage.forget { pinned.mayHold($0...$0) } }
  }

  private func limits(_ engine: Engine, _ totals: CompactionPolicy.Totals) -> CompactionLimits {
    var limits = CompactionLimits()
    limits.rollsLog = policy.closesLast(engine.lastSegmentUsage)
    limits.choose = { [self] candidates in choose(candidates, totals) }
    limits.didKeep = { [self] versions in lock.withLock { garbage.beginRun(keeping: versions) } }
    limits.didExamine = { [self] number, held in lock.withLock { garbage.note(number, held) } }
    var pace = CompactionPace(policy, totals.without(held: heldBytes), now: Clock.nowNanoseconds())
    limits.pace = { [self, unowned engine] bytes in
      guard bytes > 0 else { return try engine.compaction.checkNotStopped() }
      let totals = engine.usageTotals.without(held: heldBytes)
      let start = pace.pass(bytes, totals, now: Clock.nowNanoseconds())
      try engine.compaction.sleep(untilNanoseconds: start)
    }
    return limits
  }

  private func choose(_ candidates: [CompactionCandidate], _ totals: CompactionPolicy.Totals) -> Set<UInt64> {
    let numbers = Set(candidates.map(\.number))
    let known = lock.withLock {
      garbage.forgetSegments(except: numbers)
      return garbage
    }
    return policy.choose(
      candidates.map { $0.without(held: known.bytes(in: $0.number).dead) }, totals.without(held: known.bytes))
  }
}

extension StoreOptions {
  /// The compactor of a store that is opened with background compaction; nil otherwise.
  var compactor: Compactor? {
    guard compactsAutomatically, !isReadOnly else { return nil }
    return Compactor(compactionPolicy)
  }

  /// The policy of a store that is opened with these options.
  var compactionPolicy: CompactionPolicy {
    let least = min(8 << 20, max(1 << 20, segmentCapacityBytes / 8))
    return CompactionPolicy(
      garbageRatio: compactionGarbageRatio, deadBytesMin: compactionGarbageBytesMin ?? UInt64(least),
      bytesPerSecond: Double(compactionBytesPerSecond))
  }
}
