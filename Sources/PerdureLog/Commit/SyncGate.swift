import PerdureFileIO
import PerdureFormat
import Synchronization

/// Group commit, second half: one sync for everybody who waits.
///
/// A commit is first appended and published under the committer's turn, then its caller comes
/// here if it asked for more than that. Whoever finds no sync under way becomes the leader and
/// syncs up to what is appended at that moment; the others wait, and most of them find their
/// commit covered when the leader is back. Appending goes on meanwhile.
///
/// Invariants
///  S1  `synced <= appended`, both only grow.
///  S2  A commit is acknowledged as durable only if `synced` has passed its end.
///  S3  After a failed sync the gate is poisoned for ever: nothing is retried, nothing more is
///      acknowledged, because the failed sync may have dropped what it was to write.
// Unchecked: everything below is guarded by `lock`, or atomic.
final class SyncGate: @unchecked Sendable {
  private let lock = Lock()
  private let condition = Condition()
  private var appended: LogPosition
  private var synced: LogPosition
  private var file: (any File)?
  private var isSyncing = false
  private var failure: StoreError?
  /// Whether there is a failure: what every commit asks for, without the lock.
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
    self.synced = synced
    appended = synced
    self.file = file
  }

  /// What is durable now.
  var syncedEnd: LogPosition { lock.withLock { synced } }

  /// Why nothing more can be made durable; nil while all is well.
  var poison: StoreError? { isPoisoned.load(ordering: .acquiring) ? lock.withLock { failure } : nil }

  /// How many syncs there were.
  var syncs: Int { lock.withLock { syncCount } }

  /// The committer has written the log up to `end`, in `file`. Everything in earlier segments
  /// has been synced (a segment is born only after that), so `synced` moves to the file's start.
  func didAppend(upTo end: LogPosition, in file: any File) {
    lock.withLock {
      appended = end
      self.file = file
      if synced.segment < end.segment { synced = LogPosition(segment: end.segment, offset: 0) }
    }
  }

  /// The committer could not write, or could not sync an old segment. S3
  func poison(_ error: StoreError) {
    lock.withLock { fail(error) }
  }

  /// Waits until the log is durable up to `end`.
  func waitUntilSynced(_ end: LogPosition) throws(StoreError) {
    lock.lock()
    defer { lock.unlock() }
    while synced < end {
      if let failure { throw failure }
      if isSyncing { condition.wait(lock) } else { lead() }
    }
  }

  /// Waits without a thread until the log is durable up to `end`.
  func synced(_ end: LogPosition) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      enqueue(Waiter(end: end, continuation: continuation))
    }
  }

  /// Asks for a sync that covers `end`, and waits for nothing.
  func requestSync(_ end: LogPosition) { enqueue(Waiter(end: end, continuation: nil)) }

  /// Ends the worker thread and fails whoever still waits.
  func stop() {
    lock.withLock {
      worker = .stopped
      fail(failure ?? .closed)
      condition.broadcast()
    }
  }

  private func enqueue(_ waiter: Waiter) {
    lock.withLock {
      if synced >= waiter.end { return resume(waiter, nil) }
      if let failure { return resume(waiter, failure) }
      waiters.append(waiter)
      startWorker()
      condition.broadcast()
    }
  }

  private func startWorker() {
    guard case .none = worker else { return }
    worker = .running
    let started = PlatformThread.start(name: "perdure-sync") { self.work() }
    if !started {
      worker = .none
      fail(StoreError(.io, "The system gave no thread to sync on; use the synchronous calls"))
    }
  }

  private func work() {
    lock.lock()
    defer { lock.unlock() }
    while case .running = worker {
      if waiters.isEmpty || isSyncing { condition.wait(lock) } else { lead() }
    }
  }

  /// Syncs once, with the lock given up meanwhile.
  private func lead() {
    isSyncing = true
    let target = appended
    let file = self.file
    lock.unlock()
    let result = Result { () throws(FileIOError) in try file?.sync(.full) }
    lock.lock()
    isSyncing = false
    syncCount += 1
    switch result {
    case .success:
      if synced < target { synced = target }
      resumeWaiters()
    case .failure(let error):
      fail(
        StoreError(
          .poisoned, "A sync failed: what was not yet durable may be lost. Close the store and open it again",
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
      if synced >= waiter.end {
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
