package import PerdureFileIO
package import PerdureTestSupport

/// Fails every call that small programs make to their file system, once and for ever, in all the ways in
/// which systems fail.
package struct FailureCampaign: Campaign {
  package let name = "failures"
  package let summary =
    "every call of \(FailureWorkload.all.count) programs fails, once and for ever, "
    + "in \(FailureKind.allCases.count) ways"

  /// What stores see of the file system; the proof of the proof puts one that lies before it.
  package var disguise: @Sendable (SimulatedFileSystem) -> any FileSystem = { $0 }
  package var workloads = FailureWorkload.all
  package var kinds = FailureKind.allCases

  package init() {}

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    if let text = Environment.value(of: Self.variable) { return try runOne(text, plan) }
    let reports = await reports(plan, progress)
    var result = CampaignResult()
    result.report = Self.table(reports)
    for (workload, report) in reports {
      result.counts.ioFailures += report.struckCount
      if let violation = report.violation {
        result.violations.append(describe(violation, of: workload, plan))
      }
    }
    return result
  }

  private func reports(
    _ plan: ProofPlan, _ progress: ProofProgress
  ) async -> [(workload: FailureWorkload, report: FailureReport)] {
    let total = plan.quota(Self.fullCount)
    return await withTaskGroup(of: (Int, FailureReport).self) { group in
      var reports: [Int: FailureReport] = [:]
      let cores = 2
      for (number, workload) in workloads.enumerated() {
        if number >= cores, let (number, report) = await group.next() { reports[number] = report }
        group.addTask {
          var sweep = FailureSweep(seed: SeededGenerator(seed: plan.seed).derived(UInt64(number)).seed)
          sweep.part = min(1, plan.scale)
          sweep.kinds = kinds
          return (number, workload.run(sweep, disguise: disguise) { progress.advance(of: total, name) })
        }
      }
      for await (number, report) in group { reports[number] = report }
      return workloads.indices.compactMap { number in reports[number].map { (workloads[number], $0) } }
    }
  }

  /// About how many runs a full proof has.
  private static let fullCount = 90_000

  /// Names the workload, the kind, the number of the call and how often it fails: "put, ordered|EIO|17|once".
  private static let variable = "PERDURE_FAILURE"

  private func describe(
    _ violation: FailureViolation, of workload: FailureWorkload, _ plan: ProofPlan
  ) -> ProofViolation {
    let what = "\(workload.name), \(violation)"
    guard let failure = violation.failure, let kind = violation.kind else {
      return ProofViolation(what, command: plan.command(for: self))
    }
    let one = "\(workload.name)|\(kind.rawValue)|\(failure.nth)|\(failure.repeats ? "for ever" : "once")"
    return ProofViolation(
      what, command: "\(Self.variable)='\(one)' make prove ARGS=\"--only \(name)\"")
  }

  private func runOne(_ text: String, _ plan: ProofPlan) throws -> CampaignResult {
    let parts = text.split(separator: "|").map(String.init)
    guard parts.count == 4, let workload = workloads.first(where: { $0.name == parts[0] }),
      let kind = FailureKind(rawValue: parts[1]), let nth = Int(parts[2]), nth > 0
    else { throw Violation("\(Self.variable) is workload|kind|number|once or for ever; it is \(text)") }
    let failure = kind.failure(nth: nth, repeats: parts[3] != "once")
    let report = workload.run(FailureSweep(seed: plan.seed), only: (kind, failure), disguise: disguise)
    var result = CampaignResult()
    result.counts.ioFailures = report.struckCount
    result.report = ["\(text): \(report.struckCount == 0 ? "no call failed" : "tried")"]
    result.violations = report.violation.map { [describe($0, of: workload, plan)] } ?? []
    return result
  }

  private static func table(_ reports: [(workload: FailureWorkload, report: FailureReport)]) -> [String] {
    let width = 1 + (reports.map { $0.workload.name.count }.max() ?? 0)
    let kinds = FailureKind.allCases
    func line(_ name: String, _ cells: [String]) -> String {
      let columns = zip(kinds, cells).map { kind, cell in
        String(repeating: " ", count: max(1, max(5, kind.rawValue.count) + 1 - cell.count)) + cell
      }
      return name + String(repeating: " ", count: width - name.count) + columns.joined()
    }
    var lines = [line("", kinds.map(\.rawValue))]
    for (workload, report) in reports {
      lines.append(line(workload.name, kinds.map { String(report.runs[$0] ?? 0) }))
    }
    let sums = kinds.map { kind in reports.reduce(0) { $0 + ($1.report.runs[kind] ?? 0) } }
    return lines + [line("all", sums.map(String.init)), "\(sums.reduce(0, +)) runs in which a call failed"]
  }
}
