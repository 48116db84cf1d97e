internal import Dispatch

/// A context on its own queue, for work outside the caller's isolation.
///
/// The context is accessible only inside `perform` and `performAndWait`, and objects cannot leave
/// them: their results are `Sendable`. Between two calls the context keeps its objects and its
/// unsaved changes. Each call first advances the context to the newest state of the store, unless
/// the context is pinned. A call inside another call does not advance the context.
public final class BackgroundContext {
  private let context: ManagedObjectContext
  private let mark: QueueMark
  private let turn: QueueTurn
  /// The event streams of the context, which any thread may use.
  let streams: EventStreams

  init(_ source: ContextSource) {
    mark = QueueMark(DispatchQueue(label: "perdure.context"))
    turn = QueueTurn(mark.queue)
    context = ManagedObjectContext(source, ownership: .queue(mark))
    streams = context.core.eventHub.streams
  }

  /// Runs a task in the context, after earlier tasks. The caller's thread is not blocked.
  ///
  /// `body` runs as a part of the calling task: `Task.isCancelled` and task-local values are those
  /// of the task. If the task is cancelled, a fetch or count in `body` throws `CancellationError`.
  /// `body` itself always runs.
  ///
  /// - Parameter body: The work to do with the context, on its queue.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`. Unsaved changes stay in the context.
  public func perform<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let flag = CancellationFlag()
    return try await withTaskCancellationHandler {
      try await turn.run { try self.run(body, cancelledBy: flag) }
    } onCancel: {
      flag.set()
    }
  }

  /// Runs a task in the context and waits for it. May be called inside a task of the same context.
  ///
  /// - Returns: The result of the task.
  /// - Throws: The error of the task. Unsaved changes stay in the context.
  public func performAndWait<T: Sendable>(
    _ body: @Sendable (ManagedObjectContext) throws -> T
  ) throws -> T {
    if mark.isCurrent { return try body(context) }
    return try mark.queue.sync { try run(body) }
  }

  private func run<T>(
    _ body: (ManagedObjectContext) throws -> T, cancelledBy flag: CancellationFlag? = nil
  ) throws -> T {
    context.core.editing.advancing.advance()
    context.core.activity.cancellation = flag
    defer {
      context.core.activity.cancellation = nil
      context.core.operations.eventEnd.endEvent()
    }
    return try body(context)
  }
}

// Unchecked: the context is used only on its queue, by one call at a time. The compiler prevents it
// from leaving the closures.
extension BackgroundContext: @unchecked Sendable {}

/// Runs functions on a queue, one at a time, as parts of the tasks that call it.
private actor QueueTurn {
  private let executor: QueueExecutor

  init(_ queue: DispatchQueue) { executor = QueueExecutor(queue) }

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func run<R: Sendable>(_ body: @Sendable () throws -> R) rethrows -> R { try body() }
}

private final class QueueExecutor: SerialExecutor {
  private let queue: DispatchQueue

  init(_ queue: DispatchQueue) { self.queue = queue }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
