import PerdureFileIO
import PerdureFormat
import Synchronization

/// The second half of group commit: one sync for all waiting callers.
///
/// A commit is first appended and published in the committer's turn. If the commit must be durable,
/// its caller then waits here. A caller that finds no running sync becomes the leader, and syncs
/// everything appended so far. The other callers wait. The leader's sync covers the commits of most
/// of them. Appending continues meanwhile.
///
/// Invariants
///  SG1  `synced <= appended`, and both only grow.
///  SG2  A commit is acknowledged as durable only if `synced` has passed its end.
///  SG3  After a failed sync the gate stays poisoned. It does not retry and acknowledges no further
///       commit, because the system may have dropped the unwritten pages.
///  SG4  `appended` is a position in `file`. Within a segment the committer advances it without the
///       lock, because acquiring the lock makes every commit slower. When the segment changes, the
///       committer sets `appended` and `file` under the lock.
// Unchecked: everything below is guarded by `lock`, or atomic.
final class SyncGate: @unchecked Sendable {
  private let lock = Lock()
  private let condition = Condition()
  private let appended: Atomic<UInt64>
  /// Changed only under the lock. Every commit reads it without the lock.
  private let synced: Atomic<UInt64>
  private var file: (any File)?
  private var isSyncing = false
  private var failure: StoreError?
  /// Whether `failure` is set. Every commit reads it without the lock.
  private let isPoisoned = Atomic<Bool>(false)
  private var waiters: [Waiter] = []
  private var worker: WorkerState = .none
  private(set) var syncCount = 0

  private struct Waiter {
    let end: LogPosition
    let continuation: CheckedContinuation<Void, any Error>?
  }

  private enum WorkerState { case none, running, stopped }

  init(synced: LogPosition, file: (any File)?) {
    self.synced = Atomic(synced.packed)
    appended = Atomic(synced.packed)
    self.file = file
  }

  /// The position up to which the log is durable.
  var syncedEnd: LogPosition { LogPosition(packed: synced.load(ordering: .acquiring)) }

  /// The error after which no further commit can become durable; nil if there was none.
  var poison: StoreError? { isPoisoned.load(ordering: .acquiring) ? lock.withLock { failure } : nil }

  /// The number of syncs.
  var syncs: Int { lock.withLock { syncCount } }

  /// Notes that a segment was created. Its header, which ends at `end`, and everything before it
  /// are durable.
  func didBegin(_ file: any File, at end: LogPosition) {
    lock.withLock {
      self.file = file
      appended.store(end.packed, ordering: .releasing)
      synced.store(end.packed, ordering: .releasing)
    }
  }

  /// Notes that the committer has written the log up to `end`, in the newest segment.
  func didAppend(upTo end: LogPosition) { appended.store(end.packed, ordering: .releasing) }

  /// Notes an error after which no further commit can become durable, such as a failed write. SG3
  func poison(_ error: StoreError) {
    lock.withLock { fail(error) }
  }

  /// Waits until the log is durable up to `end`.
  func waitUntilSynced(_ end: LogPosition) throws(StoreError) {
    lock.lock()
    defer { lock.unlock() }
    while syncedEnd < end {
      if let failure { throw failure }
      if isSyncing { condition.wait(lock) } else { lead() }
    }
  }

  /// Waits until the log is durable up to `end`. Blocks a thread only if no worker thread can be
  /// started.
  func synced(_ end: LogPosition) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      enqueue(Waiter(end: end, continuation: continuation))
    }
  }

  /// Requests a sync that covers `end`. Waits for it only if no worker thread can be started.
  func requestSync(_ end: LogPosition) { enqueue(Waiter(end: end, continuation: nil)) }

  /// Requests a sync in the background, if the gate is not poisoned and the worker thread runs or
  /// can be started.
  func syncAhead(_ end: LogPosition) {
    lock.withLock {
      guard syncedEnd < end, failure == nil, startWorker() else { return }
      waiters.append(Waiter(end: end, continuation: nil))
      condition.broadcast()
    }
  }

  /// Ends the worker thread, and resumes all waiting callers with an error.
  func stop() {
    lock.withLock {
      worker = .stopped
      fail(failure ?? .closed)
      condition.broadcast()
    }
  }

  private func enqueue(_ waiter: Waiter) {
    lock.withLock {
      if syncedEnd >= waiter.end { return resume(waiter, nil) }
      if let failure { return resume(waiter, failure) }
      waiters.append(waiter)
      if startWorker() { return condition.broadcast() }
      // No thread could be started, so this thread syncs. The leader resumes the waiters.
      while syncedEnd < waiter.end, failure == nil {
        if isSyncing { condition.wait(lock) } else { lead() }
      }
    }
  }

  /// - Returns: Whether the worker thread runs. It is started if necessary.
  private func startWorker() -> Bool {
    if case .none = worker, PlatformThread.start(name: "perdure-sync", { self.work() }) { worker = .running }
    if case .running = worker { return true }
    return false
  }

  private func work() {
    lock.lock()
    defer { lock.unlock() }
    while case .running = worker {
      if waiters.isEmpty || isSyncing { condition.wait(lock) } else { lead() }
    }
  }

  /// Syncs once. The lock is released meanwhile.
  private func lead() {
    isSyncing = true
    // SG4
    let target = appended.load(ordering: .acquiring)
    let file = self.file
    lock.unlock()
    let result = Result { () throws(FileIOError) in try file?.sync(.full) }
    lock.lock()
    isSyncing = false
    syncCount += 1
    switch result {
    case .success:
      if synced.load(ordering: .relaxed) < target { synced.store(target, ordering: .releasing) }
      resumeWaiters()
    case .failure(let error):
      fail(
        StoreError(
          .poisoned, "A sync failed: commits not yet durable may be lost. Close the store and open it again",
          cause: error))
    }
    condition.broadcast()
  }

  private func fail(_ error: StoreError) {
    if failure == nil { failure = error }
    isPoisoned.store(true, ordering: .releasing)
    resumeWaiters()
    condition.broadcast()
  }

  private func resumeWaiters() {
    let all = waiters
    waiters = []
    for waiter in all {
      if syncedEnd >= waiter.end {
        resume(waiter, nil)
      } else if let failure {
        resume(waiter, failure)
      } else {
        waiters.append(waiter)
      }
    }
  }

  private func resume(_ waiter: Waiter, _ error: StoreError?) {
    if let error { waiter.continuation?.resume(throwing: error) } else { waiter.continuation?.resume() }
  }
}

extension LogPosition {
  /// The position in one word. The words have the same order as the positions.
  fileprivate var packed: UInt64 { segment &<< Self.offsetBits | offset }

  fileprivate init(packed word: UInt64) {
    self.init(segment: word &>> Self.offsetBits, offset: word & (1 &<< Self.offsetBits &- 1))
  }

  /// The number of bits for the offset. No offset in a segment needs more bits, and segment numbers
  /// fit in the remaining bits of a word (FORMAT.md, section 17).
  private static var offsetBits: UInt64 { 32 }
}
