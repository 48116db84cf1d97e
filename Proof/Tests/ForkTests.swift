import PerdureProving
import PerdureTestSupport
import Testing

/// Runs in separate processes, because a child inherits the locks of all threads of its parent.
@Suite("Processes that fork while a store is open")
struct ForkCampaignTests {
  @Test(
    "No call of a forked child loses an acknowledged commit of the parent, and no child hangs")
  func slice() async throws {
    let seed = SeededGenerator.seedFromEnvironment()
    print("PERDURE_SEED=\(seed)")
    await #expect(processExitsWith: .success) { [seed = seed as UInt64] in
      await #expect(throws: Never.self) {
        var campaign = ForkCampaign()
        // The time limit is high, because the machine may be busy with other tests.
        campaign.secondsMax = 600
        let result = try await campaign.run(ProofPlan(seed: seed, scale: 0.02), .silent)
        #expect(result.violations.map(\.description) == [])
        #expect(result.counts.modelOperations > 100)
      }
    }
  }

  @Test("If children can use their parent's store, the lost commits are detected")
  func canary() async throws {
    await #expect(processExitsWith: .success) {
      await #expect(throws: Never.self) {
        var campaign = ForkCampaign()
        (campaign.ignoresForks, campaign.secondsMax) = (true, 1)
        let result = try await campaign.run(ProofPlan(seed: 1, scale: 0.02), .silent)
        #expect(!result.violations.isEmpty)
      }
    }
  }
}
