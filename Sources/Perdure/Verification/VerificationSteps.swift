/// The progress of a verification, and its cancellation.
final class VerificationSteps {
  /// The number of steps between two reports.
  private static let interval: UInt64 = 1024

  private let total: UInt64
  private let goesOn: ((UInt64, UInt64) -> Bool)?
  private var done: UInt64 = 0
  /// Whether the verification was cancelled.
  private(set) var isStopped = false

  /// - Parameter goesOn: Called with the number of finished steps and of all steps. Returning false
  ///   cancels the verification. If nil, progress is not reported.
  init(of total: Int, _ goesOn: ((UInt64, UInt64) -> Bool)?) {
    self.total = UInt64(total)
    self.goesOn = goesOn
  }

  /// Counts a finished step.
  ///
  /// - Returns: Whether to continue.
  func next() -> Bool {
    guard let goesOn else { return true }
    done += 1
    if done % Self.interval == 0 || done == total { isStopped = !goesOn(done, max(done, total)) }
    return !isStopped
  }
}
