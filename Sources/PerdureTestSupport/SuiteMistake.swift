/// A suite that passes but tested less than it seems to. `CrashReport.check` and `FailureReport.check`
/// throw it.
///
/// If the suite means it: `try report.check(allowing: [.noAcknowledgement])`.
public struct SuiteMistake: Error, Sendable, CustomStringConvertible {
  /// What was not tested.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The program did nothing on the file system that it was given.
    case noOperation
    /// No disk was checked on which anything acknowledged had to be.
    case noAcknowledgement
    /// No disk was checked at all.
    case noCheck
    /// No call failed.
    case noFailure
    /// Steps were marked with labels that cannot be right.
    case labels
    /// The suite did not notice a mistake on purpose: `CrashExplorer.canary` or
    /// `FailureSweep.hidesFailedSyncs`.
    case canary
  }

  /// What was not tested.
  public let kind: Kind
  private let text: String

  init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }

  /// What was not tested, what has most likely been forgotten, and how to say that it is meant.
  public var description: String { "\(text) If that is meant: check(allowing: [.\(kind)])" }

  /// - Parameter mistake: What was wrong on purpose.
  static func unnoticed(_ mistake: String) -> SuiteMistake {
    SuiteMistake(
      .canary,
      "Nobody has noticed \(mistake): the suite does not look for what that breaks, or it was not meant to be here."
    )
  }

  static let noOperation = SuiteMistake(
    .noOperation,
    """
    Nothing was tried: the program did nothing on the file system that it was given. Most likely it works on another one, \
    of its own or of the machine: hand it over where the store is opened (StoreOptions.fileSystem).
    """)
}
