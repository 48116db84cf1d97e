import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

/// A small part of the inputs that the proof passes to decoders.
@Suite("Hostile bytes")
struct HostileTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("The engine's decoders return a value or an error for the corpus and for mutations of it")
  func engine() async throws {
    print("PERDURE_SEED=\(seed)")
    let campaign = HostileCampaign(EngineDecoders.all)
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 0.0003), .silent)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.mutations > 3000)
  }

  @Test("Every decoder accepts its own samples, and decoder names are unique")
  func samples() throws {
    #expect(Set(EngineDecoders.all.map(\.name)).count == EngineDecoders.all.count)
    for decoder in EngineDecoders.all {
      let samples = try decoder.samples()
      #expect(!samples.isEmpty, "\(decoder.name)")
      for sample in samples { try decoder.run(sample) }
    }
  }

  @Test("A decoder that accepts wrong bytes is detected, because encoding gives other bytes")
  func accepting() async throws {
    /// Decodes a number of two bytes, each of which must be below 128.
    func canary(checksBytes: Bool) -> HostileDecoder {
      HostileDecoder(
        "canary", throwing: CancellationError.self, samples: { [[1, 2]] },
        decode: { bytes in
          guard bytes.count == 2, !checksBytes || bytes.allSatisfy({ $0 < 128 }) else {
            throw CancellationError()
          }
          let number = Int(bytes[0] & 127) << 7 | Int(bytes[1] & 127)
          try EngineDecoders.same([UInt8(number >> 7), UInt8(number & 127)], bytes, "a number")
        })
    }
    for checksBytes in [true, false] {
      let result = try await HostileCampaign([canary(checksBytes: checksBytes)])
        .run(ProofPlan(seed: seed, scale: 0.001), .silent)
      let isFound = result.violations.contains {
        $0.what.contains("a number is encoded differently after decoding")
      }
      #expect(isFound == !checksBytes, "PERDURE_SEED=\(seed)")
    }
  }

  @Test("A decoder that throws a wrong error, or whose check finds a violation, is detected")
  func canaries() async throws {
    struct Other: Error {}
    for isViolation in [true, false] {
      let canary = HostileDecoder(
        "canary", throwing: CancellationError.self, samples: { [[1, 2, 3, 4, 5, 6, 7, 8]] },
        decode: { bytes in
          guard bytes.first == 0xFF || bytes.isEmpty else { throw CancellationError() }
          if isViolation { throw Violation("a value that is wrong") }
          throw Other()
        })
      let result = try await HostileCampaign([canary]).run(ProofPlan(seed: seed, scale: 0.01), .silent)
      let expected = isViolation ? "a value that is wrong" : "canary throws Other"
      #expect(result.violations.contains { $0.what.contains(expected) }, "PERDURE_SEED=\(seed)")
    }
  }

  @Test("A decoder gets the same mutations, whatever other decoders are tried")
  func beside() async throws {
    func seen(beside others: [String]) async throws -> [[UInt8]] {
      let inputs = Guarded<[[UInt8]]>([])
      let decoders = (others + ["watched"]).map { name in
        HostileDecoder(
          name, throwing: CancellationError.self, samples: { [[1, 2, 3, 4, 5, 6, 7, 8]] },
          decode: { bytes in
            if name == "watched" { inputs.withLock { $0.append(Array(bytes)) } }
          })
      }
      _ = try await HostileCampaign(decoders).run(ProofPlan(seed: seed, scale: 0.0001), .silent)
      return inputs.withLock { $0 }
    }
    let alone = try await seen(beside: [])
    #expect(alone.count > 100)
    #expect(try await seen(beside: ["first", "second"]) == alone, "PERDURE_SEED=\(seed)")
  }

  @Test("A decoder without inputs in the corpus is detected")
  func corpus() async throws {
    let decoder = HostileDecoder(
      "unlisted", throwing: CancellationError.self, samples: { [[1, 2, 3, 4, 5, 6, 7, 8]] }, decode: { _ in })
    let result = try await HostileCampaign([decoder]).run(ProofPlan(seed: seed, scale: 0.0001), .silent)
    #expect(result.violations.map { $0.what.contains("unlisted has no inputs in") } == [true])
    for decoder in EngineDecoders.all { #expect(try !HostileCorpus.inputs(of: decoder).isEmpty) }
  }

  @Test("A mutation that does not change a decoder's input is not counted")
  func nothing() async throws {
    let decoder = HostileDecoder(
      "unlisted", throwing: CancellationError.self, samples: { [[]] }, decode: { _ in })
    let result = try await HostileCampaign([decoder]).run(ProofPlan(seed: seed, scale: 0.0001), .silent)
    #expect(result.counts.mutations == 0)
  }
}
