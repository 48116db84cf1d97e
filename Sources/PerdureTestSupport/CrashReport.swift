/// The counts and the first violation of an exploration.
public struct CrashReport: Sendable, CustomStringConvertible {
  /// The name of the explorer.
  public let name: String
  /// The seed of the explorer.
  public let seed: UInt64
  private let words: String
  private let only: CrashPlace?
  /// The number of operations of the workload.
  public internal(set) var operationCount = 0
  /// The number of steps of the workload that began (`CrashMarker.begin`).
  public internal(set) var begunCount = 0
  /// The number of different labels that the workload acknowledged or promised.
  public internal(set) var acknowledgedCount = 0
  /// The number of checks that required acknowledged data on the disk.
  public internal(set) var promisingCheckCount = 0
  /// The canary that the suite must detect; nil if there is none.
  public let canary: CrashCanary?
  /// The number of operations, of the workload and of recoveries, after which every possible disk
  /// was built, with sectors torn in every way.
  public internal(set) var exhaustedOperationCount = 0
  /// The number of operations after which only the most informative disks and a random choice of
  /// the others were built. The reasons: there are more than `CrashExplorer.imagesPerOperationMax`
  /// disks, or a write has more than four sectors.
  public internal(set) var sampledOperationCount = 0
  /// The number of built disks.
  public internal(set) var imageCount = 0
  /// The number of built disks with different contents.
  public var distinctImageCount: Int { distinctImageCounts.reduce(0, +) }
  /// `distinctImageCount` by depth. The depth is the number of recoveries that had been cut when
  /// the disk first occurred. It is 0 for a power cut during the workload, 1 for a cut during the
  /// recovery after it, and so on.
  public internal(set) var distinctImageCounts: [Int]
  /// The number of checks. Each distinct disk is checked once, and checked again if it occurs when
  /// more steps were acknowledged.
  public internal(set) var checkedCount = 0
  /// The number of recoveries during which the power was cut again.
  public internal(set) var recoveryCount = 0
  /// The number of built disks with each kind of loss.
  public internal(set) var lossCounts: [CrashLoss: Int] = [:]
  /// The number of distinct disks by operation and loss.
  public internal(set) var matrix = CrashMatrix()
  /// The first check that failed. The exploration ends there.
  public internal(set) var violation: CrashViolation?
  /// Whether the exploration reached its end: no violation and no `CrashExplorer.checksMax` stopped
  /// it.
  public internal(set) var isComplete = false

  private var labelMistakes: [String] = []

  init(_ explorer: CrashExplorer) {
    (name, seed, words) = (explorer.name, explorer.seed, explorer.seedWords)
    only = explorer.only
    canary = explorer.canary
    distinctImageCounts = [Int](
      repeating: 0, count: max(explorer.recoveryDepth + 1, explorer.only?.steps.count ?? 0))
  }

  /// Throws the violation, or an error if the suite tested less than it appears to test.
  ///
  /// - Parameter allowed: The mistakes that this suite makes on purpose.
  /// - Throws: `CrashViolation`, or `SuiteMistake`.
  public func check(allowing allowed: Set<SuiteMistake.Kind> = []) throws {
    // If the workload used another file system, the disks lack its files, and a violation is not a
    // fault of the program.
    if operationCount == 0, !allowed.contains(.noOperation) { throw SuiteMistake.noOperation }
    if let violation { throw violation }
    if let mistake = mistakes.first(where: { !allowed.contains($0.kind) }) { throw mistake }
  }

  /// The reasons why a result without a violation proves little, the most severe first; empty if
  /// there are none.
  public var mistakes: [SuiteMistake] {
    var mistakes: [SuiteMistake] = []
    if operationCount == 0 { mistakes.append(.noOperation) }
    if checkedCount == 0 {
      let cause =
        only.map { "this program has no crash \($0)" } ?? "operationsOneIn excluded every operation"
      let text = "No disk was checked: \(cause)."
      mistakes.append(SuiteMistake(.noCheck, text))
    }
    if !labelMistakes.isEmpty {
      mistakes.append(
        SuiteMistake(.labels, "Steps were marked wrongly: \(labelMistakes.joined(separator: "; "))."))
    }
    if promisingCheckCount == 0, only == nil {
      let cause =
        acknowledgedCount == 0
        ? "the workload has acknowledged no step. Call marker.begin(n) before a step, and marker.acknowledge(n) when it "
          + "must stay."
        : "the workload has acknowledged \(acknowledgedCount) steps, but all checked disks were from before these steps. "
          + "Look at checksMax and operationsOneIn."
      mistakes.append(
        SuiteMistake(.noAcknowledgement, "This suite would pass even if a power cut lost all data: \(cause)"))
    }
    if let canary, violation == nil { mistakes.append(.unnoticed("The canary \(canary)")) }
    return mistakes
  }

  mutating func note(_ journal: CrashJournal) {
    operationCount = journal.operationCount
    begunCount = journal.begun(after: .max, nil).count
    acknowledgedCount = Set(journal.acknowledged(after: .max, nil)).count
    noteLabels(journal)
  }

  /// Records the errors in the use of labels in one journal. Only the first journal with errors is
  /// reported.
  mutating func noteLabels(_ journal: CrashJournal) {
    if labelMistakes.isEmpty { labelMistakes = journal.labelMistakes }
  }

  mutating func noteCheck(_ context: CrashContext) {
    checkedCount += 1
    if !context.acknowledged.isEmpty { promisingCheckCount += 1 }
  }

  /// The counts, and the violation if there is one.
  public var description: String { "\(summary)\(violation.map { "\n\($0)" } ?? "")" }

  /// The counts, on one line.
  public var summary: String {
    let losses = CrashLoss.allCases.compactMap { kind in
      lossCounts[kind].map { "\(kind.rawValue) \($0)" }
    }
    let depths = distinctImageCounts.dropFirst().map { "\($0)" }.joined(separator: " + ")
    let recovered = depths.isEmpty ? "" : " (\(depths) during \(recoveryCount) recoveries)"
    return """
      \(name): \(operationCount) operations, \(begunCount) steps begun, \(acknowledgedCount) acknowledged; \
      \(imageCount) disks (\(losses.joined(separator: ", "))), \
      \(distinctImageCount) distinct\(recovered), \(checkedCount) checked, \
      \(promisingCheckCount) of them with acknowledged steps; every possible disk after \
      \(exhaustedOperationCount) operations, a choice of disks after \(sampledOperationCount)\
      \(isComplete ? "" : "; ended before every disk was checked")\
      \(canary.map { "; with the canary \($0)" } ?? ""), \(words)
      """
  }
}
