/// The error of a suite that passed, but tested less than it appears to test. `CrashReport.check`
/// and `FailureReport.check` throw this error.
///
/// If the mistake is intended, allow it: `try report.check(allowing: [.noAcknowledgement])`.
public struct SuiteMistake: Error, Sendable, CustomStringConvertible {
  /// The part that was not tested.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The program did not use the given file system.
    case noOperation
    /// No checked disk required acknowledged data.
    case noAcknowledgement
    /// No disk was checked at all.
    case noCheck
    /// No call failed.
    case noFailure
    /// Steps were marked with invalid labels.
    case labels
    /// The suite did not detect a deliberate mistake: `CrashExplorer.canary` or
    /// `FailureSweep.hidesFailedSyncs`.
    case canary
  }

  /// The part that was not tested.
  public let kind: Kind
  private let text: String

  init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }

  /// The part that was not tested, the most likely cause, and the code that allows the mistake.
  public var description: String { "\(text) If this is intended, call check(allowing: [.\(kind)])." }

  /// - Parameter mistake: The deliberate error.
  static func unnoticed(_ mistake: String) -> SuiteMistake {
    SuiteMistake(
      .canary,
      "\(mistake) was not detected: the suite does not check for its effects, or the setting was left on by mistake."
    )
  }

  static let noOperation = SuiteMistake(
    .noOperation,
    """
    Nothing was tested: the program made no call on the given file system. It probably uses another one. \
    Pass the given one where the store is opened (StoreOptions.fileSystem).
    """)
}
