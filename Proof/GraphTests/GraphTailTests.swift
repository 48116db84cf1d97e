import PerdureGraphProving
import PerdureProving
import PerdureTestSupport
import Testing

/// Intact records at wrong offsets, in the rows of a graph. An opening does not read all of these
/// records.
@Suite("Misplaced records before a checkpoint of a graph's store")
struct GraphTailTests {
  /// The number of cases of damage to each kind of store.
  private static let damageCount = 80

  @Test("Every answer by an index is right or an error; only unbound records can show an older version")
  func damages() throws {
    let seed = SeededGenerator.forTest("misplaced records of a graph").seed
    let (result, tally) = try GraphTails().examine(
      Self.damageCount, only: nil, seed: seed, prefix: "0|graphs", .silent)
    for line in result.report { print(line) }
    #expect(result.findings.map(\.what) == [])
    for prefix in ["bound", "not bound"] {
      let opened = [TailOutcome.errors, .right, .older].reduce(0) { $0 + tally.count($1, prefix) }
      #expect(opened >= Self.damageCount / 4)
      for outcome in [TailOutcome.refused, .errors, .right] { #expect(tally.count(outcome, prefix) > 0) }
      #expect((tally.count(.older, prefix) > 0) == (prefix == "not bound"))
    }
  }

  @Test(
    "The undamaged graph opens from its checkpoint, and every answer is right", arguments: [true, false])
  func undamaged(bindsRecords: Bool) throws {
    let seed = SeededGenerator.forTest("a graph under a tail, bound: \(bindsRecords)").seed
    try GraphTails.checkUndamaged(bindsRecords: bindsRecords, seed: seed)
  }

  @Test(
    "Graphs that do not compare replaced records are detected, and the named part repeats the error",
    .enabled(if: LongRun.isOptimized, "takes a minute without optimisation"))
  func uncompared() async throws {
    let root = SeededGenerator.forTest("uncompared records of a graph")
    let canary = GraphTails(comparesReplacedRecords: false)
    var (seed, findings) = (root.seed, [] as [RotFinding])
    // A run ends at its eighth violation, so another seed is tried, not a longer run.
    for round in 0..<8 as Range<UInt64>
    where !findings.contains(where: { $0.what.contains("is the name of []") }) {
      seed = root.derived(round).seed
      findings = try canary.run(400, only: nil, seed: seed, prefix: "0|graphs", .silent).findings
    }
    let found = try #require(findings.first { $0.what.contains("is the name of []") })
    let words = ["is the name of", "is the weight of", "parts", "a second part"]
    #expect(findings.map(\.what).filter { what in !words.contains { what.contains($0) } } == [])
    let number = try #require(found.part?.split(separator: "|").last.flatMap { Int($0) })
    let again = try canary.run(1_600, only: number, seed: seed, prefix: "0|graphs", .silent)
    #expect(again.findings.map(\.what) == [found.what])
    let right = try GraphTails().run(1_600, only: number, seed: seed, prefix: "0|graphs", .silent)
    #expect(right.findings.map(\.what) == [] && right.count == 1)
  }

  @Test("A part of the campaign `rot` is one case of damage to a graph, and is counted as a mutation")
  func part() async throws {
    let seed = SeededGenerator.forTest("a graph of the campaign rot").seed
    let campaign = RotCampaign(graphs: GraphTails())
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1, part: "0|graphs|4"), .silent)
    #expect(result.violations.map(\.what) == [])
    #expect(result.counts.mutations == 1)
    #expect(result.report.contains { $0.hasPrefix("graphs with a log after the checkpoint, not bound") })
    await #expect(throws: NoSuchPart.self) {
      try await RotCampaign().run(ProofPlan(seed: seed, scale: 1, part: "0|graphs|4"), .silent)
    }
  }
}
