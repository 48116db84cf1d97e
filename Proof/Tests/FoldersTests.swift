import PerdureProving
import PerdureTestSupport
import Testing

@Suite("Folders that change under open stores")
struct FoldersTests {
  @Test("No other store is changed, no acknowledged commit is lost, and errors name the cause")
  func slice() async throws {
    let seed = SeededGenerator.forTest("folders").seed
    let result = try await FoldersCampaign().run(ProofPlan(seed: seed, scale: 0.05), .silent)
    for violation in result.violations { Issue.record("\(violation)") }
    for line in result.report { print(line) }
    #expect(result.counts.modelOperations >= 3_000)
    #expect(!result.report.contains { $0.contains(" (0 bytes)") || $0.contains("checkpoints (0)") })
  }

  @Test("Writers that do not check their folder are detected, and the named part detects them again")
  func unchecked() async throws {
    let seed = SeededGenerator.forTest("unchecked folders").seed
    let campaign = FoldersCampaign(canary: .uncheckedFolder)
    for round in 0..<5 as Range<UInt64> {
      let plan = ProofPlan(seed: seed &+ round, scale: 0.02)
      let violation = try #require(try await campaign.run(plan, .silent).violations.first)
      let part = try #require(violation.what.split(separator: ":").first?.split(separator: " ").last)
      let again = ProofPlan(seed: seed &+ round, scale: 0.02, part: String(part))
      #expect(try await !campaign.run(again, .silent).violations.isEmpty)
      #expect(try await FoldersCampaign().run(again, .silent).violations.isEmpty)
    }
  }
}
