/// How far a verification is, and whether it shall go on.
final class VerificationSteps {
  /// How often it is told.
  private static let interval: UInt64 = 1024

  private let total: UInt64
  private let goesOn: ((UInt64, UInt64) -> Bool)?
  private var done: UInt64 = 0
  /// Whether it was told to end.
  private(set) var isStopped = false

  /// - Parameter goesOn: Hears how many steps are done, of how many; false ends the work. Nil: nobody asks.
  init(of total: Int, _ goesOn: ((UInt64, UInt64) -> Bool)?) {
    self.total = UInt64(total)
    self.goesOn = goesOn
  }

  /// One is done.
  ///
  /// - Returns: Whether there shall be another.
  func next() -> Bool {
    guard let goesOn else { return true }
    done += 1
    if done % Self.interval == 0 || done == total { isStopped = !goesOn(done, max(done, total)) }
    return !isStopped
  }
}
