/// A check that failed on a disk left by a simulated loss of power.
public struct CrashViolation: Error, Sendable, CustomStringConvertible {
  /// What the check threw.
  public let reason: String
  /// The check's context: where the power failed, the steps begun, the steps acknowledged, and the
  /// loss. With `image` it runs the check again.
  public let context: CrashContext
  /// Which crash it was, for `CrashExplorer.only`.
  public let place: CrashPlace
  /// The disk, for looking at it again; `CrashImage.write(to:on:)` makes files of it.
  public let image: CrashImage
  /// The operations before the crash, one a line, the newest last; each pending one with its fate,
  /// and between them the marks. Those of the workload first, then those of each recovery that was
  /// cut.
  public let trace: [String]
  /// The seed of the explorer.
  public let seed: UInt64
  /// The mistake that the explorer made on purpose; nil if it made none.
  public let canary: CrashCanary?
  let head: String
  /// What runs the test again that made the explorer; nil: there is none.
  let again: String?

  /// The operation after which the power went; 0 is before the first.
  public var operation: Int { context.operation }
  /// The loss.
  public var losses: Set<CrashLoss> { context.losses }
  /// How many recoveries had been cut before.
  public var recoveries: Int { context.recoveries }
  /// The labels of the steps that had begun.
  public var begun: [Int] { context.begun }
  /// The labels of the steps that had been acknowledged or promised.
  public var acknowledged: [Int] { context.acknowledged }

  /// Everything above but the bytes, and how to run it again.
  public var description: String {
    let kinds = losses.map(\.rawValue).sorted().joined(separator: ", ")
    let lines = trace.suffix(60).map { "  \($0)" }.joined(separator: "\n")
    let cut = recoveries == 0 ? "" : " of recovery \(recoveries)"
    // Outside a test there is no test to run again, and no explorer with a name.
    let again = again.map { "\nTo run it again: \($0)\nThis crash alone: \(alone)" } ?? ""
    return """
      \(head): after a loss of power behind operation #\(operation)\(cut) (\(kinds)): \(reason)
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

  /// The labels; of many, how many, and the last.
  private static func text(_ labels: [Int]) -> String {
    if labels.isEmpty { return "nothing" }
    let last = labels.suffix(labelsMax).map { "\($0)" }.joined(separator: " ")
    return labels.count > labelsMax ? "\(labels.count), the last \(last)" : last
  }

  private static let labelsMax = 20
}
