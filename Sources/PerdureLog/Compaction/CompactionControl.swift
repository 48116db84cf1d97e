import PerdureFileIO

/// Sees to it that one compaction runs at a time, and none any more when the store is let go of: another
/// process may own the files then.
// Unchecked: guarded by `lock`.
final class CompactionControl: @unchecked Sendable {
  private let lock = Lock()
  private let condition = Condition()
  private var isRunning = false
  private var isStopped = false

  /// Waits for its turn.
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

  /// To be asked between any two steps.
  func checkNotStopped() throws(StoreError) {
    if lock.withLock({ isStopped }) { throw .closed }
  }

  /// Sleeps, but no longer than until the store is let go of.
  func sleep(untilNanoseconds deadline: UInt64) throws(StoreError) {
    lock.lock()
    defer { lock.unlock() }
    while !isStopped && condition.wait(lock, untilNanoseconds: deadline) {}
    if isStopped { throw .closed }
  }

  /// Has a running compaction give up, waits until it has, and lets none begin any more.
  func stop() {
    lock.lock()
    defer { lock.unlock() }
    isStopped = true
    condition.broadcast()
    while isRunning { condition.wait(lock) }
  }
}
