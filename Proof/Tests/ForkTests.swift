import PerdureProving
import PerdureTestSupport
import Testing

/// In processes of their own: a child has the locks of all threads that its parent has.
@Suite("Processes that fork while a store is open")
struct ForkCampaignTests {
  @Test(
    "Whatever forked children try, nothing that their parent acknowledged is lost, and none of them hangs")
  func slice() async throws {
    let seed = SeededGenerator.seedFromEnvironment()
    print("PERDURE_SEED=\(seed)")
    await #expect(processExitsWith: .success) { [seed = seed as UInt64] in
      let result = try await ForkCampaign().run(ProofPlan(seed: seed, scale: 0.02), .silent)
      for line in result.report + result.violations.map(\.description) { print(line) }
      guard result.violations.isEmpty, result.counts.modelOperations > 100 else {
        throw Violation("see above")
      }
    }
  }

  @Test("Where children may use the store of their parent, what is lost is noticed")
  func canary() async throws {
    await #expect(processExitsWith: .success) {
      var campaign = ForkCampaign()
      (campaign.ignoresForks, campaign.secondsMax) = (true, 1)
      let result = try await campaign.run(ProofPlan(seed: 1, scale: 0.02), .silent)
      guard !result.violations.isEmpty else { throw Violation("nothing was noticed") }
      print(result.violations[0])
    }
  }
}
