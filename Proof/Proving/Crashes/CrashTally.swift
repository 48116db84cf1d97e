package import PerdureTestSupport
import PerdureText

/// The counts of one kind of program.
package struct CrashTally: Sendable {
  package let name: String
  package private(set) var programs = 0
  package private(set) var operations = 0
  /// Distinct disks that passed, by the number of recoveries that were cut.
  package private(set) var statesByDepth: [Int] = [0, 0, 0, 0]
  /// Disks after a power cut in a recovery. Disks after a cut in a commit that followed a recovery
  /// are not counted.
  package private(set) var recoveryStates = 0
  package private(set) var exhausted = 0
  package private(set) var sampled = 0
  /// Commits that began during another commit of the same program.
  package private(set) var overlaps = 0
  package private(set) var shared = SharedBytes()
  package private(set) var matrix = CrashMatrix()
  /// The number of distinct disks that passed, by sector length, and the number of these disks with
  /// a torn write.
  package private(set) var statesBySector: [Int: Int] = [:]
  package private(set) var tornBySector: [Int: Int] = [:]
  package private(set) var violation: CrashViolation?
  /// The error that a program threw before any power cut.
  package private(set) var thrown: String?
  /// The program with the violation.
  private(set) var part: CrashPart?

  package init(name: String) { self.name = name }

  package var states: Int { statesByDepth.reduce(0, +) }

  /// The violation or error; nil if the campaign found none.
  package var finding: String? { violation?.description ?? thrown.map { "before any loss of power: \($0)" } }

  mutating func add(_ error: any Error, _ part: CrashPart) { (thrown, self.part) = ("\(error)", part) }

  mutating func add(_ context: CrashContext, sectorLength: Int, isDuringRecovery: Bool) {
    statesByDepth[context.recoveries] += 1
    statesBySector[sectorLength, default: 0] += 1
    if context.losses.contains(.tornWrite) { tornBySector[sectorLength, default: 0] += 1 }
    recoveryStates += isDuringRecovery ? 1 : 0
    matrix.add(context)
  }

  mutating func add(_ report: CrashReport, _ part: CrashPart, of check: some CrashCheck) {
    programs += 1
    overlaps += check.overlapCount
    shared += check.sharedBytes
    operations += report.operationCount
    exhausted += report.exhaustedOperationCount
    sampled += report.sampledOperationCount
    guard violation == nil, let found = report.violation else { return }
    (violation, self.part) = (found, part)
  }

  package static func += (sum: inout CrashTally, other: CrashTally) {
    sum.programs += other.programs
    sum.operations += other.operations
    for depth in sum.statesByDepth.indices { sum.statesByDepth[depth] += other.statesByDepth[depth] }
    sum.recoveryStates += other.recoveryStates
    sum.exhausted += other.exhausted
    sum.sampled += other.sampled
    sum.overlaps += other.overlaps
    sum.shared += other.shared
    sum.matrix += other.matrix
    sum.statesBySector.merge(other.statesBySector, uniquingKeysWith: +)
    sum.tornBySector.merge(other.tornBySector, uniquingKeysWith: +)
    sum.violation = sum.violation ?? other.violation
    sum.thrown = sum.thrown ?? other.thrown
  }

  /// The number of disks of each sector length, in readable form.
  package var sectorLine: String {
    let counts = statesBySector.sorted { $0.key < $1.key }.map { bytes, count in
      "\(bytes): \(count) (\(tornBySector[bytes] ?? 0))"
    }
    let title = "disks by sector length in bytes (in parentheses: with a torn write)"
    return "\(title): \(counts.joined(separator: ", "))"
  }

  /// The bytes that incremental backups have shared, in readable form.
  package var sharedLine: String {
    "bytes that backups shared with earlier ones: \(shared.inPrograms) in programs, "
      + "\(shared.afterCuts) after power cuts"
  }

  /// The table, with a line for each tally. The last tally is the sum of the others.
  package static func table(_ tallies: [CrashTally]) -> [String] {
    let sum = max(1, tallies.last?.states ?? 1)
    let header = [
      "workload", "programs", "operations", "disks", "%", "depth 1", "depth 2", "depth 3", "in recovery",
      "all tried", "sampled", "overlaps",
    ]
    let rows = tallies.map { tally in
      [tally.name]
        + [
          tally.programs, tally.operations, tally.states, tally.states * 1000 / sum, tally.statesByDepth[1],
          tally.statesByDepth[2], tally.statesByDepth[3], tally.recoveryStates, tally.exhausted,
          tally.sampled, tally.overlaps,
        ].enumerated().map { $0.offset == 3 ? "\($0.element / 10).\($0.element % 10)" : "\($0.element)" }
    }
    return TextTable.lines([header] + rows)
  }
}
