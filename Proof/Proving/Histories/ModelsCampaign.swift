import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Compares random histories with a model, under random options. Every eighth history runs twice
/// more, with other options and other maintenance steps. It must give the same answers.
package struct ModelsCampaign: Campaign {
  package let name = "models"
  package let summary = "random histories, compared with a model under random options, and again under others"

  /// The number of answers in a full proof.
  private static let answersFull = 10_000_000
  private let subject: any HistorySubject

  package init(on subject: any HistorySubject = WholeStore()) { self.subject = subject }

  /// The result of one history, or the sum of several.
  package struct Part: Sendable {
    var answers = 0
    package fileprivate(set) var histories = 0
    /// The number of histories whose repetitions under other options all gave the same answers.
    package fileprivate(set) var variants = 0
    var onDisk = 0
    var tally = HistoryTally()
    fileprivate(set) var violation: ProofViolation?
  }

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    try await runCounting(plan, progress).result
  }

  /// Runs the campaign, and also returns the counts that the report describes in words.
  package func runCounting(
    _ plan: ProofPlan, _ progress: ProofProgress
  ) async throws -> (result: CampaignResult, sum: Part) {
    let quota = plan.quota(Self.answersFull)
    // If the quota is small, histories are short, so that there are many with different options.
    let steps = min(4_000, max(200, quota / 100))
    let only = try plan.part.map { part in
      guard let number = UInt64(part) else { throw plan.noSuchPart("the number of a history") }
      return number
    }
    var sum = Part()
    var violations: [ProofViolation] = []
    try await withThrowingTaskGroup(of: Part.self) { group in
      var next: UInt64 = 0
      func add() {
        let number = next
        next += 1
        group.addTask { try part(only ?? number, steps: steps, plan, progress) }
      }
      for _ in 0..<(only == nil ? Self.tasks : 1) { add() }
      for try await part in group {
        sum.answers += part.answers
        sum.histories += part.histories
        sum.variants += part.variants
        sum.onDisk += part.onDisk
        sum.tally += part.tally
        if let violation = part.violation { violations.append(violation) }
        progress.advance(part.answers, of: quota, "answers compared with a model")
        if only == nil && sum.answers < quota && violations.isEmpty { add() }
      }
    }
    var result = CampaignResult()
    result.counts.modelOperations = sum.answers
    result.violations = violations
    result.report =
      [
        "\(sum.answers) answers in \(sum.histories) histories of \(steps) steps, \(sum.onDisk) of them on a disk",
        "\(sum.variants) histories were repeated under other options, with the same answers and content",
      ] + sum.tally.report
    return (result, sum)
  }

  /// The number of parallel tasks. It may exceed the number of processors, because a history
  /// sometimes waits.
  private static let tasks = 4

  private func part(
    _ number: UInt64, steps: Int, _ plan: ProofPlan, _ progress: ProofProgress
  ) throws -> Part {
    var part = Part()
    let note = progress.newNote()
    note.begin("\(number)")
    defer { withExtendedLifetime(note) {} }
    let random = SeededGenerator(seed: plan.seed).derived(number)
    let medium = Medium(number)
    if medium == .disk { part.onDisk += 1 }
    // On a disk, histories are shorter, because every sync takes time.
    let history = HistoryGenerator.history(seed: random.seed, steps: medium == .disk ? steps / 8 : steps)
    do {
      let outcome = try medium.run(history, subject)
      part.histories += 1
      part.answers += outcome.answers
      part.tally += outcome.tally
      guard number % 8 == 0 else { return part }
      for round in 1...2 as ClosedRange<UInt64> {
        let variant = HistoryGenerator.variant(of: history, seed: random.derived(round).seed)
        let again: HistoryOutcome
        do { again = try Medium.memory.run(variant, subject) } catch let failure as HistoryFailure {
          part.violation = violation(variant, .memory, failure, number, plan, progress)
          return part
        }
        part.answers += again.answers
        part.tally += again.tally
        guard again.digest == outcome.digest else {
          let failure = HistoryFailure(
            step: 0, what: "two runs under different options give different answers")
          // Each answer agrees with the model. Only the comparison of both runs shows the error.
          part.violation = ProofViolation(
            "history \(number), \(failure.what):\n\(history)\nand\n\(variant)",
            command: plan.command(for: self, part: "\(number)"))
          return part
        }
      }
      part.variants += 1
    } catch let failure as HistoryFailure {
      part.violation = violation(history, medium, failure, number, plan, progress)
    }
    return part
  }

  /// The violation with the shortest failing history. A test can parse and run the history's text.
  private func violation(
    _ history: History, _ medium: Medium, _ failure: HistoryFailure, _ number: UInt64, _ plan: ProofPlan,
    _ progress: ProofProgress
  ) -> ProofViolation {
    let shrunk = HistoryShrinking.shrink(history) { candidate in
      progress.beat()
      do {
        _ = try medium.run(candidate, subject)
        return nil
      } catch { return "\(error)" }
    }
    let what = shrunk.map { "history \(number), \(failure)\nat its shortest, \($0.reason)\n\($0.history)" }
    return ProofViolation(
      what
        ?? "history \(number), \(failure); it did not fail when it ran again. The whole history:\n\(history)",
      command: plan.command(for: self, part: "\(number)"))
  }
}

extension ModelsCampaign {
  /// The file system that a history uses.
  enum Medium: Sendable {
    case memory
    case simulated
    case disk

    init(_ number: UInt64) {
      self = number % 32 == 31 ? .disk : number % 8 == 5 ? .simulated : .memory
    }

    func run(_ history: History, _ subject: any HistorySubject) throws -> HistoryOutcome {
      switch self {
      case .memory: return try HistoryRun.run(history, on: subject, InMemoryFileSystem())
      case .simulated: return try HistoryRun.run(history, on: subject, SimulatedFileSystem())
      case .disk:
        let directory = try TemporaryDirectory()
        return try HistoryRun.run(history, on: subject, POSIXFileSystem(), at: directory.file("h.perdure"))
      }
    }
  }
}
