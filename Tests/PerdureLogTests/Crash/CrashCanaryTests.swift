import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Engines that are wrong on purpose: what the search through crashes is worth shows here.
@Suite("A sync that is left out is noticed")
struct CrashCanaryTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  private static let shape = CrashShape(
    description: "canary", commits: 30, operations: 1...8, blobOneIn: 6, reopensEvery: 9)

  @Test("Each sync that FORMAT.md asks for, by itself", arguments: ForgetfulFileSystem.Omission.allCases)
  func omission(_ omission: ForgetfulFileSystem.Omission) async throws {
    let fileSystem = SimulatedFileSystem()
    #expect(try await isCaught(ForgetfulFileSystem(fileSystem, without: omission), fileSystem))
  }

  @Test("All of them")
  func everySync() async throws {
    let fileSystem = SimulatedFileSystem(ignoresSync: true)
    #expect(try await isCaught(fileSystem, fileSystem))
  }

  private func isCaught(_ fileSystem: any FileSystem, _ base: SimulatedFileSystem) async throws -> Bool {
    let workload = CrashWorkload(shape: Self.shape, seed: seed)
    let oracle = try await workload.run(on: fileSystem, base.marker)
    let report = CrashExplorer(seed: seed).examine(base.journal) { image, context in
      let store = try workload.open(on: image.fileSystem())
      try oracle.check(store, promised: UInt64(context.acknowledged.max() ?? 0))
    }
    if let violation = report.violation { print("after \(report.checkedCount) checks: \(violation.reason)") }
    return report.violation != nil
  }
}
