import PerdureText

/// One kind of attack on a store: it tries many things, counts them, and says which of them went
/// wrong.
///
/// A campaign is a function of its plan as far as possible: the same seed and scale try the same
/// cases, except in campaigns in which processes and threads race on purpose.
package protocol Campaign: Sendable {
  /// As the command names it: one word in lower case.
  var name: String { get }

  /// One line of description for readers.
  var summary: String { get }

  /// Tries the cases of `plan`, and ends early after a finding.
  ///
  /// - Throws: Errors that prevent it from working at all, such as a folder that cannot be made.
  ///   Its findings are in the result.
  func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult
}

/// The amount of a campaign's cases, and its random choices.
package struct ProofPlan: Sendable {
  /// The same seed makes the same choices.
  package var seed: UInt64

  /// 1 is a full proof; a slice of it runs with the tests; a long one is more than 1. Above 0.
  package var scale: Double

  /// Whether nothing else runs in this process, so that its memory is the campaign's. Tests run
  /// beside each other.
  package var hasProcessAlone: Bool

  /// The one case that is tried, in words of the campaign; nil: everything. The names in
  /// violations, by which their cases can be repeated alone. It means the same with the same seed
  /// and scale only.
  package var part: String?

  package init(seed: UInt64, scale: Double, hasProcessAlone: Bool = false, part: String? = nil) {
    precondition(scale > 0 && scale.isFinite, "A proof tries something.")
    self.seed = seed
    self.scale = scale
    self.hasProcessAlone = hasProcessAlone
    self.part = part
  }

  /// For campaigns with a random schedule: they are tried as a whole.
  package func refuseParts(of campaign: some Campaign) throws {
    if let part { throw NoSuchPart("The campaign \(campaign.name) has no parts; \"\(part)\" is none.") }
  }

  /// The words of `part`; nil when everything is tried.
  package var partWords: [String]? {
    part?.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
  }

  /// The requested part does not exist in the campaign.
  package func noSuchPart(_ form: String) -> NoSuchPart {
    NoSuchPart("A part is \(form); \"\(part ?? "")\" is not, or not with this seed and scale.")
  }

  /// The number of repetitions of a full proof, at this scale; 1 or more.
  package func quota(_ full: Int) -> Int { max(1, Int((Double(full) * scale).rounded(.up))) }

  /// The command that tries the same again, or a part of it alone.
  package func command(for campaign: some Campaign, part: String? = nil) -> String {
    let words = (part ?? self.part).map { " --part '\($0)'" } ?? ""
    return "make prove ARGS=\"--only \(campaign.name) --seed \(seed) --scale \(scale)\(words)\""
  }
}

/// The cases and findings of a campaign.
package struct CampaignResult: Sendable {
  package var counts = ProofCounts()

  /// A description of the tested cases for readers: lines of a table or of text.
  package var report: [String] = []

  /// The violations; empty when there are none.
  package var violations: [ProofViolation] = []

  package init() {}
}

/// A violation of a store's promises.
package struct ProofViolation: Sendable, CustomStringConvertible {
  /// The event, and its object.
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
  /// Distinct disks that power cuts left, each opened and compared with the promises.
  package var crashStates = 0
  /// Those of them that a power cut during a recovery left.
  package var recoveryCrashes = 0
  /// Runs of a program in which a call to the file system failed.
  package var ioFailures = 0
  /// Single bits of a store's files that were flipped.
  package var bitFlips = 0
  /// Other damage, and hostile bytes given to decoders.
  package var mutations = 0
  /// Operations whose answers were compared with a model's.
  package var modelOperations = 0
  /// Processes that were killed at work.
  package var kills = 0
  /// The violations.
  package var violations = 0

  package init() {}

  /// The counts, by the names that a proof prints.
  package static let fields: [(name: String, path: any WritableKeyPath<ProofCounts, Int> & Sendable)] = [
    ("crash_states", \.crashStates), ("recovery_crashes", \.recoveryCrashes), ("io_failures", \.ioFailures),
    ("bit_flips", \.bitFlips), ("mutations", \.mutations), ("model_operations", \.modelOperations),
    ("kills", \.kills), ("violations", \.violations),
  ]

  package static func += (sum: inout ProofCounts, other: ProofCounts) {
    for (_, path) in fields { sum[keyPath: path] += other[keyPath: path] }
  }

  /// One object on one line.
  package var json: String {
    JSONText.object(Self.fields.map { ($0.name, .integer(self[keyPath: $0.path])) }).text
  }
}
