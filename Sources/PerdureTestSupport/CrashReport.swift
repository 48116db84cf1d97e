/// A check that failed on a disk left by a simulated loss of power.
public struct CrashViolation: Error, Sendable, CustomStringConvertible {
  /// What the check threw.
  public let reason: String
  /// The operation after which the power went; 0 is before the first.
  public let operation: Int
  /// What was lost.
  public let losses: Set<CrashLoss>
  /// The disk, for looking at it again.
  public let image: CrashImage
  /// The operations before the crash, one a line, the newest last; each pending one with its fate.
  public let trace: [String]
  /// The seed by which the same crash is found again.
  public let seed: UInt64

  /// Everything above but the bytes, and how to run it again.
  public var description: String {
    let kinds = losses.map(\.rawValue).sorted().joined(separator: ", ")
    let lines = trace.suffix(60).map { "  \($0)" }.joined(separator: "\n")
    return """
      After a loss of power behind operation #\(operation) (\(kinds)): \(reason)
      \(lines)
      On the disk: \(image.paths.joined(separator: " "))
      To run it again: PERDURE_SEED=\(seed)
      """
  }
}

/// What a `CrashExplorer` has tried and found.
public struct CrashReport: Sendable, CustomStringConvertible {
  /// The seed of the run.
  public let seed: UInt64
  /// How many operations the workload made.
  public internal(set) var operationCount = 0
  /// How many disks were built.
  public internal(set) var imageCount = 0
  /// How many of them had contents that no other had.
  public internal(set) var distinctImageCount = 0
  /// How many were checked: each distinct disk once for each number of acknowledgements.
  public internal(set) var checkedCount = 0
  /// How many of the disks built had each kind of loss.
  public internal(set) var lossCounts: [CrashLoss: Int] = [:]
  /// The first check that failed; the exploration ends there.
  public internal(set) var violation: CrashViolation?

  init(seed: UInt64) {
    self.seed = seed
  }

  /// Throws the violation, if there is one.
  public func check() throws(CrashViolation) {
    if let violation { throw violation }
  }

  /// The counts, and the violation if there is one.
  public var description: String {
    let losses = CrashLoss.allCases.compactMap { kind in
      lossCounts[kind].map { "\(kind.rawValue) \($0)" }
    }
    return """
      \(operationCount) operations, \(imageCount) disks (\(losses.joined(separator: ", "))), \
      \(distinctImageCount) distinct, \(checkedCount) checked, PERDURE_SEED=\(seed)\
      \(violation.map { "\n\($0)" } ?? "")
      """
  }
}
