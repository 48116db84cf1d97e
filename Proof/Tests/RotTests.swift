import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// Runs a small share of the rot campaign, which damages the bytes of a store. Also checks that the
/// campaign detects each deliberate error (`RotCanary`).
@Suite("Damaged bytes")
struct RotTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  private func run(_ campaign: RotCampaign, scale: Double) async throws -> CampaignResult {
    print("PERDURE_SEED=\(seed)")
    return try await campaign.run(ProofPlan(seed: seed, scale: scale), .silent)
  }

  @Test("Any flipped bit and any other damage causes an error that names the file and byte, or has no effect")
  func slice() async throws {
    let result = try await run(RotCampaign(), scale: 0.0015)
    #expect(result.violations.map(\.description) == [])
    #expect(result.counts.bitFlips > 10_000 && result.counts.mutations > 50)
  }

  @Test("Without bound records, a misplaced version of a key is detected by missing index entries")
  func newerVersion() async throws {
    // Copies the newest version of a key over the version that the checkpoint contains.
    let plan = ProofPlan(seed: 20_261_202, scale: 1, part: "0|tails|9624")
    let result = try await RotCampaign().run(plan, .silent)
    #expect(result.violations.map(\.description) == [] && result.counts.mutations == 1)
  }

  /// Words of the violations that each deliberate error may cause.
  private static let reasons: [RotCanary: [String]] = [
    // Damaged compressed values can rarely be decompressed. A damaged reference to a blob file
    // leads to another file. The resulting errors do not name the damaged byte.
    .uncheckedRecords: ["the damage is not detected", "a wrong value, or none", "the error "],
    // The record seems valid. Its frame is wrong, but is not checked.
    .repairedRecords: [
      "the damage is not detected", "a wrong value, or none", "the error ", "an opening does not detect it",
    ],
    // An opening detects the error when it reads a key below the node.
    .uncheckedNodes: ["opened"], .unreadTails: ["an opening does not detect"],
    // Without the check, zeros can be read as a record of a later version.
    .uncheckedDamage: [
      "a wrong value, or none", "no read detects the damage in", "a value that it never had",
      "the error ", "ends without an error", "unsupportedFormat: ",
    ],
    .quietVerify: ["verify does not report"], .lossySalvage: ["was not restored"],
    .inventiveSalvage: ["was restored with another value"],
    .forgetfulSalvage: ["was restored with another value"],
    .agelessReport: ["the report does not name it"],
    .unboundRecords: ["a value that it never had", "a wrong value, or none", "has wrong entries"],
    // A commit that replaces a row finds no index entry of the row.
    .uncomparedRecords: [
      "a derived index returns a value that it never had", "has wrong entries", "of replaced records",
    ],
    .uncomparedReads: ["returns a value that it never had", "a wrong value, or none"],
    .resealedDamage: ["after the damaged store was compacted"],
    .wrongBesideErrors: ["returns a value that it never had, or skips one"],
  ]

  @Test(
    "Each missing check, read, finding or restored value causes its own violation",
    arguments: RotCanary.allCases)
  func canaries(_ canary: RotCanary) async throws {
    let scale =
      switch canary {
      // Reads detect most damage before these checks, and few files end in a tail.
      case .uncheckedDamage, .quietVerify, .unreadTails: 0.002
      case .wrongBesideErrors: 0.008
      // In some cases, the damage leaves no row that these canaries could change. So more cases are
      // tried. The campaign ends with the first violation.
      case .lossySalvage, .inventiveSalvage, .forgetfulSalvage: 0.01
      case .agelessReport: 0.01
      case .unboundRecords, .uncomparedRecords, .uncomparedReads: 0.01
      default: 0.0005
      }
    var (share, result) = (scale, try await run(RotCampaign(canary: canary), scale: scale))
    // Perhaps no read reaches the error with this seed. Then more cases are tried.
    while result.violations.isEmpty && share < 0.05 {
      share *= 4
      result = try await run(RotCampaign(canary: canary), scale: share)
    }
    #expect(!result.violations.isEmpty)
    #expect(result.violations.allSatisfy { $0.command.contains("--only rot --seed \(seed)") })
    let words = try #require(Self.reasons[canary])
    #expect(result.violations.map(\.what).filter { what in !words.contains { what.contains($0) } } == [])
  }

  /// The seed also determines the store's identity. Compressed values contain data that depends on
  /// the identity, so their length varies with it.
  @Test("For a seed, the reference store has the same log, and other files of the same length")
  func sameStore() throws {
    func isLog(_ name: String) -> Bool { name.hasSuffix(".segment") || name.hasSuffix(".blob") }
    let stores = try (0..<10).map { _ in try RotStore(rounds: 0, seed: seed) }
    let states = stores.map { $0.older + [$0.files] }
    for (before, state) in zip(states, states.dropFirst()) {
      for (files, again) in zip(before, state) {
        #expect(files.mapValues(\.count) == again.mapValues(\.count), "PERDURE_SEED=\(seed)")
        let others = files.keys.filter { isLog($0) && files[$0] != again[$0] }
        #expect(others == [], "PERDURE_SEED=\(seed)")
      }
    }
    let other = try RotStore(rounds: 0, seed: seed &+ 1)
    #expect(other.files["0000000000000001.segment"] != stores[0].files["0000000000000001.segment"])
  }

  @Test("For a given seed, a number always names the same damage")
  func numbers() throws {
    let names = try RotCampaign.mutations(seed: seed)
    #expect(names.count > 100_000)
    for _ in 0..<2 {
      let again = try RotCampaign.mutations(seed: seed)
      let isSame = again.count == names.count && zip(names, again).allSatisfy { $0 == $1 }
      #expect(isSame, "PERDURE_SEED=\(seed)")
    }
    // The order must be the same in another process, where dictionaries have another order.
    let files = try RotCampaign.damagedFiles(seed: seed)
    let sectors = [512, 4096].flatMap { sector in
      ["zeroed", "of noise", "doubled", "exchanged", "misdirected", "of another file"].map {
        "sectors of \(sector) \($0)"
      }
    }
    let others = ["anything", "removed", "cut short", "earlier sectors", "earlier segments"]
    #expect(files.keys.filter { $0 != "other earlier files" }.sorted() == (sectors + others).sorted())
    for (kind, files) in files {
      #expect(zip(files, files.dropFirst()).allSatisfy { $0 <= $1 }, "\(kind)")
    }
  }

  @Test("A commit longer than a segment replaces keys of another such commit", arguments: [0, 1])
  func chains(rounds: Int) throws {
    let store = try RotStore(rounds: rounds, seed: seed)
    let ids = RotStore.chainStart..<(RotStore.chainStart + 1000)
    let chained = store.history.filter { key, _ in
      if case .id(let id) = key.key { key.keyspace == "rows" && ids.contains(id) } else { false }
    }
    let replaced = chained.filter { $0.value.count == 2 }
    #expect(2 * replaced.count > chained.count && replaced.count < chained.count)
    for (key, values) in replaced {
      let value = try #require(store.content[key])
      #expect(values.contains(value))
    }
  }

  @Test("The reference store has every kind of part, and each byte belongs to a part")
  func layout() throws {
    let store = try RotStore(rounds: 0, seed: seed)
    let opened = try Store(at: RotStore.path, options: RotStore.options(on: store.fileSystem()))
    let layout = try RotLayout(store.files, opened: opened)
    let kinds = Set(layout.parts.map(\.kind))
    #expect(kinds == Set(RotPart.Kind.allCases))
    #expect(layout.parts.contains { $0.isTail })
    #expect(try opened.verify().isClean)
    #expect(try CrashOracle.content(of: opened) == store.content)
  }
}
