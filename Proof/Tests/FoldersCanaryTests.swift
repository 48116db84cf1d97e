import PerdureProving
import PerdureTestSupport
import Testing

@Suite("Stores that do not check their folder")
struct FoldersCanaryTests {
  /// For each deliberate error, a violation that it must cause in some history, and other
  /// violations that it may cause.
  private static let reasons: [FoldersCanary: (mustHave: String, others: [String])] = [
    .uncheckedFolder: (
      "a call failed",
      // A thread of the store works in a folder with other files.
      [
        "commits are acknowledged past the segment", "has two writers", "does not open",
        "has changed its files",
      ]
    ),
    .unlockedSegments: ("has two writers", []),
    // A moved folder must stay usable.
    .paths: ("a call failed", ["does not open", "has changed its files", "a thread failed"]),
    .uncheckedPaths: (
      "has changed its files",
      [
        "a call failed", "a thread failed", "does not open", "commits are acknowledged past the segment",
        "has two writers",
      ]
    ),
  ]

  @Test(
    "A missing check, lock or handle of a folder causes its own violation", arguments: FoldersCanary.allCases)
  func canaries(_ canary: FoldersCanary) async throws {
    let seed = SeededGenerator.forTest("folders, \(canary)").seed
    let reasons = try #require(Self.reasons[canary])
    var found: [String] = []
    for round in 0..<40 as Range<UInt64> where !found.contains(where: { $0.contains(reasons.mustHave) }) {
      let plan = ProofPlan(seed: seed &+ round, scale: 0.02)
      found += try await FoldersCampaign(canary: canary).run(plan, .silent).violations.map(\.what)
    }
    #expect(found.contains { $0.contains(reasons.mustHave) })
    let known = [reasons.mustHave] + reasons.others
    #expect(found.filter { what in !known.contains { what.contains($0) } } == [])
  }
}
