/// A run in which a call failed, and the program or the check of it then.
public struct FailureViolation: Error, Sendable, CustomStringConvertible {
  /// What the program or the check has thrown.
  public let reason: String

  let strike: FailureStrike?

  /// The changes to the file system, in order, and the marks between them.
  public let trace: [String]

  /// The seed of the sweep.
  public let seed: UInt64
  /// Whether syncs that failed reported success: `FailureSweep.hidesFailedSyncs`.
  public let hidesFailedSyncs: Bool
  let head: String
  /// What runs the test again that made the sweep; nil: there is none.
  let again: String?

  /// How the call failed; nil: no call failed, or in a way of its own.
  public var kind: FailureKind? { strike?.kind }

  /// Which call failed, and its effect; nil: no call failed.
  public var failure: InjectedFailure? { strike?.failure }

  /// The reason, the failure, the last changes, and how to run it again.
  public var description: String {
    let hiding = hidesFailedSyncs ? ", and no failed sync says so" : ""
    let what = (strike.map { "\($0)" } ?? "without a failure") + hiding
    let lines = trace.suffix(60).map { "  \($0)\n" }.joined()
    let setting = hidesFailedSyncs ? "sweep.hidesFailedSyncs = true; " : ""
    let alone = strike.map { "\nThis run alone: \(setting)sweep.\($0.code)" } ?? ""
    let words = again.map { "To run it again: \($0)\(alone)" } ?? ""
    return "\(head): \(what): \(reason)\n\(lines)\(words)"
  }
}

/// A failure of a sweep: of a kind, or of any making.
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

  /// The call that makes this run alone.
  var code: String {
    guard let kind else { return "run(only: \(failure.makingText))" }
    return "run(only: .\(kind), nth: \(failure.nth), repeats: \(failure.repeats))"
  }
}

extension InjectedFailure {
  /// What makes the same again.
  fileprivate var makingText: String {
    let operation = operation.map { ".\($0)" } ?? "nil"
    let reason = errno == 0 ? "code: .\(code)" : "errno: \(errno)"
    let path = pathContains.map { ", pathContains: \(String(reflecting: $0))" } ?? ""
    return
      "InjectedFailure(of: \(operation), nth: \(nth), repeats: \(repeats), \(reason), effect: .\(effect)\(path))"
  }
}
