import Perdure
import PerdureGraphProving
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// A small part of the campaign. It prints the seed. A violation contains the command that
/// reproduces it.
@Suite("A graph after a power cut")
struct GraphCrashTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("A power cut leaves a prefix of the saves, with all promised saves", arguments: GraphCrashSubject.all)
  func everyCrash(_ subject: GraphCrashSubject) async throws {
    let plan = ProofPlan(seed: seed, scale: LongRun.isLong ? 0.0005 : LongRun.isOptimized ? 0.0002 : 0.0001)
    let campaign = CrashCampaign(only: subject)
    let tally = try #require(try await campaign.tallies(plan, .silent).first)
    print(CrashTally.table([tally]).joined(separator: "\n"), "PERDURE_SEED=\(seed)")
    #expect(campaign.violations(of: [tally], plan).map(\.description) == [])
    #expect(tally.states >= plan.quota(CrashCampaign.statesFull))
    #expect(tally.recoveryStates > 0)
  }

  @Test("The check detects saves that no sync made durable, although they were promised")
  func canary() async throws {
    var subject = GraphCrashSubject.all[1]
    (subject.durabilities, subject.believesAll) = ([.relaxed], true)
    subject.saves = 10
    let (fileSystem, check) = try await run(subject)
    var explorer = CrashExplorer(seed: seed)
    explorer.imagesPerOperationMax = 8
    let report = explorer.examine(fileSystem.journal, check)
    let violation = #expect(throws: CrashViolation.self) { try report.check() }
    #expect(violation.map { "\($0)".contains("was promised") } == true, "\(report)")
  }

  @Test("The check detects a graph that differs from the saved one", arguments: 0..<2)
  func wrongContent(_ part: Int) async throws {
    let (fileSystem, check) = try await run(GraphCrashSubject.all[1])
    let store = try check.program.open(on: fileSystem)
    let context = check.contextAtEnd
    let recovered = GraphCrashCheck.Recovered(store, on: fileSystem)
    try check.verify(recovered, context)
    try damage(store, part)
    #expect(throws: Violation.self) { try check.verify(recovered, context) }
    try store.store.close()
  }

  /// Circumstances that must occur on the tested disks. Otherwise one of the programs does not test
  /// the case that it was written for.
  private enum Circumstance: CaseIterable {
    /// A file of a long value is unreferenced, because its commit did not complete.
    case orphan
    /// A long value has a file.
    case longValue
    /// The disk has the earlier model, and no commit of the change of the model.
    case olderModel
  }

  @Test(
    "The tested disks include an older model and value files of commits that did not complete"
  )
  func circumstances() async throws {
    var met: Set<Circumstance> = []
    for round in 0..<20 as Range<UInt64> where met.count < Circumstance.allCases.count {
      for subject in [GraphCrashSubject.changedModels, .largeValues] {
        met.formUnion(try await circumstances(subject, round))
      }
    }
    #expect(met == Set(Circumstance.allCases), "PERDURE_SEED=\(seed)")
  }

  private func circumstances(_ subject: GraphCrashSubject, _ round: UInt64) async throws -> Set<Circumstance>
  {
    let fileSystem = SimulatedFileSystem()
    let check = try await subject.program(seed: seed &+ round).run(on: fileSystem, fileSystem.marker)
    var explorer = CrashExplorer(seed: seed &+ round)
    explorer.imagesPerOperationMax = 6
    explorer.operationsOneIn = 4
    var met: Set<Circumstance> = []
    let report = explorer.examine(fileSystem.journal) { disk, context in
      let recovered = try check.recover(disk, context)
      let found = recovered.store.store.recoveryReport
      if check.isBeforeChange(found.commits, context) { met.insert(.olderModel) }
      if found.orphansRemoved > 0 { met.insert(.orphan) }
      if try disk.contents(of: GraphCrashProgram.path).contains(where: { $0.hasSuffix(".blob") }) {
        met.insert(.longValue)
      }
      return recovered
    } verify: { recovered, context in
      try check.verify(recovered, context)
    }
    #expect(report.violation == nil, "\(report)")
    return met
  }

  /// Adds or removes a row that no save has added or removed.
  private func damage(_ store: LogPersistentStore, _ part: Int) throws {
    let members = try #require(store.schema.entity(named: "Member")).number
    let rows = try store.store.keyspace("rows/\(members)", .dense)
    try store.store.write { transaction in
      var ids: [UInt64] = []
      try store.view().visitReferences(entity: members, from: 0) {
        ids.append($0.id)
        return true
      }
      guard part == 0, let id = ids.first else { return try transaction.put([1, 2], id: 1 << 40, in: rows) }
      try transaction.remove(id: id, in: rows)
    }
  }

  private func run(_ subject: GraphCrashSubject) async throws -> (SimulatedFileSystem, GraphCrashCheck) {
    let fileSystem = SimulatedFileSystem()
    return (fileSystem, try await subject.program(seed: seed).run(on: fileSystem, fileSystem.marker))
  }
}
