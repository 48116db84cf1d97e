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

  private func expectCaught(
    _ shape: CrashShape, on makeFileSystem: () -> (any FileSystem, SimulatedFileSystem)
  ) async throws {
    for history in 0..<Self.historiesTried {
      let (fileSystem, base) = makeFileSystem()
      if try await isCaught(shape, fileSystem, base, seed: seed &+ history) { return }
    }
    Issue.record("not noticed in \(Self.historiesTried) histories, PERDURE_SEED=\(seed)")
  }

  private func isCaught(
    _ shape: CrashShape, _ fileSystem: any FileSystem, _ base: SimulatedFileSystem, seed: UInt64
  ) async throws -> Bool {
    let workload = CrashWorkload(shape: shape, seed: seed)
    let oracle = try await workload.run(on: fileSystem, base.marker)
    let report = CrashExplorer(seed: seed).examine(base.journal) { image, context in
      let store = try workload.open(on: image.fileSystem())
      try oracle.check(store, promised: UInt64(context.acknowledged.max() ?? 0))
    }
    if let violation = report.violation { print("after \(report.checkedCount) checks: \(violation.reason)") }
    return report.violation != nil
  }
}
