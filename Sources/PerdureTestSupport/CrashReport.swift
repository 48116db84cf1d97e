/// The counts and the first violation of an exploration.
public struct CrashReport: Sendable, CustomStringConvertible {
  /// The name of the explorer.
  public let name: String
  /// The seed of the explorer.
  public let seed: UInt64
  private let words: String
  private let only: CrashPlace?
  /// How many operations the workload made.
  public internal(set) var operationCount = 0
  /// How many steps of the workload began (`CrashMarker.begin`).
  public internal(set) var begunCount = 0
  /// How many labels the workload acknowledged or promised; one that was promised twice is one.
  public internal(set) var acknowledgedCount = 0
  /// How many of the checked disks had to have acknowledged data.
  public internal(set) var promisingCheckCount = 0
  /// The canary that was to be noticed; nil if there was none.
  public let canary: CrashCanary?
  /// After how many operations, of the workload and of recoveries, every disk was built that can be
  /// left, sectors torn in every way.
  public internal(set) var exhaustedOperationCount = 0
  /// After how many there were more than `CrashExplorer.imagesPerOperationMax`, or writes of more
  /// than four sectors, so that the telling ones and a random choice of the others were built.
  public internal(set) var sampledOperationCount = 0
  /// How many disks were built.
  public internal(set) var imageCount = 0
  /// How many of them had contents that no other had.
  public var distinctImageCount: Int { distinctImageCounts.reduce(0, +) }
  /// The same by how many recoveries had been cut when the disk was first seen: at 0, those left by
  /// a loss of power during the workload; at 1, during the recovery from one; and so on.
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

  /// Throws the violation, or the reason why the suite tested less than it seems to.
  ///
  /// - Parameter allowed: The parts that this suite leaves untested on purpose.
  /// - Throws: `CrashViolation`, or `SuiteMistake`.
  public func check(allowing allowed: Set<SuiteMistake.Kind> = []) throws {
    // What a program did elsewhere is missing here: that says nothing about the program.
    if operationCount == 0, !allowed.contains(.noOperation) { throw SuiteMistake.noOperation }
    if let violation { throw violation }
    if let mistake = mistakes.first(where: { !allowed.contains($0.kind) }) { throw mistake }
  }

  /// The reasons why a missing violation means little, the gravest first; empty if there are none.
  public var mistakes: [SuiteMistake] {
    var mistakes: [SuiteMistake] = []
    if operationCount == 0 { mistakes.append(.noOperation) }
    if checkedCount == 0 {
      let cause =
        only.map { "there is no crash \($0) here" } ?? "operationsOneIn has left out every operation"
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
        ? "the workload has acknowledged nothing. Say marker.begin(n) before a step, and marker.acknowledge(n) when it "
          + "must stay."
        : "the workload has acknowledged \(acknowledgedCount) steps, but no disk was checked that was left after one. "
          + "Look at checksMax and operationsOneIn."
      mistakes.append(
        SuiteMistake(.noAcknowledgement, "Whatever a power cut took, this suite would pass: \(cause)"))
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

  /// The error in the labels of one journal: the first is enough.
  mutating func noteLabels(_ journal: CrashJournal) {
    if labelMistakes.isEmpty { labelMistakes = journal.labelMistakes }
  }

  mutating func noteCheck(_ context: CrashContext) {
    checkedCount += 1
    if !context.acknowledged.isEmpty { promisingCheckCount += 1 }
  }

  /// The counts, and the violation if there is one.
  public var description: String { "\(summary)\(violation.map { "\n\($0)" } ?? "")" }

  /// The counts, in a line.
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
      \(promisingCheckCount) of them against something acknowledged; all after \
      \(exhaustedOperationCount) operations, some after \(sampledOperationCount)\
      \(isComplete ? "" : "; ended before all was tried")\
      \(canary.map { "; with the canary \($0)" } ?? ""), \(words)
      """
  }
}
