import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// A slice of the campaign. The seed is printed; `PERDURE_SEED` runs it again.
@Suite("After a power cut")
struct CrashTests {
  private let seed = SeededGenerator.seedFromEnvironment()
  /// A long run is `make prove`.
  private static let scale = 0.008

  @Test("A store holds a prefix of its commits with all that was promised, whatever power cuts left")
  func everyCrash() async throws {
    let plan = ProofPlan(seed: seed, scale: Self.scale)
    let tallies = try await CrashCampaign().tallies(plan, .silent)
    let sum = tallies.reduce(into: CrashTally(name: "all")) { $0 += $1 }
    print(CrashTally.table(tallies + [sum]).joined(separator: "\n"))
    print("PERDURE_SEED=\(seed)\n\(sum.matrix)")
    #expect(sum.finding == nil)
    #expect(sum.states >= plan.quota(CrashCampaign.statesFull))
    // A tenth of them from cuts during recovery, three times in a row too.
    #expect(sum.recoveryStates >= plan.quota(CrashCampaign.statesFull / 10))
    #expect(sum.statesByDepth.allSatisfy { $0 > 0 })
    for tally in tallies { #expect(tally.states * 20 <= sum.states, "\(tally.name)") }
    #expect(sum.matrix.losses == Set(CrashLoss.allCases))
    #expect(sum.matrix.operations.isSuperset(of: [.create, .rename, .remove, .syncDirectory, .write, .sync]))
  }
}
