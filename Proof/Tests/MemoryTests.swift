import PerdureProving
import PerdureTestSupport
import Testing

#if os(Linux)
  /// Runs in separate processes, because parallel tests also allocate memory.
  @Suite("The memory limit for decoders")
  struct MemoryTests {
    /// The result of a campaign with a decoder that briefly allocates this many MiB.
    private static func run(_ mebibytes: Int) async throws -> CampaignResult {
      let decoder = HostileDecoder(
        "record", throwing: CancellationError.self, samples: { [[0, 1, 2, 3]] },
        decode: { _ in
          let count = mebibytes << 20
          let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
          // Only written pages are resident.
          for place in stride(from: 0, to: count, by: 4096) { bytes[place] = 1 }
          bytes.deallocate()
        })
      let plan = ProofPlan(seed: 1, scale: 0.00001, hasProcessAlone: true)
      return try await HostileCampaign([decoder]).run(plan, .silent)
    }

    @Test("A decoder that briefly uses too much memory is detected")
    func tooMuch() async throws {
      await #expect(processExitsWith: .success) {
        let found = try await Self.run(100)
        // In containers that do not report memory, the test checks nothing.
        guard found.report.contains(where: { $0.contains("of memory") }) else { return }
        #expect(found.violations.contains { $0.what.contains("MiB of memory were taken") })
      }
    }

    /// Like `run`, but the decoder allocates pieces of 4 MiB and reports progress after each, as
    /// parallel tasks do.
    private static func runInPieces(_ count: Int) async throws -> CampaignResult {
      let progress = ProofProgress { _ in }
      let decoder = HostileDecoder(
        "record", throwing: CancellationError.self, samples: { [[0, 1, 2, 3]] },
        decode: { _ in
          var pieces: [[UInt8]] = []
          for number in 0..<count {
            pieces.append([UInt8](repeating: UInt8(number), count: 4 << 20))
            progress.beat()
          }
          if pieces.contains([]) { throw CancellationError() }
        })
      let plan = ProofPlan(seed: 1, scale: 0.00001, hasProcessAlone: true)
      return try await HostileCampaign([decoder]).run(plan, progress)
    }

    @Test("A decoder whose memory slowly grows too much is detected")
    func pieces() async throws {
      await #expect(processExitsWith: .success) {
        let found = try await Self.runInPieces(25)
        guard found.report.contains(where: { $0.contains("of memory") }) else { return }
        #expect(found.violations.contains { $0.what.contains("MiB of memory were taken") })
      }
    }

    @Test("A decoder that uses little memory passes")
    func little() async throws {
      await #expect(processExitsWith: .success) {
        let found = try await Self.run(4)
        #expect(found.violations.map(\.description) == [])
      }
    }
  }
#endif
