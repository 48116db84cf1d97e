import Foundation
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// The program to kill. It is next to the test program if the whole package was built.
private let program = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
  .deletingLastPathComponent().appendingPathComponent("perdure-prove").path

@Suite(
  "Processes that are killed", .enabled(if: FileManager.default.isExecutableFile(atPath: program)))
struct KillTests {
  // On a busy machine, some killed writers have made no step, and do not count.
  private let plan = ProofPlan(seed: SeededGenerator.seedFromEnvironment(), scale: 0.015)

  @Test(
    "After a kill at any time, even during a write, all acknowledged data of a writer is complete")
  func slice() async throws {
    let (result, tally) = try await KillCampaign(executable: program).runCounting(plan, .silent)
    for line in result.report { print(line) }
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.kills >= 20)
    #expect(tally.readers > tally.idleReaders)
    for level in Durability.allCases { #expect(tally.byDurability[level] ?? 0 > 0, "\(level)") }
    #if os(Linux)
      // Without a compiler, no write can be interrupted, and the report contains this.
      if Self.hasCompiler { #expect(tally.torn > 0) }
    #endif
  }

  /// Whether a compiler exists, by the same search as that of `SystemShim`.
  private static let hasCompiler = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    .contains { FileManager.default.isExecutableFile(atPath: "\($0)/cc") }

  @Test("An acknowledgement note that is cut at any byte leaves the previous note intact")
  func tornNotes() {
    for step in [2, 255, 256, 1792, 65_536] as [UInt64] {
      var bytes = [UInt8](repeating: 0, count: 32)
      func put(_ step: UInt64, _ length: Int = 16, in bytes: inout [UInt8]) {
        let (place, note) = (AcknowledgedStep.place(of: step), AcknowledgedStep.note(of: step))
        bytes.replaceSubrange(place..<(place + length), with: note[..<length])
      }
      put(step - 2, in: &bytes)
      put(step - 1, in: &bytes)
      for length in 0..<16 {
        var torn = bytes
        put(step, length, in: &torn)
        #expect(AcknowledgedStep.last(in: torn) == step - 1, "\(length) bytes of step \(step)")
      }
      put(step, in: &bytes)
      #expect(AcknowledgedStep.last(in: bytes) == step)
    }
    #expect(AcknowledgedStep.last(in: []) == 0 && AcknowledgedStep.last(in: [0, 0, 0]) == 0)
  }

  @Test("A writer that acknowledges a step before it makes the step is detected")
  func canary() async throws {
    var campaign = KillCampaign(executable: program)
    campaign.isEarly = true
    let result = try await campaign.run(plan, .silent)
    #expect(result.violations.contains { $0.what.contains("was acknowledged") })
  }

  @Test("Readers that never open the store are detected, and are not counted as kills")
  func blindReaders() async throws {
    var campaign = KillCampaign(executable: program)
    (campaign.isBlind, campaign.waitMax) = (true, 2_000)
    let (result, tally) = try await campaign.runCounting(plan, .silent)
    #expect(tally.readers > 0 && tally.idleReaders == tally.readers)
    #expect(result.violations.contains { $0.what.contains("has read a step") })
  }
}
