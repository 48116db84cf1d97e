/// A check that failed on a disk after a simulated power cut.
public struct CrashViolation: Error, Sendable, CustomStringConvertible {
  /// The text of the error that the check or the recovery threw.
  public let reason: String
  /// The context of the check: the place of the power cut, the begun steps, the acknowledged steps,
  /// and the losses. With `image`, the check can be repeated.
  public let context: CrashContext
  /// The place of the crash, for `CrashExplorer.only`.
  public let place: CrashPlace
  /// The disk on which the check failed. `CrashImage.write(to:on:)` writes its files, so that other
  /// tools can examine them.
  public let image: CrashImage
  /// The operations before the crash, one per line, the newest last. Each pending operation has its
  /// fate. The marks are between the operations. The operations of the workload come first, then
  /// those of each recovery that was cut.
  public let trace: [String]
  /// The seed of the explorer.
  public let seed: UInt64
  /// The deliberate mistake of the explorer; nil for no mistake.
  public let canary: CrashCanary?
  let head: String
  /// The command that runs the test of this explorer again; nil if there is no test.
  let again: String?

  /// The number of operations before the power cut. 0 means that the cut is before the first
  /// operation.
  public var operation: Int { context.operation }
  /// The kinds of loss on the disk.
  public var losses: Set<CrashLoss> { context.losses }
  /// The number of recoveries that had been cut before.
  public var recoveries: Int { context.recoveries }
  /// The labels of the steps that had begun.
  public var begun: [Int] { context.begun }
  /// The labels of the steps that had been acknowledged or promised.
  public var acknowledged: [Int] { context.acknowledged }

  /// The reason, the place and the losses, the last 60 lines of the trace, the steps, and the paths
  /// on the disk. In a test, also the command and the settings that repeat the run.
  public var description: String {
    let kinds = losses.map(\.rawValue).sorted().joined(separator: ", ")
    let lines = trace.suffix(60).map { "  \($0)" }.joined(separator: "\n")
    let cut = recoveries == 0 ? "" : " of recovery \(recoveries)"
    // An explorer outside of tests has no test to run again, and no name.
    let again = again.map { "\nTo run it again: \($0)\nThis crash alone: \(alone)" } ?? ""
    return """
      \(head): after a loss of power after operation #\(operation)\(cut) (\(kinds)): \(reason)
      \(lines)
      Begun: \(Self.text(begun)); acknowledged: \(Self.text(acknowledged))
      On the disk: \(image.paths.joined(separator: " "))\(again)
      """
  }

  /// The setting that makes an explorer try only this crash.
  private var alone: String {
    let canary = canary.map { "explorer.canary = .\($0); " } ?? ""
    return "explorer.seed = \(seed); \(canary)explorer.only = \"\(place)\""
  }

  /// The labels. If there are many, their number and the last ones.
  private static func text(_ labels: [Int]) -> String {
    if labels.isEmpty { return "nothing" }
    let last = labels.suffix(labelsMax).map { "\($0)" }.joined(separator: " ")
    return labels.count > labelsMax ? "\(labels.count), the last \(last)" : last
  }

  private static let labelsMax = 20
}
