import PerdureText

/// One kind of attack on a store. A campaign tries many cases, counts them, and reports the
/// violations.
///
/// As far as possible, the plan determines the cases of a campaign: the same seed and scale try the
/// same cases. Exceptions are campaigns in which processes and threads race on purpose.
package protocol Campaign: Sendable {
  /// The campaign's name in commands: one word in lower case.
  var name: String { get }

  /// A one-line description of the campaign.
  var summary: String { get }

  /// Tries the cases of `plan`, and ends early after a violation.
  ///
  /// - Throws: Errors that prevent the campaign from working at all, such as a folder that cannot
  ///   be created. The result contains the violations.
  func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult
}

/// The number of a campaign's cases, and the seed of its random choices.
package struct ProofPlan: Sendable {
  /// The seed of the random choices. The same seed makes the same choices.
  package var seed: UInt64

  /// The scale of the number of cases; greater than 0. It is 1 for a full proof, less for the part
  /// that runs with the tests, and more for a long proof.
  package var scale: Double

  /// Whether the campaign runs alone in this process, so that only the campaign determines the
  /// process's memory. False in tests, which run in parallel.
  package var hasProcessAlone: Bool

  /// The only case to try, as words that the campaign defines; nil for all cases. A violation
  /// contains these words, so that its case can be repeated alone. The words name the same case
  /// only with the same seed and scale.
  package var part: String?

  package init(seed: UInt64, scale: Double, hasProcessAlone: Bool = false, part: String? = nil) {
    precondition(scale > 0 && scale.isFinite, "The scale must be finite and greater than 0.")
    self.seed = seed
    self.scale = scale
    self.hasProcessAlone = hasProcessAlone
    self.part = part
  }

  /// Throws if a part was requested. For campaigns with a random schedule, which can run only as a
  /// whole.
  package func refuseParts(of campaign: some Campaign) throws {
    guard let part else { return }
    throw NoSuchPart(
      "The campaign \(campaign.name) has no parts, so it cannot try \"\(part)\" alone. Run it without a part."
    )
  }

  /// The words of `part`; nil if all cases are tried.
  package var partWords: [String]? {
    part?.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
  }

  /// The error for a requested part that does not exist in the campaign.
  package func noSuchPart(_ form: String) -> NoSuchPart {
    NoSuchPart("There is no part \"\(part ?? "")\" with this seed and scale. A part is \(form).")
  }

  /// The number of repetitions at this scale; at least 1. A full proof has `full` repetitions.
  package func quota(_ full: Int) -> Int { max(1, Int((Double(full) * scale).rounded(.up))) }

  /// The command that tries the same cases again, or a part of them.
  package func command(for campaign: some Campaign, part: String? = nil) -> String {
    let words = (part ?? self.part).map { " --part '\($0)'" } ?? ""
    return "make prove ARGS=\"--only \(campaign.name) --seed \(seed) --scale \(scale)\(words)\""
  }
}

/// The counts and violations of a campaign.
package struct CampaignResult: Sendable {
  package var counts = ProofCounts()

  /// A description of the tested cases: lines of a table or of text.
  package var report: [String] = []

  /// The violations; empty if the campaign found none.
  package var violations: [ProofViolation] = []

  package init() {}
}

/// A violation of a store's promises.
package struct ProofViolation: Sendable, CustomStringConvertible {
  /// The description of the violation.
  package var what: String

  /// The command that reproduces the violation.
  package var command: String

  package init(_ what: String, command: String) {
    self.what = what
    self.command = command
  }

  package var description: String { "\(what)\nTo run it again: \(command)" }
}

/// The numbers of tested cases. A proof prints them as its last line.
package struct ProofCounts: Sendable, Equatable {
  /// Distinct disks after power cuts, each opened and compared with the promises.
  package var crashStates = 0
  /// The part of `crashStates` in which the power cut was during a recovery.
  package var recoveryCrashes = 0
  /// Runs of a program in which a call to the file system failed.
  package var ioFailures = 0
  /// Single bits of a store's files that were flipped.
  package var bitFlips = 0
  /// Other damage, and hostile bytes given to decoders.
  package var mutations = 0
  /// Operations whose results were compared with those of a model.
  package var modelOperations = 0
  /// Processes that were killed at work.
  package var kills = 0
  /// The violations.
  package var violations = 0

  package init() {}

  /// The counts, with the names that a proof prints.
  package static let fields: [(name: String, path: any WritableKeyPath<ProofCounts, Int> & Sendable)] = [
    ("crash_states", \.crashStates), ("recovery_crashes", \.recoveryCrashes), ("io_failures", \.ioFailures),
    ("bit_flips", \.bitFlips), ("mutations", \.mutations), ("model_operations", \.modelOperations),
    ("kills", \.kills), ("violations", \.violations),
  ]

  package static func += (sum: inout ProofCounts, other: ProofCounts) {
    for (_, path) in fields { sum[keyPath: path] += other[keyPath: path] }
  }

  /// The counts as a JSON object on one line.
  package var json: String {
    JSONText.object(Self.fields.map { ($0.name, .integer(self[keyPath: $0.path])) }).text
  }
}
