import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// Deliberately wrong engines. The tests show that the search through crashes detects their errors.
/// The tests use the settings of the campaign, which the correct engine passes.
@Suite("Power cuts detect errors of an engine")
struct CrashCanaryTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  /// The maximum number of campaigns. In a single campaign, the error may have no effect: no commit
  /// waits at the right moment, or no sampled disk shows the error.
  private static let campaignsMax = 16
  private static let scale = 0.0008

  @Test(
    "The omission of any required sync is detected", arguments: ForgetfulFileSystem.Omission.allCases)
  func omission(_ omission: ForgetfulFileSystem.Omission) async throws {
    let shape = omission.isOfCompaction ? CrashShape.compactingCanary : .canary
    try await expectCaught(CrashCanary(shape: shape, omission: omission), saying: omission.consequences)
  }

  @Test("Missing index entries are detected, although the engine's own checks do not find them")
  func entries() async throws {
    try await expectCaught(
      CrashCanary(shape: .canary, extractor: ForgetfulExtractor.name),
      saying: ["the entries of index groups"])
  }

  @Test(
    "Unneeded files that an opening does not remove are detected",
    arguments: [".blob", ".index", ".segment", ".segment.tmp"])
  func leftovers(_ ending: String) async throws {
    let shape = ending.contains("segment") ? CrashShape.compactingCanary : .canary
    try await expectCaught(
      CrashCanary(shape: shape, ending: ending), saying: ["\(ending) is not needed, but it still exists"])
  }

  @Test(
    "No error is found in the same programs if nothing is omitted",
    arguments: [CrashShape.canary, .compactingCanary])
  func control(_ shape: CrashShape) async throws {
    let tally = try await tally(CrashCanary(shape: shape), 0, scale: 0.0004)
    #expect(tally.finding == nil, "PERDURE_SEED=\(seed)")
    #expect(tally.states > 400)
  }

  @Test(
    "Omitted syncs of the opening are detected, but only by a second power cut",
    arguments: [ForgetfulFileSystem.Omission.everyFile, .log])
  func openings(_ omission: ForgetfulFileSystem.Omission) async throws {
    for history in 0..<UInt64(Self.campaignsMax) {
      let workload = CrashWorkload(shape: .canary, seed: seed &+ history)
      let fileSystem = SimulatedFileSystem()
      var check = try await workload.run(on: fileSystem, fileSystem.marker)
      check.opening = { ForgetfulFileSystem($0, without: omission) }
      var explorer = CrashExplorer(seed: workload.seed)
      explorer.imagesPerOperationMax = 12
      explorer.operationsOneIn = 4
      // Without a second crash, the wrong engine shows no error.
      let once = explorer.examine(fileSystem.journal, check)
      #expect(once.violation == nil, "\(once)")
      explorer.recoveryDepth = 1
      let again = explorer.examine(fileSystem.journal, check)
      if let violation = again.violation {
        print("after \(again.checkedCount) checks: \(violation.reason)")
        #expect(violation.recoveries == 1)
        #expect(omission.consequences.contains { violation.reason.contains($0) })
        return
      }
    }
    Issue.record("not noticed in \(Self.campaignsMax) histories, PERDURE_SEED=\(seed)")
  }

  /// - Parameter consequences: The possible messages. The violation must contain one of them.
  private func expectCaught(_ canary: CrashCanary, saying consequences: [String]) async throws {
    for campaign in 0..<Self.campaignsMax {
      let tally = try await tally(canary, campaign, scale: Self.scale)
      guard let violation = tally.violation else { continue }
      print("\(canary.name), after \(tally.states) disks of campaign \(campaign): \(violation.reason)")
      #expect(consequences.contains { violation.reason.contains($0) }, "PERDURE_SEED=\(seed): \(violation)")
      return
    }
    Issue.record("not noticed in \(Self.campaignsMax) campaigns, PERDURE_SEED=\(seed)")
  }

  private func tally(_ canary: CrashCanary, _ number: Int, scale: Double) async throws -> CrashTally {
    let plan = ProofPlan(seed: seed &+ UInt64(number), scale: scale)
    return try #require(try await CrashCampaign(only: canary).tallies(plan, .silent).first)
  }
}

/// A kind of program whose engine omits something.
private struct CrashCanary: CrashSubject {
  var shape: CrashShape
  var omission: ForgetfulFileSystem.Omission?
  var extractor = SliceExtractor.name
  /// The suffix of the files that remain, even if an opening removes them.
  var ending: String?

  var name: String {
    let missing = omission.map { "\($0)" } ?? "nothing"
    return "\(shape) without \(missing), \(extractor)" + (ending.map { ", with all \($0)" } ?? "")
  }
  var sectorLengths: [Int] { shape.sectorLengths }

  func program(seed: UInt64) -> Program {
    var workload = CrashWorkload(shape: shape, seed: seed)
    workload.extractor = extractor
    return Program(workload: workload, omission: omission, ending: ending)
  }

  struct Program: CrashProgram {
    let workload: CrashWorkload
    let omission: ForgetfulFileSystem.Omission?
    let ending: String?

    func run(on fileSystem: any FileSystem, _ marker: CrashMarker) async throws -> StoreCrashCheck {
      var seen = fileSystem
      if let omission { seen = ForgetfulFileSystem(fileSystem, without: omission) }
      var check = try await workload.run(on: seen, marker)
      if let ending { check.opening = { KeepingFileSystem($0, keeping: ending) } }
      return check
    }
  }
}

extension ForgetfulFileSystem.Omission {
  /// The possible messages of a check that detects the loss of unsynced data.
  fileprivate var consequences: [String] {
    let (promise, noStore) = ("was promised, but the log ends at", "There is no store here")
    return switch self {
    case .newSuperblock: ["No copy of the superblock is valid"]
    case .creation: ["a log but no superblock", promise, noStore]
    case .parentDirectory: [promise, noStore]
    case .segmentBirth, .segmentName, .log: [".segment", promise]
    // Both the data that compaction removed and its replacement are missing.
    case .rewrittenSegment, .rewrittenName: [".segment", promise, "the content after commit"]
    case .blob, .blobName: [".blob"]
    case .index, .indexName: [".index"]
    case .everyFile: Self.newSuperblock.consequences + Self.log.consequences + [".blob", ".index"]
    case .everyName: Self.creation.consequences + Self.log.consequences + [".blob", ".index"]
    case .every: Self.everyFile.consequences + Self.everyName.consequences
    }
  }
}
