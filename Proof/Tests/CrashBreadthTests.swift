import PerdureProving
import PerdureTestSupport
import Testing

@Suite("A full proof lists the cases that did not occur")
struct CrashBreadthTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("A proof without disks lists every missing kind of power cut")
  func nothing() {
    let found = CrashBreadth.shortfalls(of: [CrashTally(name: "puts")], disks: 100)
    #expect(found.contains("0 disks were tried, of 100"))
    #expect(found.contains { $0.hasSuffix("which is less than a tenth") })
    #expect(found.filter { $0.hasPrefix("no disk had") }.count == 4)
    #expect(found.filter { $0.hasPrefix("no power cut had a loss") }.count == CrashLoss.allCases.count)
    #expect(found.filter { $0.hasPrefix("no write was torn") }.count == 2)
  }

  @Test("A kind of program with more than a twentieth of all disks is named, and no other kind")
  func unevenShares() async throws {
    let tallies = try await CrashCampaign().tallies(ProofPlan(seed: seed, scale: 0.0004), .silent)
    let all = tallies.reduce(into: CrashTally(name: "too many")) { $0 += $1 }
    let found = CrashBreadth.shortfalls(of: tallies + [all], disks: 1)
    let named = found.filter { $0.hasSuffix("a twentieth of all disks") }
    #expect(named == ["too many has more than a twentieth of all disks"], "PERDURE_SEED=\(seed)")
  }
}
