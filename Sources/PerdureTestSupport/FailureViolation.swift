/// A run in which a call failed, and the program or the check of it then.
public struct FailureViolation: Error, Sendable, CustomStringConvertible {
  /// What the program or the check has thrown.
  public let reason: String

  /// How the call failed; nil: no call failed.
  public let kind: FailureKind?

  /// Which call failed, and what it left behind; nil: no call failed.
  public let failure: InjectedFailure?

  /// The changes to the file system, in order.
  public let trace: [String]

  /// The seed of the sweep.
  public let seed: UInt64

  /// The reason, the failure, the last changes, and how to run it again.
  public var description: String {
    let what = failure.map { "\(kind?.rawValue ?? ""), \($0)" } ?? "without a failure"
    let lines = trace.suffix(60).map { "  \($0)\n" }.joined()
    return "\(what): \(reason)\n\(lines)To run it again: PERDURE_SEED=\(seed)\(once)"
  }

  /// The call that makes this run alone.
  private var once: String {
    guard let kind, let failure else { return "" }
    let arguments = "nth: \(failure.nth), repeats: \(failure.repeats)"
    return ", or alone: run(only: FailureKind.\(kind).failure(\(arguments)), .\(kind))"
  }
}
