import Perdure
import PerdureFileIO
import PerdureGraphProving
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// Deliberately wrong stores, with errors in indexes, long values and changed models. The tests
/// show that power cuts of graphs detect these errors.
@Suite("Power cuts detect errors in a graph's store")
struct GraphCanaryTests {
  private let seed = SeededGenerator.seedFromEnvironment()
  /// The maximum number of campaigns to try. In a single campaign, the error may have no effect.
  private static let campaignsMax = 16

  @Test(
    "Missing index entries are detected, although the engine's own checks do not find them",
    arguments: [
      // If a relationship lacks members, a deletion also leaves some objects, which verification
      // reports.
      ("sums/", [".takings is ", ".weight is ", ".debt is ", ".total is "]),
      ("rel/", ["differs from the objects", "[G"]), ("attr/", ["finds"]),
    ])
  func entries(_ index: String, _ consequences: [String]) async throws {
    try await expectCaught(
      GraphCanary(subject: .derivedValues, forgets: index), saying: consequences)
  }

  @Test(
    "A missing sync of a long value's file or of its name is detected",
    arguments: [ForgetfulFileSystem.Omission.blob, .blobName])
  func unsyncedFiles(_ omission: ForgetfulFileSystem.Omission) async throws {
    try await expectCaught(
      GraphCanary(subject: .largeValues) { ForgetfulFileSystem($0, without: omission) }, saying: [".blob"])
  }

  @Test("Files of long values that remain without a reference are detected")
  func orphans() async throws {
    try await expectCaught(
      GraphCanary(subject: .largeValues) { KeepingFileSystem($0, keeping: ".blob") },
      saying: ["blob files"])
  }

  @Test("No error is found in programs without long values if syncs of blob files are omitted")
  func control() async throws {
    let tally = try await tally(
      GraphCanary(subject: GraphCrashSubject.all[1]) { ForgetfulFileSystem($0, without: .blob) }, 0)
    #expect(tally.finding == nil, "PERDURE_SEED=\(seed)")
  }

  @Test(
    "A leftover index of an earlier model is detected, and so is a missing index", arguments: 0..<2)
  func indexes(_ part: Int) async throws {
    let fileSystem = SimulatedFileSystem()
    let program = GraphCrashSubject.changedModels.program(seed: seed)
    let check = try await program.run(on: fileSystem, fileSystem.marker)
    let context = check.contextAtEnd
    let recovered = try check.recover(fileSystem, context)
    try check.verify(recovered, context)
    let store = recovered.store.store
    let rows = try #require(try store.keyspaces.first { $0.name.hasPrefix("rows/") })
    if part == 0 {
      _ = try store.defineIndex(
        .slices("attr/99", rows, .value(offset: 0, length: 1), by: SliceExtractor.name))
    } else {
      let index = try #require(try store.indexes.first { $0.index.name.hasPrefix("uniq/") }?.index)
      try store.removeIndex(index)
    }
    #expect(throws: (any Error).self) { try GraphFiles.checkIndexes(recovered.store) }
    try store.close()
  }

  /// - Parameter consequences: The possible messages. The violation must contain one of them.
  private func expectCaught(_ canary: GraphCanary, saying consequences: [String]) async throws {
    for campaign in 0..<Self.campaignsMax {
      let tally = try await tally(canary, campaign)
      guard let finding = tally.finding else { continue }
      print("\(canary.name), after \(tally.states) disks of campaign \(campaign): \(finding.prefix(300))")
      #expect(
        consequences.contains { finding.contains($0) }, "PERDURE_SEED=\(seed): \(finding)")
      return
    }
    Issue.record("not noticed in \(Self.campaignsMax) campaigns, PERDURE_SEED=\(seed)")
  }

  private func tally(_ canary: GraphCanary, _ number: Int) async throws -> CrashTally {
    let plan = ProofPlan(seed: seed &+ UInt64(number), scale: 0.0003)
    return try #require(try await CrashCampaign(only: canary).tallies(plan, .silent).first)
  }
}

/// A kind of program that uses a store with an error.
private struct GraphCanary: CrashSubject {
  let subject: GraphCrashSubject
  /// The prefix of the names of the indexes that lack entries.
  var forgets: String?
  var disk: @Sendable (any FileSystem) -> any FileSystem = { $0 }

  var name: String { "canary of \(subject.name), \(forgets ?? "files")" }
  var sectorLengths: [Int] { subject.sectorLengths }

  func program(seed: UInt64) -> GraphCrashProgram {
    var program = subject.program(seed: seed)
    program.disk = disk
    if let forgets {
      program.extractors = { ForgetfulRows(behind: $0, names: Array(forgets.utf8)) }
    }
    return program
  }
}

/// Makes entries for rows. In some indexes, it makes them only for every other id.
private struct ForgetfulRows: IndexExtractorFactory {
  let behind: any IndexExtractorFactory
  /// The prefix of the names of these indexes. An extractor's parameters begin with the name.
  let names: [UInt8]

  func makeExtractor(
    parameters: [UInt8], in store: borrowing StoredValues
  ) throws -> any IndexExtractor {
    let whole = try behind.makeExtractor(parameters: parameters, in: store)
    return parameters.starts(with: names) ? Extractor(whole: whole) : whole
  }

  private struct Extractor: IndexExtractor {
    let whole: any IndexExtractor

    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      if key[0] % 2 == 0 { whole.extract(keyspace: keyspace, key: key, value: value, into: &entries) }
    }
  }
}
