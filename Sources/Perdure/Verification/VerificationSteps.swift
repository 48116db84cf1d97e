/// The progress of a verification, and its cancellation.
final class VerificationSteps {
  /// The number of steps between two reports.
  private static let interval: UInt64 = 1024

  private let total: UInt64
  private let shouldContinue: ((UInt64, UInt64) -> Bool)?
  private var done: UInt64 = 0
  /// Whether the verification was cancelled.
  private(set) var isStopped = false

  /// - Parameter shouldContinue: Called with the number of finished steps and of all steps.
  ///   Returning false cancels the verification. If nil, progress is not reported.
  init(of total: Int, _ shouldContinue: ((UInt64, UInt64) -> Bool)?) {
    self.total = UInt64(total)
    self.shouldContinue = shouldContinue
  }

  /// Counts a finished step.
  ///
  /// - Returns: Whether to continue.
  func next() -> Bool {
    guard let shouldContinue else { return true }
    done += 1
    if done % Self.interval == 0 || done == total { isStopped = !shouldContinue(done, max(done, total)) }
    return !isStopped
  }
}
