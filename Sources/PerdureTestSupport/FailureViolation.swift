/// An error of the program or of its check, in a run with or without a failed call.
public struct FailureViolation: Error, Sendable, CustomStringConvertible {
  /// The text of the error that the program or the check threw.
  public let reason: String

  let strike: FailureStrike?

  /// The changes to the file system, in order, and the marks between them.
  public let trace: [String]

  /// The seed of the sweep.
  public let seed: UInt64
  /// Whether failed syncs reported success: `FailureSweep.hidesFailedSyncs`.
  public let hidesFailedSyncs: Bool
  let head: String
  /// The command that runs the test of this sweep again; nil if there is no test.
  let again: String?

  /// The kind of failure; nil for the run without a failure, or if the caller supplied the failure.
  public var kind: FailureKind? { strike?.kind }

  /// The injected failure; nil for the run without a failure.
  public var failure: InjectedFailure? { strike?.failure }

  /// The reason, the failure, the last 60 changes and marks, and in a test the command that repeats
  /// the run.
  public var description: String {
    let hiding = hidesFailedSyncs ? ", with failed syncs that report success" : ""
    let what = (strike.map { "\($0)" } ?? "without a failure") + hiding
    let lines = trace.suffix(60).map { "  \($0)\n" }.joined()
    let setting = hidesFailedSyncs ? "sweep.hidesFailedSyncs = true; " : ""
    let alone = strike.map { "\nThis run alone: \(setting)sweep.\($0.code)" } ?? ""
    let words = again.map { "To run it again: \($0)\(alone)" } ?? ""
    return "\(head): \(what): \(reason)\n\(lines)\(words)"
  }
}

/// An injected failure of a sweep. Either a `FailureKind` generates it, or the caller supplies it.
struct FailureStrike: Sendable, CustomStringConvertible {
  let kind: FailureKind?
  let failure: InjectedFailure

  init(kind: FailureKind, nth: Int, repeats: Bool, dropsNames: Bool) {
    var failure = kind.failure(nth: nth, repeats: repeats)
    failure.dropsNames = dropsNames
    (self.kind, self.failure) = (kind, failure)
  }

  init(failure: InjectedFailure) { (kind, self.failure) = (nil, failure) }

  var description: String { kind.map { "\($0.rawValue), \(failure)" } ?? "\(failure)" }

  /// The code that repeats this run alone.
  var code: String {
    guard let kind else { return "run(only: \(failure.makingText))" }
    return "run(only: .\(kind), nth: \(failure.nth), repeats: \(failure.repeats))"
  }
}

extension InjectedFailure {
  /// The code that makes the same failure.
  fileprivate var makingText: String {
    let operation = operation.map { ".\($0)" } ?? "nil"
    let reason = errno == 0 ? "code: .\(code)" : "errno: \(errno)"
    let path = pathContains.map { ", pathContains: \(String(reflecting: $0))" } ?? ""
    return
      "InjectedFailure(of: \(operation), nth: \(nth), repeats: \(repeats), \(reason), effect: .\(effect)\(path))"
  }
}
