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

/// What a `CrashExplorer` has tried and found.
public struct CrashReport: Sendable, CustomStringConvertible {
  /// The seed of the run.
  public let seed: UInt64
  /// How many operations the workload made.
  public internal(set) var operationCount = 0
  /// After how many operations, of the workload and of recoveries, every disk was built that can be left, sectors
  /// torn in every way.
  public internal(set) var exhaustedOperationCount = 0
  /// After how many there were more than `CrashExplorer.imagesPerOperationMax`, or writes of more than four
  /// sectors, so that the telling ones and a random choice of the others were built.
  public internal(set) var sampledOperationCount = 0
  /// How many disks were built.
  public internal(set) var imageCount = 0
  /// How many of them had contents that no other had.
  public var distinctImageCount: Int { distinctImageCounts.reduce(0, +) }
  /// The same by how many recoveries had been cut when the disk was first seen: at 0, those left by a loss of power
  /// during the workload; at 1, during the recovery from one; and so on.
  public internal(set) var distinctImageCounts: [Int]
  /// How many were checked: each distinct disk, and once more when more had been acknowledged.
  public internal(set) var checkedCount = 0
  /// In how many recoveries the power was cut again.
  public internal(set) var recoveryCount = 0
  /// How many of the disks built had each kind of loss.
  public internal(set) var lossCounts: [CrashLoss: Int] = [:]
  /// The distinct disks by operation and loss.
  public internal(set) var matrix = CrashMatrix()
  /// The first check that failed; the exploration ends there.
  public internal(set) var violation: CrashViolation?
  /// Whether all was tried that the explorer's settings ask for: neither a violation nor
  /// `CrashExplorer.checksMax` has ended it before.
  public internal(set) var isComplete = false

  init(seed: UInt64, recoveryDepth: Int) {
    self.seed = seed
    distinctImageCounts = [Int](repeating: 0, count: recoveryDepth + 1)
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
    let depths = distinctImageCounts.dropFirst().map { "\($0)" }.joined(separator: " + ")
    let recovered = depths.isEmpty ? "" : " (\(depths) during \(recoveryCount) recoveries)"
    return """
      \(operationCount) operations, \(imageCount) disks (\(losses.joined(separator: ", "))), \
      \(distinctImageCount) distinct\(recovered), \(checkedCount) checked; all after \
      \(exhaustedOperationCount) operations, some after \(sampledOperationCount)\
      \(isComplete ? "" : "; ended before all was tried"), PERDURE_SEED=\(seed)\
      \(violation.map { "\n\($0)" } ?? "")
      """
  }
}
