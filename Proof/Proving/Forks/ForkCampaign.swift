import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Forks processes with an open store at random moments, while their threads read, commit, write
/// checkpoints and compact. The children make random calls of all kinds with the inherited store,
/// and end in different ways.
package struct ForkCampaign: Campaign {
  package let name = "forks"
  package let summary =
    "processes with an open store are forked while their threads work; the children read, commit, close and are killed"

  /// Whether children can use the store and the results of their calls are ignored. The campaign
  /// must then detect lost commits.
  package var ignoresForks = false
  /// The time limit of a child in seconds. A child that runs longer is treated as hanging.
  package var secondsMax: UInt32 = 30

  package init() {}

  /// The number of children in a full proof.
  private static let fullCount = 6000
  /// The maximum number of children in one history.
  private static let childrenMax = 40

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    let total = plan.quota(Self.fullCount)
    let histories = (total + Self.childrenMax - 1) / Self.childrenMax
    let chosen: [Int]
    if let words = plan.partWords {
      guard words.count == 1, let part = Int(words[0]), (0..<histories).contains(part) else {
        throw plan.noSuchPart("the number of a history, below \(histories)")
      }
      chosen = [part]
    } else {
      chosen = Array(0..<histories)
    }
    let directory = try TemporaryDirectory()
    var (result, tally) = (CampaignResult(), ForkTally())
    // Histories run one after the other, because a child inherits the memory of all of them.
    for number in chosen where result.violations.isEmpty && !Task.isCancelled {
      let seed = SeededGenerator(seed: plan.seed).derived(UInt64(number)).seed
      let children = min(Self.childrenMax, total - number * Self.childrenMax)
      let path = directory.file("\(number).perdure")
      let campaign = self
      let outcome = try await onThread { () -> Result<ForkTally, Violation> in
        var history = ForkHistory(path, seed: seed, children: children, campaign)
        do { return .success(try history.run { progress.advance(of: total, campaign.name) }) } catch let error
          as StoreError
        { return .failure(Violation("\(error)")) } catch let violation as Violation {
          return .failure(violation)
        }
      }
      switch outcome {
      case .success(let part): tally.add(part)
      case .failure(let violation):
        let what = "history \(number): \(violation)"
        result.violations = [ProofViolation(what, command: plan.command(for: self, part: "\(number)"))]
      }
    }
    result.counts.modelOperations = tally.commits + tally.calls
    result.report = [
      "\(tally.children) children made \(tally.calls) calls, and all were refused; the parents made \(tally.commits) commits, and lost none"
    ]
    return result
  }
}

/// Counts the children, calls and commits of histories.
struct ForkTally: Sendable {
  var children = 0
  var calls = 0
  var commits = 0

  mutating func add(_ other: ForkTally) {
    children += other.children
    calls += other.calls
    commits += other.commits
  }
}
