import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// Engines that are wrong on purpose: what the search through crashes is worth shows here.
@Suite("A sync that is left out is noticed")
struct CrashCanaryTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  /// A history may happen not to need the sync that is missing (none of its commits waits at the wrong
  /// moment, or no sampled disk shows it); so many histories in a row do not.
  private static let historiesTried: UInt64 = 16

  @Test("Each sync that FORMAT.md asks for, by itself", arguments: ForgetfulFileSystem.Omission.allCases)
  func omission(_ omission: ForgetfulFileSystem.Omission) async throws {
    try await expectCaught(omission.isOfCompaction ? .compactingCanary : .canary) {
      let fileSystem = SimulatedFileSystem()
      return (ForgetfulFileSystem(fileSystem, without: omission), fileSystem)
    }
  }

  @Test("All of them")
  func everySync() async throws {
    try await expectCaught(.canary) {
      let fileSystem = SimulatedFileSystem(ignoresSync: true)
      return (fileSystem, fileSystem)
    }
  }

  @Test(
    "Those of the opening alone, and only when the power goes again",
    arguments: [ForgetfulFileSystem.Omission.everyFile, .log])
  func openings(_ omission: ForgetfulFileSystem.Omission) async throws {
    for history in 0..<Self.historiesTried {
      let workload = CrashWorkload(shape: .canary, seed: seed &+ history)
      let fileSystem = SimulatedFileSystem()
      var check = try await workload.run(on: fileSystem, fileSystem.marker)
      check.opening = { ForgetfulFileSystem($0, without: omission) }
      var explorer = CrashExplorer(seed: workload.seed)
      explorer.imagesPerOperationMax = 12
      explorer.operationsOneIn = 4
      // The engine that is wrong is right, if nobody looks for a second crash.
      let once = explorer.examine(fileSystem.journal, check)
      #expect(once.violation == nil, "\(once)")
      explorer.recoveryDepth = 1
      let again = explorer.examine(fileSystem.journal, check)
      if let violation = again.violation {
        print("after \(again.checkedCount) checks: \(violation.reason)")
        #expect(violation.recoveries == 1)
        return
      }
    }
    Issue.record("not noticed in \(Self.historiesTried) histories, PERDURE_SEED=\(seed)")
  }

  private func expectCaught(
    _ shape: CrashShape, on makeFileSystem: () -> (any FileSystem, SimulatedFileSystem)
  ) async throws {
    for history in 0..<Self.historiesTried {
      let (fileSystem, base) = makeFileSystem()
      let workload = CrashWorkload(shape: shape, seed: seed &+ history)
      let check = try await workload.run(on: fileSystem, base.marker)
      let report = CrashExplorer(seed: workload.seed).examine(base.journal, check)
      if let violation = report.violation {
        return print("after \(report.checkedCount) checks: \(violation.reason)")
      }
    }
    Issue.record("not noticed in \(Self.historiesTried) histories, PERDURE_SEED=\(seed)")
  }
}
