import PerdureFileIO

/// The pauses of an opening that waits for the writer's lock. The first pause is 1 ms. Each pause
/// is twice as long as the previous one, up to 100 ms.
struct LockWait {
  private static let pauseMax: UInt64 = 100_000_000

  private let deadline: UInt64
  private var pause: UInt64 = 1_000_000

  init(_ timeout: Duration) {
    let (seconds, attoseconds) = timeout.components
    let (whole, isTooLong) = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let most = UInt64(Int64.max / 2)
    let rest = UInt64(clamping: attoseconds / 1_000_000_000)
    deadline = Clock.nowNanoseconds() + (isTooLong ? most : min(whole, most)) + rest
  }

  /// Sleeps until the next attempt.
  ///
  /// - Returns: False, without sleeping, if the timeout is over.
  /// - Throws: `CancellationError` if the task that opens the store is cancelled.
  mutating func next() throws -> Bool {
    let now = Clock.nowNanoseconds()
    guard now < deadline else { return false }
    try Task.checkCancellation()
    let end = min(deadline, now + pause)
    let (lock, condition) = (Lock(), Condition())
    lock.withLock { while condition.wait(lock, untilNanoseconds: end) {} }
    pause = min(2 * pause, Self.pauseMax)
    return true
  }
}
