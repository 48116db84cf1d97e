import PerdureFileIO

/// Runs an asynchronous function on the thread of the caller. A forked child has no other thread.
enum InlineTask {
  /// - Throws: The error of `body`; `Violation` if `body` waits for another thread.
  static func run(_ body: @escaping @Sendable () async throws -> Void) throws {
    let outcome = Guarded<Result<Void, any Error>?>(nil)
    Task(executorPreference: CallersThread()) {
      let result: Result<Void, any Error>
      do { result = .success(try await body()) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
    }
    guard let result = outcome.withLock({ $0 }) else { throw Violation("waits for another thread") }
    try result.get()
  }
}

/// Runs each part of a task as soon as it can run, on the thread that made it ready.
private final class CallersThread: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
  }
}
