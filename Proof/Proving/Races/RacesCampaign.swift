import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Several threads read and write one store, while another thread compacts it and writes
/// checkpoints. The records are checked for snapshot isolation, for the order of acknowledged
/// commits, and for preconditions.
package struct RacesCampaign: Campaign {
  package let name = "races"
  package let summary = "threads that read and write at once: snapshots, order, lost updates, write skew"

  /// The number of transactions in a full proof.
  private static let transactionsFull = 1_500_000
  /// Each store has three threads. This is the number of steps of one thread.
  private static let transactionsOfThread = 300
  /// The number of repetitions for one chosen store. Its threads make the same choices each time,
  /// but the schedule varies.
  private static let timesOfOne = 100
  private let subject: any HistorySubject

  package init(on subject: any HistorySubject = WholeStore()) { self.subject = subject }

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    let quota = plan.quota(Self.transactionsFull)
    let only = try plan.part.map { part in
      guard let number = Int(part), number >= 0 else { throw plan.noSuchPart("the number of a store") }
      return number
    }
    var result = CampaignResult()
    var (done, stores, commits, refused, reads) = (0, 0, 0, 0, 0)
    let root = SeededGenerator(seed: plan.seed)
    let note = progress.newNote()
    while result.violations.isEmpty, only == nil ? done < quota : stores < Self.timesOfOne {
      let number = only ?? stores
      let seed = root.derived(UInt64(number)).seed
      note.begin("\(number)")
      stores += 1
      let count: Int
      do {
        let (transactions, end) = try await RaceRun.run(
          on: subject, seed: seed, transactions: min(Self.transactionsOfThread, quota / 3 + 1))
        count = transactions.count
        for transaction in transactions {
          reads += transaction.reads.count
          if transaction.outcome == .refused { refused += 1 }
          if case .committed = transaction.outcome { commits += 1 }
        }
        let findings = RaceChecker.check(transactions, end: end)
        if !findings.isEmpty {
          let listed = findings.prefix(10).map(\.description).joined(separator: "\n")
          let what = "store \(number), \(findings.count) findings in \(count) transactions:\n\(listed)"
          result.violations.append(ProofViolation(what, command: plan.command(for: self, part: "\(number)")))
        }
      } catch {
        let what = "store \(number): \(error)"
        result.violations.append(ProofViolation(what, command: plan.command(for: self, part: "\(number)")))
        break
      }
      done += count
      progress.advance(count, of: quota, "transactions of threads that race")
    }
    result.counts.modelOperations = reads + commits + refused
    result.report = [
      "\(done) transactions on \(stores) stores: \(commits) committed, \(refused) refused, \(reads) reads"
    ]
    return result
  }
}
