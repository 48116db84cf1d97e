import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

/// Backups, restored stores, copies and replacements while system calls fail. The suite prints the
/// seed. `PERDURE_SEED` repeats the run.
@Suite("Copies while calls fail")
struct FailureCopyTests {
  private static let names = [
    "a backup", "a backup since another", "a backup stream and its restored store", "a restored store",
    "a copy", "a replacement",
  ]

  private let seed = SeededGenerator.seedFromEnvironment()

  private func campaign(
    _ name: String, _ kinds: [FailureKind] = FailureKind.allCases
  ) throws -> FailureCampaign {
    var campaign = FailureCampaign()
    campaign.workloads = campaign.workloads.filter { $0.name == name }
    try #require(campaign.workloads.count == 1, "There is no program \(name)")
    campaign.kinds = kinds
    return campaign
  }

  @Test("For any failing call of a copy, the copy is complete or does not exist", arguments: names)
  func slice(name: String) async throws {
    let result = try await campaign(name).run(ProofPlan(seed: seed, scale: 0.02), .silent)
    print("\(name): \(result.counts.ioFailures) failures, PERDURE_SEED=\(seed)")
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.ioFailures > 10)
  }

  @Test("If the system refuses to map a file during a copy, only one call fails", arguments: names)
  func mappings(name: String) async throws {
    let result = try await campaign(name, [.noMemory]).run(ProofPlan(seed: seed, scale: 1), .silent)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.ioFailures > 3)
  }

  @Test("A copy that ignores failed syncs is detected", arguments: names)
  func syncs(name: String) async throws {
    var campaign = try campaign(name, [.syncDropsPages])
    campaign.disguise = { SwallowingCopies($0, ignoring: .sync) }
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("that was made, after a power cut"), "\(violation)")
  }

  @Test("A copy that ignores failed writes is detected", arguments: names)
  func writes(name: String) async throws {
    var campaign = try campaign(name, [.mediaError])
    campaign.disguise = { SwallowingCopies($0, ignoring: .write) }
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    let violation = try #require(result.violations.first)
    // A restored store is read before it gets its name.
    let signs = ["that was made", "with a code that does not fit"]
    #expect(signs.contains { violation.what.contains($0) }, "\(violation)")
  }

  @Test("A copy whose draft remains after an error is detected")
  func drafts() async throws {
    var campaign = try campaign("a backup", [.mediaError])
    campaign.disguise = { KeptDrafts($0) }
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("has left /backup"), "\(violation)")
  }
}

/// Reports failed calls of one kind as successful, only for files of copies.
private final class SwallowingCopies: ForwardingFileSystem {
  let behind: any FileSystem
  private let swallowing: SwallowingFileSystem

  init(_ behind: any FileSystem, ignoring ignored: SwallowingFileSystem.Ignored) {
    self.behind = behind
    swallowing = SwallowingFileSystem(behind, ignoring: ignored)
  }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    guard path.contains(".copy/") else { return try behind.open(path, mode) }
    return try swallowing.open(path, mode)
  }
}

/// A file system that refuses to remove the files of drafts.
private final class KeptDrafts: ForwardingFileSystem {
  let behind: any FileSystem

  init(_ behind: any FileSystem) { self.behind = behind }

  func remove(_ path: String) throws(FileIOError) {
    if path.contains(".copy/"), !path.hasSuffix(".tmp") {
      throw FileIOError(.permissionDenied, operation: .remove, path: path)
    }
    try behind.remove(path)
  }
}
