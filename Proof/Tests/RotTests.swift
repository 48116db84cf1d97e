import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// A slice of what the proof does to a store's bytes, and proof that it would notice.
@Suite("Bytes that rot")
struct RotTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  private func run(_ campaign: RotCampaign, scale: Double) async throws -> CampaignResult {
    print("PERDURE_SEED=\(seed)")
    return try await campaign.run(ProofPlan(seed: seed, scale: scale), .silent)
  }

  @Test("Any flipped bit, and any other damage, is an error that names its place, or of no account")
  func slice() async throws {
    let result = try await run(RotCampaign(), scale: 0.0015)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.bitFlips > 10_000 && result.counts.mutations > 50)
  }

  @Test(
    "A checksum that is not checked is noticed",
    arguments: [RotCanary.uncheckedRecords, .repairedRecords, .uncheckedNodes])
  func canaries(_ canary: RotCanary) async throws {
    let result = try await run(RotCampaign(canary: canary), scale: 0.0005)
    #expect(!result.violations.isEmpty)
    #expect(result.violations.allSatisfy { $0.command.contains("--only rot --seed \(seed)") })
    // By who opens the store and reads a key that is below the node.
    if canary == .uncheckedNodes { #expect(result.violations.allSatisfy { $0.what.contains("opened") }) }
  }

  @Test("The reference store has every kind of part, and each byte of it is in one")
  func layout() throws {
    let store = try RotStore(rounds: 0, seed: seed)
    let opened = try Store(at: RotStore.path, options: RotStore.options(on: store.fileSystem()))
    let layout = try RotLayout(store.files, opened: opened)
    let kinds = Set(layout.parts.map(\.kind))
    #expect(kinds == Set(RotPart.Kind.allCases))
    #expect(layout.parts.contains { $0.isTail })
    #expect(try opened.verify().isClean)
    #expect(try CrashOracle.content(of: opened) == store.content)
  }
}
