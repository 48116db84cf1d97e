/// The progress of a verification, and its cancellation.
final class VerificationSteps {
  /// The interval between reports.
  private static let interval: UInt64 = 1024

  private let total: UInt64
  private let goesOn: ((UInt64, UInt64) -> Bool)?
  private var done: UInt64 = 0
  /// Whether it was cancelled.
  private(set) var isStopped = false

  /// - Parameter goesOn: Called with the number of finished steps and of all steps; false cancels
  ///   the work. Nil: progress is not reported.
  init(of total: Int, _ goesOn: ((UInt64, UInt64) -> Bool)?) {
    self.total = UInt64(total)
    self.goesOn = goesOn
  }

  /// One step is done.
  ///
  /// - Returns: Whether there shall be another.
  func next() -> Bool {
    guard let goesOn else { return true }
    done += 1
    if done % Self.interval == 0 || done == total { isStopped = !goesOn(done, max(done, total)) }
    return !isStopped
  }
}
