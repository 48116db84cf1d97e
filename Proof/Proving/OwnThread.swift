import PerdureFileIO

/// Runs `body` on a thread of its own, because it waits: the threads of the pool are few.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await onThread { _ in try body() }
}

/// The same for what waits long.
///
/// - Parameter body: Is given what says whether the task was cancelled meanwhile.
func onThread<R: Sendable>(_ body: @escaping @Sendable (_ isCancelled: () -> Bool) throws -> R) async throws
  -> R
{
  let isCancelled = Guarded(false)
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      let isStarted = PlatformThread.start(name: "proof") {
        continuation.resume(with: Result { try body { isCancelled.withLock { $0 } } })
      }
      if !isStarted { continuation.resume(throwing: Violation("the system gave no thread")) }
    }
  } onCancel: {
    isCancelled.withLock { $0 = true }
  }
}
