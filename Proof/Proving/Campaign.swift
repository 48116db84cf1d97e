/// One kind of attack on a store: it tries many things, counts them, and says which of them went wrong.
///
/// A campaign is a pure function of its plan as far as it can be: the same seed and scale try the same things,
/// but for campaigns in which processes and threads race on purpose.
package protocol Campaign: Sendable {
  /// As the command names it: one word in lower case.
  var name: String { get }

  /// One line for people: what is tried.
  var summary: String { get }

  /// Tries as much as `plan` asks for, and ends early when it has found something wrong.
  ///
  /// - Throws: What keeps it from working at all, such as a folder that cannot be made. What it finds is in
  ///   the result.
  func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult
}

/// How much a campaign tries, and which random choices it makes.
package struct ProofPlan: Sendable {
  /// The same seed makes the same choices.
  package var seed: UInt64

  /// 1 is a full proof; a slice of it runs with the tests; a long one is more than 1. Above 0.
  package var scale: Double

  /// Whether nothing else runs in this process, so that its memory is what the campaign takes. Tests run beside each
  /// other.
  package var hasProcessAlone: Bool

  package init(seed: UInt64, scale: Double, hasProcessAlone: Bool = false) {
    precondition(scale > 0 && scale.isFinite, "A proof tries something.")
    self.seed = seed
    self.scale = scale
    self.hasProcessAlone = hasProcessAlone
  }

  /// What a full proof does so often, at this scale; 1 or more.
  package func quota(_ full: Int) -> Int { max(1, Int((Double(full) * scale).rounded(.up))) }

  /// The command that tries the same again.
  package func command(for campaign: some Campaign) -> String {
    "make prove ARGS=\"--only \(campaign.name) --seed \(seed) --scale \(scale)\""
  }
}

/// What a campaign has tried and found.
package struct CampaignResult: Sendable {
  package var counts = ProofCounts()

  /// What was tried, for people: lines of a table or of text.
  package var report: [String] = []

  /// What went wrong; empty when nothing did.
  package var violations: [ProofViolation] = []

  package init() {}
}

/// Something that a store must never do, and did.
package struct ProofViolation: Sendable, CustomStringConvertible {
  /// What happened, to what.
  package var what: String

  /// The command that makes it happen again.
  package var command: String

  package init(_ what: String, command: String) {
    self.what = what
    self.command = command
  }

  package var description: String { "\(what)\nTo run it again: \(command)" }
}

/// How much was tried; the last line that a proof prints.
package struct ProofCounts: Sendable, Equatable {
  /// Distinct disks that power cuts left, each opened and held against what was promised.
  package var crashStates = 0
  /// Those of them that a power cut during a recovery left.
  package var recoveryCrashes = 0
  /// Runs of a program in which a call to the file system failed.
  package var ioFailures = 0
  /// Single bits of a store's files that were flipped.
  package var bitFlips = 0
  /// Other damage, and hostile bytes given to decoders.
  package var mutations = 0
  /// Operations whose answers were held against a model's.
  package var modelOperations = 0
  /// Processes that were killed at work.
  package var kills = 0
  /// What went wrong.
  package var violations = 0

  package init() {}

  package static func += (sum: inout ProofCounts, other: ProofCounts) {
    sum.crashStates += other.crashStates
    sum.recoveryCrashes += other.recoveryCrashes
    sum.ioFailures += other.ioFailures
    sum.bitFlips += other.bitFlips
    sum.mutations += other.mutations
    sum.modelOperations += other.modelOperations
    sum.kills += other.kills
    sum.violations += other.violations
  }

  /// One object on one line.
  package var json: String {
    let fields: [(String, Int)] = [
      ("crash_states", crashStates), ("recovery_crashes", recoveryCrashes), ("io_failures", ioFailures),
      ("bit_flips", bitFlips), ("mutations", mutations), ("model_operations", modelOperations),
      ("kills", kills), ("violations", violations),
    ]
    return "{" + fields.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}"
  }
}
