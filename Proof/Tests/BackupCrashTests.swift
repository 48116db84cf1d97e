import PerdureProving
import PerdureTestSupport
import Testing

/// A small part of the campaign's programs with backups, and tests that show that the check can
/// fail.
@Suite("Backups after a power cut")
struct BackupCrashTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("After a cut at any point, a backup is complete or does not exist, and the store is intact")
  func everyCrash() async throws {
    let plan = ProofPlan(seed: seed, scale: 0.001)
    let campaign = CrashCampaign(only: BackupCrashSubject())
    let tallies = try await campaign.tallies(plan, .silent)
    print("PERDURE_SEED=\(seed)\n" + CrashTally.table(tallies).joined(separator: "\n"))
    #expect(campaign.violations(of: tallies, plan).map(\.description) == [])
    print(tallies.map(\.sharedLine))
    #expect(tallies.allSatisfy { $0.shared.inPrograms > 0 && $0.shared.afterCuts > 0 })
    #expect(tallies.allSatisfy { $0.states >= plan.quota(CrashCampaign.statesFull) })
  }

  @Test("A backup that omits a sync is detected", arguments: BackupCrashSubject.Omission.allCases)
  func omission(_ omission: BackupCrashSubject.Omission) async throws {
    for round in 0..<8 as Range<UInt64> {
      let plan = ProofPlan(seed: seed &+ round, scale: 0.001)
      let campaign = CrashCampaign(only: BackupCrashSubject(omission: omission))
      let tally = try #require(try await campaign.tallies(plan, .silent).first)
      guard let violation = tally.violation else { continue }
      print("\(omission), after \(tally.states) disks: \(violation.reason)")
      #expect(violation.reason.contains("backup"), "PERDURE_SEED=\(seed)")
      return
    }
    Issue.record("not noticed, PERDURE_SEED=\(seed)")
  }
}
