/// A check that failed on a disk left by a simulated loss of power.
public struct CrashViolation: Error, Sendable, CustomStringConvertible {
  /// What the check threw.
  public let reason: String
  /// The operation after which the power went; 0 is before the first.
  public let operation: Int
  /// What was lost.
  public let losses: Set<CrashLoss>
  /// How many recoveries had been cut before.
  public let recoveries: Int
  /// The disk, for looking at it again.
  public let image: CrashImage
  /// The operations before the crash, one a line, the newest last; each pending one with its fate. Those of the
  /// workload first, then those of each recovery that was cut.
  public let trace: [String]
  /// The seed by which the same crash is found again.
  public let seed: UInt64

  /// Everything above but the bytes, and how to run it again.
  public var description: String {
    let kinds = losses.map(\.rawValue).sorted().joined(separator: ", ")
    let lines = trace.suffix(60).map { "  \($0)" }.joined(separator: "\n")
    let place = recoveries == 0 ? "" : " of recovery \(recoveries)"
    return """
      After a loss of power behind operation #\(operation)\(place) (\(kinds)): \(reason)
      \(lines)
      On the disk: \(image.paths.joined(separator: " "))
      To run it again: PERDURE_SEED=\(seed)
      """
  }
}
