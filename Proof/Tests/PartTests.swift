import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

/// A deliberate error must be detected. The command that the violation names must detect it again.
@Suite("The command of a violation")
struct PartTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  /// Runs a campaign that must find a violation, and then the part that its first violation names.
  /// If a campaign has parts of several kinds, `words` is the number of words of the part.
  ///
  /// - Parameter whole: The campaign that the command runs, if `campaign` is only a share of it;
  ///   nil if it is the same campaign.
  private func findAgain(
    _ campaign: some Campaign, by whole: (any Campaign)? = nil, scale: Double, words: Int? = nil
  ) async throws {
    print("PERDURE_SEED=\(seed)")
    let found = try await campaign.run(ProofPlan(seed: seed, scale: scale), .silent)
    let parts = found.violations.map { Self.part(of: $0.command, campaign.name, seed, scale) }
    let index = try #require(
      parts.firstIndex { words == nil || $0?.split(separator: "|").count == words }, "nothing was found")
    let violation = found.violations[index]
    let part = try #require(parts[index], "\(violation.command)")
    let plan = ProofPlan(seed: seed, scale: scale, part: part)
    let again = try await (whole ?? campaign).run(plan, .silent)
    #expect(!again.violations.isEmpty, "\(part): \(violation.what)")
    #expect(again.violations.allSatisfy { $0.command == violation.command })
    // The violation must not name another way to repeat it.
    #expect(!again.violations.contains { $0.what.contains("To run it again") })
  }

  /// The argument of `--part` in a command; nil if the command has another form.
  private static func part(
    of command: String, _ name: String, _ seed: UInt64, _ scale: Double
  ) -> String? {
    let start = "make prove ARGS=\"--only \(name) --seed \(seed) --scale \(scale) --part '"
    guard command.hasPrefix(start), command.hasSuffix("'\"") else { return nil }
    return String(command.dropFirst(start.count).dropLast(2))
  }

  @Test("The part that a violation names repeats a power cut")
  func crashes() async throws {
    try await findAgain(CrashCampaign(only: Forgetful()), scale: 0.002)
  }

  @Test("The part that a violation names repeats a failing call")
  func failures() async throws {
    var whole = FailureCampaign()
    whole.disguise = { SwallowingFileSystem($0, ignoring: .sync) }
    var campaign = whole
    campaign.workloads = campaign.workloads.filter { $0.name == "compaction and checkpoints" }
    campaign.kinds = [.mediaError, .syncDropsPages]
    try await findAgain(campaign, by: whole, scale: 1)
  }

  @Test("The disks of a failing call are the same, whatever other programs are tried")
  func failuresOfOne() async throws {
    var campaign = FailureCampaign()
    campaign.kinds = [.mediaError]
    let all = campaign.workloads
    var seeds: [UInt64] = []
    for workloads in [[all[7]], [all[3], all[7]]] {
      campaign.workloads = workloads
      let plan = ProofPlan(seed: seed, scale: 0.0001)
      seeds += await campaign.reports(plan, .silent).suffix(1).map(\.report.seed)
    }
    #expect(seeds.count == 2 && seeds[0] == seeds[1], "PERDURE_SEED=\(seed)")
  }

  @Test(
    "The part that a violation names repeats a flipped bit",
    arguments: [RotCanary.uncheckedRecords, .repairedRecords, .uncheckedNodes])
  func rot(_ canary: RotCanary) async throws {
    try await findAgain(RotCampaign(canary: canary), scale: 0.0005)
  }

  @Test("The part that a violation names repeats generated hostile bytes, and those in the corpus")
  func hostile() async throws {
    let canary = HostileDecoder(
      "record", throwing: CancellationError.self, samples: { [[1, 2, 3, 4, 5, 6, 7, 8]] },
      decode: { bytes in
        guard bytes.first == 0xFF || bytes.isEmpty else { throw CancellationError() }
        throw Violation("a value that is wrong")
      })
    try await findAgain(
      HostileCampaign([canary]), by: HostileCampaign([EngineDecoders.all[0], canary]), scale: 0.01, words: 3)
    let wrong = HostileDecoder(
      "record", throwing: CancellationError.self, samples: { [[1]] },
      decode: { _ in throw Violation("a value that is wrong") })
    try await findAgain(HostileCampaign([wrong]), scale: 0.00001, words: 2)
  }

  @Test("The part that a violation names repeats a history")
  func models() async throws {
    try await findAgain(ModelsCampaign(on: UncheckedConditions()), scale: 0.001)
    try await findAgain(ModelsCampaign(on: UnsteadyAnswers()), scale: 0.001)
  }

  @Test("The part that a violation names repeats a race")
  func races() async throws {
    try await findAgain(RacesCampaign(on: UncheckedConditions()), scale: 0.001)
  }

  @Test("A part of an intact store runs alone, counts as one case, and has no finding")
  func well() async throws {
    func counts(_ campaign: some Campaign, _ part: String) async throws -> ProofCounts {
      let result = try await campaign.run(ProofPlan(seed: seed, scale: 0.01, part: part), .silent)
      #expect(result.violations.map(\.description) == [], "PERDURE_SEED=\(seed)")
      return result.counts
    }
    var one = ProofCounts()
    one.mutations = 1
    #expect(try await counts(RotCampaign(), "0|salvage|2") == one)
    let decoder = try #require(EngineDecoders.all.first)
    let input = try #require(try HostileCorpus.inputs(of: decoder).first { $0.bytes.count > 1 })
    #expect(try await counts(HostileCampaign(EngineDecoders.all), "\(decoder.name)|\(input.name)") == one)
    one = ProofCounts()
    one.ioFailures = 1
    #expect(try await counts(FailureCampaign(), "a little of everything|EIO|5|once") == one)
    #expect(try await counts(ModelsCampaign(), "3").modelOperations > 100)
    // Uses a repeatable program, because other programs are tried a hundred times.
    let shape = try #require(CrashShape.all.first { $0.isRepeatable })
    let crashes = try await counts(CrashCampaign(), "\(shape)|7|512|12|40|2")
    #expect(crashes.crashStates > 0 && crashes.recoveryCrashes > 0)
  }

  @Test("A program with a varying schedule is tried several times, and a repeatable one once")
  func triedAgain() async throws {
    for isRepeatable in [false, true] {
      let subject = Seldom(isRepeatable: isRepeatable)
      let plan = ProofPlan(seed: seed, scale: 0.01, part: "seldom|7|512|1|64|64")
      let result = try await CrashCampaign(only: subject).run(plan, .silent)
      #expect(result.violations.count == (isRepeatable ? 0 : 1), "PERDURE_SEED=\(seed)")
      #expect(subject.runs.withLock { $0 } == (isRepeatable ? 1 : 3))
    }
    #expect(CrashShape.all.contains { $0.isRepeatable } && CrashShape.all.contains { !$0.isRepeatable })
  }

  @Test("Every campaign refuses words that name no part")
  func others() async throws {
    let campaigns: [any Campaign] = [
      CrashCampaign(), FailureCampaign(), RotCampaign(), HostileCampaign(EngineDecoders.all),
      ModelsCampaign(),
      RacesCampaign(), FoldersCampaign(), KillCampaign(executable: "/none"), ForkCampaign(), SoakCampaign(),
    ]
    for campaign in campaigns {
      let parts = [
        "", "nothing", "a|b", "0|bits|x|1", "puts|1|512|0|1|1", "put, powerLoss|EIO|30000|once",
      ]
      for part in parts {
        let plan = ProofPlan(seed: seed, scale: 0.001, part: part)
        let thrown = await #expect(throws: NoSuchPart.self, "\(campaign.name), \(part)") {
          try await campaign.run(plan, .silent)
        }
        #expect(thrown?.description.contains("part") == true)
      }
    }
  }
}

