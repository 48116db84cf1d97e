import PerdureFileIO

/// Runs `body` on a separate thread, because it blocks and the task pool has few threads.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await onThread { _ in try body() }
}

/// Runs a body that blocks for a long time on a separate thread.
///
/// - Parameter body: Its argument returns whether the task was cancelled.
/// - Throws: The errors of `body`, and a `Violation` if the system refuses a thread.
func onThread<R: Sendable>(_ body: @escaping @Sendable (_ isCancelled: () -> Bool) throws -> R) async throws
  -> R
{
  let isCancelled = Guarded(false)
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      let isStarted = PlatformThread.start(name: "proof") {
        continuation.resume(with: Result { try body { isCancelled.withLock { $0 } } })
      }
      if !isStarted { continuation.resume(throwing: Violation("the system refused a thread")) }
    }
  } onCancel: {
    isCancelled.withLock { $0 = true }
  }
}
