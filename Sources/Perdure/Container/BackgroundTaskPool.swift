internal import Dispatch
internal import PerdureFileIO

// The queues of background tasks.
//
// Fetches and saves block their thread, so each running task needs one. A dispatch queue for each
// task would let the system make a thread for each request of a server. Here a limited number of
// serial queues is used again and again. Tasks beyond the limit wait in order, without a thread.
//
//   BT1. At most `limit` tasks have a queue. No two tasks have the same queue.
//   BT2. A task waits only while `limit` tasks have queues. Queues are given in the order of
//        asking.
//   BT3. A task that is cancelled while it waits leaves the line with `CancellationError`.

/// Lends queues to background tasks, a limited number at a time.
final class BackgroundTaskPool: Sendable {
  private struct Waiter {
    var id: UInt64
    var continuation: CheckedContinuation<QueueMark, any Error>
  }

  private struct State {
    var limit: Int
    var lentCount = 0
    var idle: [QueueMark] = []
    var nextID: UInt64 = 0
    /// The line. It begins at `first`; tasks before it have left.
    private var waiting: [Waiter] = []
    private var first = 0

    init(limit: Int) { self.limit = limit }

    var waitingCount: Int { waiting.count - first }

    mutating func enqueue(_ waiter: Waiter) { waiting.append(waiter) }

    mutating func remove(_ id: UInt64) -> Waiter? {
      waiting[first...].firstIndex { $0.id == id }.map { waiting.remove(at: $0) }
    }

    private mutating func dequeue() -> Waiter {
      defer {
        first += 1
        // Each waiter is moved at most once on average.
        if 2 * first >= waiting.count {
          waiting.removeFirst(first)
          first = 0
        }
      }
      return waiting[first]
    }

    /// A queue, if the limit allows one more.
    mutating func lend() -> QueueMark? {
      guard lentCount < limit else { return nil }
      lentCount += 1
      return idle.popLast() ?? QueueMark(DispatchQueue(label: "perdure.task"))
    }

    /// Takes the first waiting tasks for which there are queues out of the line.
    mutating func admit() -> [(Waiter, QueueMark)] {
      var admitted: [(Waiter, QueueMark)] = []
      while waitingCount > 0, let queue = lend() { admitted.append((dequeue(), queue)) }
      return admitted
    }
  }

  private let state: Guarded<State>

  init(limit: Int) { state = Guarded(State(limit: limit)) }

  var limit: Int { state.withLock { $0.limit } }

  /// How many tasks are in the line.
  var waitingCount: Int { state.withLock { $0.waitingCount } }

  /// Sets the limit. Tasks that have queues keep them.
  func setLimit(_ limit: Int) {
    resume(
      state.withLock { state in
        state.limit = limit
        state.idle.removeLast(max(0, state.idle.count - limit))
        return state.admit()
      })
  }

  /// Lends a queue to `body`, and waits for one if the limit is reached.
  ///
  /// - Throws: `CancellationError` if the task is cancelled while it waits; errors of `body`.
  func withQueue<T: Sendable>(_ body: (QueueMark) async throws -> T) async throws -> T {
    let queue = try await take()
    defer { giveBack(queue) }
    return try await body(queue)
  }

  private func take() async throws -> QueueMark {
    let (queue, id) = state.withLock { state -> (QueueMark?, UInt64) in
      defer { state.nextID += 1 }
      return (state.waitingCount > 0 ? nil : state.lend(), state.nextID)
    }
    if let queue { return queue }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let admitted = state.withLock { state in
          state.enqueue(Waiter(id: id, continuation: continuation))
          return state.admit()
        }
        resume(admitted)
        // The handler may have run before the task was in the line.
        if Task.isCancelled { leave(id) }
      }
    } onCancel: {
      leave(id)
    }
  }

  private func leave(_ id: UInt64) {
    state.withLock { $0.remove(id) }?.continuation.resume(throwing: CancellationError())
  }

  private func giveBack(_ queue: QueueMark) {
    resume(
      state.withLock { state in
        state.lentCount -= 1
        if state.lentCount < state.limit { state.idle.append(queue) }
        return state.admit()
      })
  }

  private func resume(_ admitted: [(Waiter, QueueMark)]) {
    for (waiter, queue) in admitted { waiter.continuation.resume(returning: queue) }
  }
}