/// Programs that fail on their third run. If they are repeatable, there is only one run.
private struct Seldom: CrashSubject {
  let name = "seldom"
  let sectorLengths = [512]
  let isRepeatable: Bool
  let runs = Guarded(0)

  func program(seed: UInt64) -> Program { Program(seed: seed, runs: runs) }

  struct Program: CrashProgram {
    let seed: UInt64
    let runs: Guarded<Int>

    func run(on fileSystem: any FileSystem, _ marker: CrashMarker) async throws -> StoreCrashCheck {
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      if run == 3 { throw Violation("the third run") }
      return try await CrashWorkload(shape: .canary, seed: seed).run(on: fileSystem, marker)
    }
  }
}

/// Programs on a disk that ignores syncs.
private struct Forgetful: CrashSubject {
  let name = "forgetful"
  let sectorLengths = [512, 4096]

  func program(seed: UInt64) -> Program { Program(seed: seed) }

  struct Program: CrashProgram {
    let seed: UInt64

    func run(on fileSystem: any FileSystem, _ marker: CrashMarker) async throws -> StoreCrashCheck {
      let simulated = try #require(fileSystem as? SimulatedFileSystem)
      let forgetful = ForgetfulFileSystem(simulated, without: .everyFile)
      return try await CrashWorkload(shape: .canary, seed: seed).run(on: forgetful, marker)
    }
  }
}
