import PerdureFileIO
import Synchronization

/// Writes checkpoints when they are due, one at a time, and none after the store is closed.
///
/// A thread starts when the tail of the log becomes long for the first time. It waits until the
/// committer reports that a checkpoint is due, or until the store is idle. Neither commits nor
/// readers wait for the thread.
///
/// Invariants
///  CP1  A thread that writes sets `isRunning` first, and then owns `writer`. After `stop`, the
///       thread that closes the store owns `writer`.
///  CP2  After `stop` this object neither writes nor uses the engine.
// Unchecked: its state is guarded by `lock`; `writer` by CP1.
final class Checkpointer: @unchecked Sendable {
  private let lock = Lock()
  private let condition = Condition()
  private let options: CheckpointOptions
  private var hasThread = false
  private var isDue = false
  private var isWatched = false
  private var isRunning = false
  private var isStopped = false
  private let isStopping = Atomic<Bool>(false)
  private var counters = CheckpointCounters()
  /// The checkpoint writer. CP1
  var writer: CheckpointWriter
  // The reference is `unowned(unsafe)`, because a counted reference makes each retain and release
  // of the engine slower. The engine calls `stop` before it is freed (CP2).
  private unowned(unsafe) var engine: Engine?

  init(_ writer: consuming CheckpointWriter, _ options: CheckpointOptions) {
    self.writer = writer
    self.options = options
  }

  /// The counts of checkpoints since the store was opened.
  var statistics: CheckpointCounters { lock.withLock { counters } }

  /// Whether the thread neither writes a checkpoint nor is about to write one. A thread that waits
  /// until the store is idle counts as idle.
  var isIdle: Bool { lock.withLock { !isRunning && !(isDue && hasThread && !isStopped) } }

  /// Notes that the tail is long enough to write a checkpoint, or to wait until the store is idle.
  /// Called by the committer in its turn.
  ///
  /// - Returns: Whether a thread exists that will write the checkpoint.
  func note(isDue: Bool, for engine: Engine) -> Bool {
    lock.withLock {
      self.engine = engine
      if isDue { self.isDue = true } else { isWatched = true }
      startThread()
      condition.broadcast()
      return hasThread
    }
  }

  /// Writes a checkpoint on this thread. If another thread is writing one, waits for it first.
  func perform(for engine: Engine) throws {
    lock.lock()
    defer { lock.unlock() }
    while isRunning && !isStopped { condition.wait(lock) }
    if isStopped { throw StoreError.closed }
    try run(engine)
  }

  /// Waits for the checkpoint that is being written, if any.
  func waitForRunning() {
    lock.withLock {
      while isRunning && !isStopped { condition.wait(lock) }
    }
  }

  /// Ends the thread, and cancels a checkpoint that is being written. CP2
  func stop() {
    isStopping.store(true, ordering: .relaxed)
    lock.withLock {
      isStopped = true
      condition.broadcast()
      while isRunning { condition.wait(lock) }
    }
  }

  /// Counts a checkpoint that was written at close.
  func count(_ result: Result<Bool, any Error>) {
    lock.withLock { counters.add(result, writer.writtenByteCount, writer.byteCountInUse) }
  }

  private func startThread() {
    guard !hasThread, !isStopped else { return }
    // If the system cannot start a thread, the committer retries when the tail has grown enough for
    // the next checkpoint (`noteTail`). Until then only `close` and `Store.checkpoint()` write one.
    hasThread = PlatformThread.start(name: "perdure-index") { self.work() }
  }

  private func work() {
    lock.lock()
    defer { lock.unlock() }
    while !isStopped {
      if isRunning || !(isDue || isWatched) {
        condition.wait(lock)
      } else if isDue || waitUntilIdle() {
        runInBackground()
      }
    }
  }

  /// Waits for `idleSeconds`. Returns false if a commit was made meanwhile or the wait was
  /// interrupted; otherwise true.
  private func waitUntilIdle() -> Bool {
    guard let version = engine?.version else { return false }
    let deadline = Clock.nowNanoseconds() + UInt64(options.idleSeconds * 1e9)
    while Clock.nowNanoseconds() < deadline {
      _ = condition.wait(lock, untilNanoseconds: deadline)
      if isDue || isStopped || isRunning { return false }
    }
    return engine?.version == version
  }

  private func runInBackground() {
    guard let engine else { return }
    // The failure is counted, and the checkpoint is retried when the tail has grown. The store does
    // not depend on the checkpoint.
    do { try run(engine) } catch { return }
  }

  /// Writes a checkpoint. The lock is released meanwhile.
  private func run(_ engine: Engine) throws {
    isRunning = true
    isDue = false
    isWatched = false
    lock.unlock()
    let isStopping = { [unowned self] in self.isStopping.load(ordering: .relaxed) }
    writer.isCancelled = isStopping
    let result = Result { try engine.writeCheckpoint(with: &writer) }
    lock.lock()
    isRunning = false
    counters.add(result, writer.writtenByteCount, writer.byteCountInUse)
    condition.broadcast()
    _ = try result.get()
  }
}

/// The counts of checkpoints since the store was opened.
struct CheckpointCounters: Sendable {
  var count = 0
  var failureCount = 0
  var lastFailure: String?
  var writtenByteCount: UInt64 = 0
  var byteCountInUse = 0

  mutating func add(_ result: Result<Bool, any Error>, _ written: UInt64, _ inUse: Int) {
    writtenByteCount = written
    byteCountInUse = inUse
    switch result {
    case .success(let isNew): count += isNew ? 1 : 0
    case .failure(let error):
      if error is IndexFile.Cancelled { return }
      failureCount += 1
      lastFailure = "\(error)"
    }
  }
}
