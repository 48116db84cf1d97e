import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

/// A small part of the campaign that makes every call fail. It prints the seed. `PERDURE_SEED`
/// repeats the run.
@Suite("A store whose system calls fail")
struct FailureTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  @Test("For any failing call, the store keeps its promises and reports the failure")
  func slice() async throws {
    let (campaign, plan) = (FailureCampaign(), ProofPlan(seed: seed, scale: 0.003))
    let reports = await campaign.reports(plan, .silent)
    let result = campaign.result(of: reports, plan)
    print("\(result.counts.ioFailures) failures, PERDURE_SEED=\(seed)")
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.ioFailures > 150)
    // Each program runs with each kind of failure. In such a small part of the campaign, the seed
    // decides which kinds occur.
    #expect(reports.count == FailureWorkload.all.count)
    #expect(reports.allSatisfy { Set($0.report.runs.keys) == Set(FailureKind.allCases) })
  }

  @Test("Each of the thirteen kinds of failure occurs", arguments: FailureKind.allCases)
  func kinds(_ kind: FailureKind) async throws {
    let part = "a little of everything|\(kind.rawValue)|1|once"
    let result = try await FailureCampaign().run(ProofPlan(seed: seed, scale: 1, part: part), .silent)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.ioFailures == 1)
    #expect(FailureKind.allCases.count == 13)
  }

  @Test("If space is refused only for the reserve, the errors of refused commits report this")
  func heldBack() async throws {
    let words = "a volume that fills up|short write|11|for ever"
    let plan = ProofPlan(seed: 20_261_122, scale: 1, part: words)
    let result = try await FailureCampaign().run(plan, .silent)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.ioFailures == 1)
  }

  @Test(
    "The store keeps its promises if any call fails by a media error, a short write or dropped pages"
  )
  func everyCall() async throws {
    var campaign = FailureCampaign()
    campaign.workloads = campaign.workloads.filter { $0.name == "a little of everything" }
    campaign.kinds = [.mediaError, .shortWrite, .syncDropsPages]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    print("\(result.counts.ioFailures) failures")
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.ioFailures > 250)
  }

  @Test(
    "The failing call and its program are noted before the call fails")
  func notes() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("desk")
    try ProofDesk.make(path)
    let seen = Guarded<Set<String>>([])
    var campaign = FailureCampaign()
    campaign.workloads = campaign.workloads.filter { $0.name == "a little of everything" }
    campaign.kinds = [.noSpace]
    campaign.disguise = { fileSystem in
      if let look = try? ProofDesk.Look(path) { seen.withLock { $0.formUnion(look.notes) } }
      return fileSystem
    }
    let progress = ProofProgress(desk: try ProofDesk(path)) { _ in }
    _ = try await campaign.run(ProofPlan(seed: seed, scale: 0.02), progress)
    let parts = seen.withLock { $0 }.compactMap { FailurePart($0.split(separator: "|").map(String.init)) }
    #expect(!parts.isEmpty && parts.count == seen.withLock { $0.count })
    #expect(parts.allSatisfy { $0.workload == "a little of everything" && $0.kind == .noSpace })
    #expect(parts.allSatisfy { FailurePart($0.words.split(separator: "|").map(String.init))?.nth == $0.nth })
  }

  @Test("There are at least 50 programs, and their names are unique")
  func programs() {
    let names = FailureWorkload.all.map(\.name)
    #expect(names.count >= 50 && Set(names).count == names.count)
  }

  @Test(
    "An engine that ignores the result of a call is detected",
    arguments: SwallowingFileSystem.Ignored.allCases)
  func canary(_ ignored: SwallowingFileSystem.Ignored) async throws {
    var campaign = FailureCampaign()
    campaign.disguise = { SwallowingFileSystem($0, ignoring: ignored) }
    campaign.workloads = campaign.workloads.filter { $0.name == "compaction and checkpoints" }
    campaign.kinds = [.mediaError, .syncDropsPages]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.command.contains("--part 'compaction and checkpoints|"))
    print("\(ignored): after \(result.counts.ioFailures) failures: \(violation.what.prefix(200))")
    #expect(ignored.consequences.contains { violation.what.contains($0) }, "\(violation)")
  }

  @Test("The correct engine passes the same programs")
  func control() async throws {
    var campaign = FailureCampaign()
    campaign.workloads = campaign.workloads.filter { $0.name == "compaction and checkpoints" }
    campaign.kinds = [.mediaError, .syncDropsPages]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 0.05), .silent)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.ioFailures > 3)
  }

  @Test("A store that cannot read its data after a failed call is detected")
  func unreadable() async throws {
    var campaign = FailureCampaign()
    campaign.disguise = { ForgottenMappings($0) }
    campaign.workloads = campaign.workloads.filter { $0.name == "overwrite" }
    campaign.kinds = [.mediaError]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("reading a poisoned store, though no call failed"), "\(violation)")
  }

  @Test("A poisoned store that throws on reads is detected")
  func refusedReads() async throws {
    var campaign = FailureCampaign()
    campaign.workloads = campaign.workloads.filter { $0.name == "overwrite" }
    campaign.workloads[0].refusesPoisonedReads = true
    campaign.kinds = [.mediaError]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("reading a poisoned store, though it can be read"), "\(violation)")
  }

  @Test("A salvage that adds a value while calls fail is detected")
  func inventedSalvage() async throws {
    var campaign = FailureCampaign()
    campaign.workloads = [.inventiveSalvage]
    campaign.kinds = [.mediaError]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("has a value that it never had"), "\(violation)")
  }

  @Test("A salvage that omits a row without a finding is detected, even if no call fails")
  func lossySalvage() async throws {
    var campaign = FailureCampaign()
    campaign.workloads = [.lossySalvage]
    campaign.kinds = [.mediaError]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("the salvaged store differs from the source"), "\(violation)")
  }

  @Test("A commit that was never requested and changes nothing is detected in the first run")
  func secret() async throws {
    var campaign = FailureCampaign()
    campaign.workloads = [.secretCommit]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 0.001), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("no program made a commit 3"), "\(violation)")
  }

  @Test("A lost sync is detected, even if later syncs repair its effect", arguments: [false, true])
  func lateSyncs(swallows: Bool) async throws {
    var campaign = FailureCampaign()
    if swallows { campaign.disguise = { SwallowingFileSystem($0, ignoring: .sync) } }
    campaign.workloads = [.lateSyncs]
    campaign.kinds = [.mediaError]
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 1), .silent)
    guard swallows else { return #expect(result.violations.map(\.description) == []) }
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("of a power cut after the failure"), "\(violation)")
  }

  @Test("An engine whose indexes lack entries is detected by the first run")
  func entries() async throws {
    var campaign = FailureCampaign()
    campaign.workloads = campaign.workloads.filter { $0.name == "an index and its counts" }
    campaign.workloads[0].extractor = ForgetfulExtractor.name
    let result = try await campaign.run(ProofPlan(seed: seed, scale: 0.001), .silent)
    let violation = try #require(result.violations.first)
    #expect(violation.what.contains("the entries of index groups"), "\(violation)")
  }
}

extension SwallowingFileSystem.Ignored {
  /// The possible messages of a run that detects that the store ignores a call. The few disks that
  /// are tried for each power cut decide which message comes first.
  fileprivate var consequences: [String] {
    switch self {
    // The bytes are lost after a power cut, or the next read returns unwritten bytes.
    case .write: ["of a power cut", "without a power cut", "though no call failed meanwhile: corruption"]
    case .sync, .syncDirectory: ["of a power cut"]
    case .rename: ["opening, with a cause that is not"]
    case .read: ["with a code that does not fit"]
    }
  }
}
