import PerdureTestSupport

/// Checks that all kinds of power cuts occurred. A proof without some kinds shows less than it
/// claims.
package enum CrashBreadth {
  /// Torn writes must occur on disks with each of these sector lengths, in bytes.
  private static let tornSectors = [512, 4096]

  /// The cases that a full proof must contain but does not; empty if it contains all of them.
  ///
  /// - Parameter tallies: The counts of each kind of program.
  package static func shortfalls(of tallies: [CrashTally], disks: Int) -> [String] {
    let sum = tallies.reduce(into: CrashTally(name: "all")) { $0 += $1 }
    var found: [String] = []
    if sum.states < disks { found.append("\(sum.states) disks were tried, of \(disks)") }
    if sum.recoveryStates * 10 < disks {
      found.append("\(sum.recoveryStates) disks had a cut during recovery, which is less than a tenth")
    }
    for (depth, count) in sum.statesByDepth.enumerated() where count == 0 {
      found.append("no disk had \(depth + 1) consecutive cuts")
    }
    for tally in tallies where tally.states * 20 > sum.states {
      found.append("\(tally.name) has more than a twentieth of all disks")
    }
    for loss in CrashLoss.allCases where !sum.matrix.losses.contains(loss) {
      found.append("no power cut had a loss of kind \(loss.rawValue)")
    }
    if sum.shared.inPrograms == 0 || sum.shared.afterCuts == 0 {
      found.append(
        "backups shared \(sum.shared.inPrograms) bytes in programs and \(sum.shared.afterCuts) after cuts; "
          + "both must be above 0")
    }
    for sector in tornSectors where sum.tornBySector[sector] ?? 0 == 0 {
      found.append("no write was torn at sectors of \(sector) bytes")
    }
    return found
  }
}
