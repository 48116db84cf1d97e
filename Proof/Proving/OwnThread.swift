import PerdureFileIO

/// Runs `body` on a thread of its own, because it waits: the threads of the pool are few.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    let isStarted = PlatformThread.start(name: "proof") { continuation.resume(with: Result { try body() }) }
    if !isStarted { continuation.resume(throwing: Violation("the system gave no thread")) }
  }
}
