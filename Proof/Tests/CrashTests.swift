import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// A small part of the campaign. It prints the seed. A violation contains the command that
/// reproduces it.
@Suite("After a power cut")
struct CrashTests {
  private let seed = SeededGenerator.seedFromEnvironment()
  /// `make prove` makes a longer run.
  private static let scale = 0.008

  @Test("After any power cut, a store has a prefix of its commits, including all promised ones")
  func everyCrash() async throws {
    let plan = ProofPlan(seed: seed, scale: Self.scale)
    let campaign = CrashCampaign()
    let tallies = try await campaign.tallies(plan, .silent)
    let sum = tallies.reduce(into: CrashTally(name: "all")) { $0 += $1 }
    print(CrashTally.table(tallies + [sum]).joined(separator: "\n"))
    print("PERDURE_SEED=\(seed)\n\(sum.matrix)\n\(sum.sectorLine)")
    #expect(campaign.violations(of: tallies, plan).map(\.description) == [])
    #expect(sum.states >= plan.quota(CrashCampaign.statesFull))
    // At least a tenth of the disks must be from cuts during recoveries, and some from three
    // consecutive cuts.
    #expect(sum.recoveryStates >= plan.quota(CrashCampaign.statesFull / 10))
    #expect(sum.statesByDepth.allSatisfy { $0 > 0 })
    for tally in tallies { #expect(tally.states * 20 <= sum.states, "\(tally.name)") }
    #expect(sum.statesBySector.values.reduce(0, +) == sum.states)
    for sector in [512, 4096] { #expect(sum.statesBySector[sector] ?? 0 > 0, "sectors of \(sector)") }
    // A small part has few torn writes at sectors of 4 KiB, because a write must affect two of
    // them.
    #expect(sum.tornBySector[512] ?? 0 > 0)
    #expect(sum.matrix.losses == Set(CrashLoss.allCases))
    #expect(sum.matrix.operations.isSuperset(of: [.create, .rename, .remove, .syncDirectory, .write, .sync]))
  }

  @Test("Programs with automatic compaction compact often, and in the same way in two runs")
  func compactionByItself() async throws {
    let shape = try #require(CrashShape.all.first { $0.garbageBytesMin > 0 })
    var compactions = 0
    for round in 0..<4 as Range<UInt64> {
      let runs = (0..<2).map { _ in
        (CrashWorkload(shape: shape, seed: seed &+ round), SimulatedFileSystem())
      }
      for (workload, fileSystem) in runs { _ = try await workload.run(on: fileSystem, fileSystem.marker) }
      compactions += runs[0].0.history.compactions
      #expect(runs[0].1.journal.trace == runs[1].1.journal.trace, "PERDURE_SEED=\(seed)")
      #expect(runs[0].0.history.compactions == runs[1].0.history.compactions)
    }
    print("\(compactions) compactions")
    #expect(compactions > 20, "PERDURE_SEED=\(seed)")
  }

  @Test(
    "Commits of different writers overlap in each kind of program with several writers",
    arguments: CrashShape.all.filter { $0.writers > 1 })
  func overlaps(_ shape: CrashShape) async throws {
    var overlaps = 0
    for round in 0..<200 as Range<UInt64> where overlaps == 0 {
      let (workload, fileSystem) = (CrashWorkload(shape: shape, seed: seed &+ round), SimulatedFileSystem())
      _ = try await workload.run(on: fileSystem, fileSystem.marker)
      overlaps += workload.history.overlapCount
    }
    #expect(overlaps > 0, "PERDURE_SEED=\(seed)")
  }
}
