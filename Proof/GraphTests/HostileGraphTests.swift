import PerdureFuzzing
import PerdureProving
import PerdureTestSupport
import Testing

/// A part of the inputs that the proof passes to the graph's decoders: rows, stored models, the
/// texts of predicates, and the input of the macros.
@Suite("Hostile bytes for the decoders of the graph")
struct HostileGraphTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("The graph's decoders return a value or an error for the corpus and for mutations of it")
  func graph() async throws {
    print("PERDURE_SEED=\(seed)")
    let campaign = HostileCampaign(GraphDecoders.all)
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 0.0003), .silent)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.mutations > 800)
  }

  @Test("Every decoder of the graph accepts its own samples, and has inputs in the corpus")
  func samples() throws {
    for decoder in GraphDecoders.all {
      let samples = try decoder.samples()
      #expect(!samples.isEmpty, "\(decoder.name)")
      for sample in samples { try decoder.run(sample) }
      #expect(try !HostileCorpus.inputs(of: decoder).isEmpty, "\(decoder.name)")
    }
  }
}
