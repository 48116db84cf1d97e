package import PerdureFileIO
package import PerdureTestSupport
import PerdureText

/// Makes every file system call of small programs fail, once or repeatedly, in all the ways in
/// which systems fail.
package struct FailureCampaign: Campaign {
  package let name = "failures"
  package let summary =
    "every call of \(FailureWorkload.all.count) programs fails, once or repeatedly, "
    + "in \(FailureKind.allCases.count) ways"

  /// Makes the file system that the stores use. Tests of the proof return a wrong file system.
  package var disguise: @Sendable (SimulatedFileSystem) -> any FileSystem = { $0 }
  package var workloads = FailureWorkload.all
  package var kinds = FailureKind.allCases

  package init() {}

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    if let words = plan.partWords { return try runOne(words, plan) }
    let reports = await reports(plan, progress)
    var result = result(of: reports, plan)
    let whole = Self.wholeCount(reports)
    let isAll = workloads.count == FailureWorkload.all.count && kinds.count == FailureKind.allCases.count
    if isAll, plan.scale >= 1, result.violations.isEmpty, whole < Self.wholeMin {
      let what =
        "the proof is incomplete: all kinds of failure occurred in only \(whole) programs, not in \(Self.wholeMin)"
      result.violations = [ProofViolation(what, command: plan.command(for: self))]
    }
    return result
  }

  /// The minimum number of programs that a full proof tests with every kind of failure.
  private static let wholeMin = 50

  private static func wholeCount(_ reports: [Sweep]) -> Int {
    reports.count { sweep in FailureKind.allCases.allSatisfy { sweep.report.runs[$0] ?? 0 > 0 } }
  }

  /// The result of the campaign, made from the reports of the sweeps.
  package func result(of reports: [Sweep], _ plan: ProofPlan) -> CampaignResult {
    var result = CampaignResult()
    result.report = Self.table(reports)
    for (workload, report) in reports {
      // The run with the violation did not pass, so it is not counted.
      result.counts.ioFailures += max(0, report.struckCount - (report.violation?.failure == nil ? 0 : 1))
      if let violation = report.violation {
        result.violations.append(describe(violation, of: workload, plan))
      }
    }
    return result
  }

  /// A program and the report of its sweep.
  package typealias Sweep = (workload: FailureWorkload, report: FailureReport)

  /// Makes the calls of all programs fail in turn. If the scale is less than 1, only a random part
  /// of the calls fails.
  package func reports(_ plan: ProofPlan, _ progress: ProofProgress) async -> [Sweep] {
    let total = plan.quota(Self.fullCount)
    return await withTaskGroup(of: (Int, FailureReport).self) { group in
      var reports: [Int: FailureReport] = [:]
      let cores = 2
      for (number, workload) in workloads.enumerated() {
        if number >= cores, let (number, report) = await group.next() { reports[number] = report }
        group.addTask {
          let note = progress.newNote()
          var sweep = sweep(of: workload, plan)
          sweep.onRun = { kind, nth, repeats in
            note.begin(FailurePart(workload.name, kind, nth: nth, repeats: repeats).words)
          }
          let report = workload.run(sweep, disks: Self.disks(plan), disguise: disguise) {
            progress.advance(of: total, name)
          }
          return (number, report)
        }
      }
      for await (number, report) in group { reports[number] = report }
      return workloads.indices.compactMap { number in reports[number].map { (workloads[number], $0) } }
    }
  }

  /// The failures to try for a program. Their seed depends on the program's position in
  /// `FailureWorkload.all`, even if only some programs run. So a `FailurePart` selects the same
  /// failure in a full run and in a run of one program.
  private func sweep(of workload: FailureWorkload, _ plan: ProofPlan) -> FailureSweep {
    let all = FailureWorkload.all
    let place = all.firstIndex { $0.name == workload.name } ?? all.count
    var sweep = FailureSweep(seed: SeededGenerator(seed: plan.seed).derived(UInt64(place)).seed)
    sweep.part = min(1, plan.scale)
    sweep.kinds = kinds
    sweep.leavesNote = false
    sweep.dropsNames = true
    return sweep
  }

  /// The number of simulated disks to check after each power cut. It grows with the scale of the
  /// proof, up to 64. So a longer proof checks more of the states that a power cut may leave.
  private static func disks(_ plan: ProofPlan) -> Int { min(64, Int(6 * max(1, plan.scale))) }

  /// The maximum number of runs to reproduce a single failure.
  private static let triesMax = 100

  /// The approximate number of runs of a full proof, for the progress.
  private static let fullCount = 130_000

  private func describe(
    _ violation: FailureViolation, of workload: FailureWorkload, _ plan: ProofPlan
  ) -> ProofViolation {
    let what = "\(workload.name), \(violation)"
    guard let failure = violation.failure, let kind = violation.kind else {
      return ProofViolation(what, command: plan.command(for: self))
    }
    let part = FailurePart(workload.name, kind, nth: failure.nth, repeats: failure.repeats)
    return ProofViolation(what, command: plan.command(for: self, part: part.words))
  }

  /// Tries one failure until it causes a violation, at most `triesMax` times. Repetitions are
  /// necessary because the order of calls may vary: a thread of the store syncs ordered commits.
  ///
  /// - Parameter words: The program, the kind, the number of the call, and whether the call fails
  ///   once or repeatedly.
  private func runOne(_ words: [String], _ plan: ProofPlan) throws -> CampaignResult {
    guard let part = FailurePart(words),
      let workload = workloads.first(where: { $0.name == part.workload })
    else { throw plan.noSuchPart(FailurePart.form) }
    var result = CampaignResult()
    for _ in 0..<Self.triesMax where result.violations.isEmpty {
      let report = workload.run(
        sweep(of: workload, plan), only: part, disks: Self.disks(plan), disguise: disguise)
      result.counts.ioFailures = max(result.counts.ioFailures, report.struckCount)
      result.violations = report.violation.map { [describe($0, of: workload, plan)] } ?? []
    }
    if result.counts.ioFailures == 0, result.violations.isEmpty { throw plan.noSuchPart(FailurePart.form) }
    result.report = ["\(words[0]): tried"]
    return result
  }

  private static func table(_ reports: [Sweep]) -> [String] {
    let kinds = FailureKind.allCases
    let sums = kinds.map { kind in reports.reduce(0) { $0 + ($1.report.runs[kind] ?? 0) } }
    let rows = reports.map { workload, report in
      [workload.name] + kinds.map { String(report.runs[$0] ?? 0) }
    }
    return TextTable.lines([["program"] + kinds.map(\.rawValue)] + rows + [["all"] + sums.map(String.init)])
      + [
        "\(sums.reduce(0, +)) runs in which a call failed; \(wholeCount(reports)) of \(reports.count) programs had all kinds of failure"
      ]
  }
}
