import PerdureFileIO
import PerdureTestSupport

// Cuts the power after every operation of many small programs, and again during the recoveries.
//
// Every disk is opened and compared with the history of its program (see StoreCrashCheck). Each
// distinct disk is counted once, even if several programs leave it, and only after it has passed
// the check. All kinds of programs have the same share of the disks. Programs of a kind run with
// different random choices until their kind has reached its share.

/// Power cuts during work and during recovery.
package struct CrashCampaign: Campaign {
  package let name = "crashes"
  package let summary = "power cuts after every operation, and during recovery, three times in a row"

  private let subjects: [any CrashSubject]

  /// The number of disks of a full proof.
  package static let statesFull = 1_000_000

  /// - Parameter others: Other kinds of programs, in addition to those that use only the engine.
  package init(beside others: [any CrashSubject] = []) { subjects = CrashShape.all + others }

  /// Makes a campaign with only this kind of program.
  package init(only subject: any CrashSubject) { subjects = [subject] }

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    let tallies = try await tallies(plan, progress)
    var result = CampaignResult()
    let sum = tallies.reduce(into: CrashTally(name: "all")) { $0 += $1 }
    result.counts.crashStates = sum.states
    result.counts.recoveryCrashes = sum.recoveryStates
    result.report = CrashTally.table(tallies + [sum])
    result.report += [
      sum.sectorLine, sum.sharedLine,
      "in recovery: disks after a power cut during an opening, which was the first, second or third cut in a row",
      "all tried: operations after which all possible disks were built; sampled: only some disks", "",
      "disks by the operation before the cut and by the kind of loss (a disk may have several):",
    ]
    result.report += sum.matrix.lines
    result.violations = violations(of: tallies, plan)
    if plan.part == nil, plan.scale >= 1, result.violations.isEmpty {
      result.violations = CrashBreadth.shortfalls(of: tallies, disks: plan.quota(Self.statesFull)).map {
        ProofViolation("the proof is incomplete: \($0)", command: plan.command(for: self))
      }
    }
    return result
  }

  /// The violations, each with the command that reproduces it. The command contains the part. The
  /// seed alone does not determine the cases of a program: they also depend on the disks that other
  /// programs have already counted.
  package func violations(of tallies: [CrashTally], _ plan: ProofPlan) -> [ProofViolation] {
    tallies.compactMap { tally in
      tally.finding.map {
        ProofViolation("\(tally.name): \($0)", command: plan.command(for: self, part: tally.part?.words))
      }
    }
  }

  /// The counts for each kind of program.
  package func tallies(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> [CrashTally] {
    if let words = plan.partWords {
      guard let part = CrashPart(words), let subject = subjects.first(where: { $0.name == part.subject })
      else { throw plan.noSuchPart(CrashPart.form) }
      var tally = CrashTally(name: subject.name)
      for _ in 0..<(subject.isRepeatable ? 1 : Self.triesMax) where tally.finding == nil {
        tally = CrashTally(name: subject.name)
        _ = await Self.explore(subject, part.explorer, &tally, CrashShared(total: 1, progress)) { _, _ in }
      }
      return [tally]
    }
    let quota = plan.quota(Self.statesFull) / subjects.count + 1
    let shared = CrashShared(total: quota * subjects.count, progress)
    let tallies = try await withThrowingTaskGroup(of: (Int, CrashTally).self) { group in
      for (number, subject) in subjects.enumerated() {
        let seed = SeededGenerator(seed: plan.seed).derived(UInt64(number)).seed
        group.addTask { (number, await Self.explore(subject, seed, states: quota, shared)) }
      }
      return try await group.reduce(into: [Int: CrashTally]()) { $0[$1.0] = $1.1 }
    }
    return tallies.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Runs programs of one kind until the checks have counted `states` new disks, or the campaign
  /// ends.
  private static func explore(
    _ subject: some CrashSubject, _ seed: UInt64, states: Int, _ shared: CrashShared
  ) async -> CrashTally {
    var tally = CrashTally(name: subject.name)
    var aim = CrashAim(states: states)
    let note = shared.progress.newNote()
    while tally.states < states, !shared.isOver {
      let round = tally.programs
      var explorer = CrashExplorer(seed: seed &+ UInt64(round))
      explorer.sectorLength = subject.sectorLengths[round % subject.sectorLengths.count]
      explorer.recoveryDepth = recoveryDepth
      explorer.leavesNote = false
      explorer.makesStaleBytes = true
      explorer.imagesPerRecoveryMax = imagesPerRecoveryMax
      note.begin(CrashPart(subject.name, explorer).words)
      let before = tally
      let report = await explore(subject, explorer, &tally, shared) { explorer, operations in
        aim.prepare(&explorer, operations: operations, before)
        note.begin(CrashPart(subject.name, explorer).words)
      }
      if let report { aim.learn(report) }
    }
    return tally
  }

  /// Runs one program, and examines the disks that power cuts in it may leave.
  ///
  /// - Parameter prepare: Sets the number of cases, after the number of operations is known.
  /// - Returns: The report; nil if the program itself failed.
  private static func explore(
    _ subject: some CrashSubject, _ explorer: CrashExplorer, _ tally: inout CrashTally, _ shared: CrashShared,
    _ prepare: (inout CrashExplorer, _ operations: Int) -> Void
  ) async -> CrashReport? {
    let fileSystem = SimulatedFileSystem()
    var explorer = explorer
    do {
      let check = try await subject.program(seed: explorer.seed).run(on: fileSystem, fileSystem.marker)
      prepare(&explorer, fileSystem.operationCount)
      let report = explorer.examine(fileSystem.journal, check) { context, isDuringRecovery in
        guard shared.isNew(context) else { return }
        tally.add(context, sectorLength: explorer.sectorLength, isDuringRecovery: isDuringRecovery)
      }
      tally.add(report, CrashPart(subject.name, explorer), of: check)
      if report.violation != nil { shared.end() }
      return report
    } catch {
      tally.add(error, CrashPart(subject.name, explorer))
      shared.end()
      return nil
    }
  }

  /// The maximum number of consecutive power cuts.
  static let recoveryDepth = 3
  static let imagesPerRecoveryMax = 24
  /// The maximum number of runs of a program whose schedule varies. The first failure ends them.
  private static let triesMax = 100
}

/// The state that all kinds of programs of one campaign share.
private final class CrashShared: Sendable {
  private struct State {
    /// The fingerprints of the counted disks.
    var seen: Set<Int> = []
    var isOver = false
  }

  private let state = Guarded(State())
  private let total: Int
  let progress: ProofProgress

  init(total: Int, _ progress: ProofProgress) { (self.total, self.progress) = (total, progress) }

  var isOver: Bool { state.withLock { $0.isOver } }

  /// Ends the campaign after a violation: no further program begins.
  func end() { state.withLock { $0.isOver = true } }

  /// Counts this disk. Returns whether it is counted for the first time.
  func isNew(_ context: CrashContext) -> Bool {
    guard state.withLock({ $0.seen.insert(context.fingerprint).inserted }) else {
      progress.beat()
      return false
    }
    progress.advance(of: total, "power cuts")
    return true
  }
}

/// Chooses the number of cases for one program. The aims: the kind of the program comes close to
/// its share, and enough disks come from recoveries.
private struct CrashAim {
  /// The expected number of distinct disks per operation if 12 disks of each operation are built.
  /// Includes the disks of recoveries.
  private var operationYield = 12.0
  /// The expected number of distinct disks per recovery in which the power is cut.
  private var recoveryYield = 3.0
  private var last: CrashExplorer?
  private let states: Int

  /// The desired ratio of the disks after cuts in recoveries to the disks before these recoveries.
  /// With this value, about a quarter of all disks come from recoveries.
  private static let recoveryRatio = 0.25
  private static let imagesMax = 48.0
  /// The minimum number of images. With fewer images, almost none are random, because
  /// `CrashPlanner` chooses the most informative losses first.
  private static let imagesMin = 12.0

  init(states: Int) { self.states = states }

  mutating func prepare(_ explorer: inout CrashExplorer, operations: Int, _ tally: CrashTally) {
    let missing = Double(states - tally.states)
    let least = max(1, Double(operations) * operationYield)
    explorer.imagesPerOperationMax = Int(min(Self.imagesMax, max(1, missing / least) * Self.imagesMin))
    explorer.operationsOneIn = max(1, Int(least / missing))
    explorer.recoveriesOneIn = max(1, Int((recoveryYield / Self.recoveryRatio).rounded()))
    // A kind must not exceed its share. The factor allows for disks that are checked twice
    // (CrashExamination, CE1).
    explorer.checksMax = Int(missing * 1.15) + 1
    last = explorer
  }

  /// Updates the expectations with the report of the last prepared program.
  mutating func learn(_ report: CrashReport) {
    guard let explorer = last else { return }
    let operations = report.operationCount / explorer.operationsOneIn
    if operations > 20, report.checkedCount < explorer.checksMax {
      let yield = Double(report.distinctImageCount) / Double(operations)
      operationYield = max(0.5, yield * Self.imagesMin / Double(explorer.imagesPerOperationMax))
    }
    let recovered = report.distinctImageCount - report.distinctImageCounts[0]
    if report.recoveryCount > 20 { recoveryYield = Double(recovered) / Double(report.recoveryCount) }
  }
}
