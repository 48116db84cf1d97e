internal import PerdureFileIO

/// The open stores of a container, protected by a lock.
///
/// A thread holds the lock while it opens stores. If another thread forks the process meanwhile,
/// the child does not have the first thread. So a forked child does not wait for the lock. The
/// value is one reference, so the child finds the stores from before or from after a change.
// Unchecked: only `withLock` accesses `stores`, and it holds `lock`. In a forked child, it may run
// without the lock, because the thread that holds the lock exists only in the parent.
final class GuardedStores: @unchecked Sendable {
  private let lock = Lock()
  private let mark = ProcessMark.currentIfAny()
  private var stores: OpenStores?

  /// Calls `body` while the lock is held, with the open stores, or with nil if none is open.
  func withLock<Result, Failure: Error>(
    _ body: (inout OpenStores?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let isHeld = acquire()
    defer { if isHeld { lock.unlock() } }
    return try body(&stores)
  }

  /// - Returns: False if a forked child continues without the lock.
  private func acquire() -> Bool {
    guard mark?.isOwn ?? true else { return lock.tryLock() }
    lock.lock()
    return true
  }
}
