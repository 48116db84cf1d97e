import PerdureFileIO

/// Permits one compaction at a time, and none after the store is closed: another process may then
/// have the store open.
// Unchecked: guarded by `lock`.
final class CompactionControl: @unchecked Sendable {
  private let lock = Lock()
  private let condition = Condition()
  private var isRunning = false
  private var isStopped = false
  /// The segments, by number, for which a trial showed that grouping their records saves less than
  /// a twentieth of the length. Each value has the segment's counts at the time of the trial.
  private var notShrinking: [UInt64: SegmentUsage] = [:]

  /// Waits until no other compaction runs, and begins one. Throws `.closed` if the store is closed.
  func begin() throws(StoreError) {
    lock.lock()
    defer { lock.unlock() }
    while isRunning && !isStopped { condition.wait(lock) }
    if isStopped { throw .closed }
    isRunning = true
  }

  func end() {
    lock.withLock {
      isRunning = false
      condition.broadcast()
    }
  }

  /// Notes the result of a trial: grouping the records of the segment with these counts saves less
  /// than a twentieth of the length.
  func noteNotShrinking(_ segment: UInt64, _ usage: SegmentUsage) {
    lock.withLock { notShrinking[segment] = usage }
  }

  /// Whether `noteNotShrinking` was called for the segment, and its counts have not changed since.
  func doesNotShrink(_ segment: UInt64, _ usage: SegmentUsage) -> Bool {
    lock.withLock { notShrinking[segment] == usage }
  }

  /// Throws `.closed` if the store is closed. A compaction calls it between its steps.
  func checkNotStopped() throws(StoreError) {
    if lock.withLock({ isStopped }) { throw .closed }
  }

  /// Sleeps until the deadline. Throws `.closed` as soon as the store is closed.
  func sleep(untilNanoseconds deadline: UInt64) throws(StoreError) {
    lock.lock()
    defer { lock.unlock() }
    while !isStopped && condition.wait(lock, untilNanoseconds: deadline) {}
    if isStopped { throw .closed }
  }

  /// Cancels a running compaction, waits until it has ended, and allows none later.
  func stop() {
    lock.lock()
    defer { lock.unlock() }
    isStopped = true
    condition.broadcast()
    while isRunning { condition.wait(lock) }
  }
}
