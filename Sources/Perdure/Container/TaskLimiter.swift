internal import PerdureFileIO

// The limit of background tasks.
//
// Fetches and saves block their thread, so each running task needs a thread of its own. Without a
// limit, a server has a thread for each request. Tasks beyond the limit wait in order, without a
// thread.
//
//   BT1. A task begins only while fewer than `limit` tasks run. Waiting tasks begin in the order
//        in which they entered the queue.
//   BT2. A task that is cancelled while it waits leaves the queue with `CancellationError`.

/// Lets a limited number of tasks run at a time.
final class TaskLimiter: Sendable {
  private struct State {
    var limit: Int
    var runningCount = 0
    var nextID: UInt64 = 0
    /// The tasks that wait, by id.
    var waiting: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    /// The ids of tasks in the order in which they entered the queue, beginning at the index
    /// `first`. Some of these tasks no longer wait.
    private var line: [UInt64] = []
    private var first = 0

    init(limit: Int) { self.limit = limit }

    /// Counts one more running task, if the limit allows it.
    mutating func begin() -> Bool {
      guard runningCount < limit else { return false }
      runningCount += 1
      return true
    }

    mutating func enqueue(_ id: UInt64, _ continuation: CheckedContinuation<Void, any Error>) {
      waiting[id] = continuation
      line.append(id)
    }

    /// Removes from the queue the first waiting tasks that may now run.
    mutating func admit() -> [CheckedContinuation<Void, any Error>] {
      var admitted: [CheckedContinuation<Void, any Error>] = []
      while !waiting.isEmpty, begin() { admitted.append(dequeue()) }
      return admitted
    }

    private mutating func dequeue() -> CheckedContinuation<Void, any Error> {
      while true {
        let id = line[first]
        first += 1
        // Each id is moved at most once on average.
        if 2 * first >= line.count {
          line.removeFirst(first)
          first = 0
        }
        if let continuation = waiting.removeValue(forKey: id) { return continuation }
      }
    }
  }

  private let state: Guarded<State>

  init(limit: Int) { state = Guarded(State(limit: limit)) }

  var limit: Int { state.withLock { $0.limit } }

  /// The number of waiting tasks.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Sets the limit. Running tasks continue.
  func setLimit(_ limit: Int) {
    resume(
      state.withLock { state in
        state.limit = limit
        return state.admit()
      })
  }

  /// Runs `body`, and waits first if the limit is reached.
  ///
  /// - Throws: `CancellationError` if the task is cancelled while it waits; errors of `body`.
  func run<T: Sendable>(_ body: () async throws -> T) async throws -> T {
    try await begin()
    defer {
      resume(
        state.withLock { state in
          state.runningCount -= 1
          return state.admit()
        })
    }
    return try await body()
  }

  private func begin() async throws {
    let id = state.withLock { state -> UInt64? in
      if state.waiting.isEmpty, state.begin() { return nil }
      defer { state.nextID += 1 }
      return state.nextID
    }
    guard let id else { return }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let admitted = state.withLock { state in
          state.enqueue(id, continuation)
          return state.admit()
        }
        resume(admitted)
        // The task may have been cancelled before it was in the queue.
        if Task.isCancelled { leave(id) }
      }
    } onCancel: {
      leave(id)
    }
  }

  private func leave(_ id: UInt64) {
    state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(throwing: CancellationError())
  }

  private func resume(_ admitted: [CheckedContinuation<Void, any Error>]) {
    for continuation in admitted { continuation.resume() }
  }
}
