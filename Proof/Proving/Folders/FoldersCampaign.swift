import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// Moves, removes, replaces and refills folders of open stores, and removes LOCK and SUPERBLOCK, at
/// random moments.
package struct FoldersCampaign: Campaign {
  package let name = "folders"
  package let summary =
    "folders of open stores that are moved, removed or replaced, and LOCK or SUPERBLOCK removed"

  /// The number of histories in a full proof.
  private static let historiesFull = 4_000
  /// One history in this many runs on the disk, the others on the simulated file system.
  private static let diskEvery = 16
  private let canary: FoldersCanary?

  package init(canary: FoldersCanary? = nil) { self.canary = canary }

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    let only = try plan.part.map { part in
      guard let number = Int(part), number >= 0 else { throw plan.noSuchPart("the number of a history") }
      return number
    }
    let quota = plan.quota(Self.historiesFull)
    var (result, tally) = (CampaignResult(), FolderTally())
    let note = progress.newNote()
    for number in only.map({ $0..<($0 + 1) }) ?? 0..<quota {
      note.begin("\(number)")
      do { try run(number, plan.seed, &tally) } catch {
        let command = plan.command(for: self, part: "\(number)")
        result.violations = [ProofViolation("history \(number): \(error)", command: command)]
        break
      }
      progress.advance(of: quota, "histories with folders that change")
    }
    result.counts.modelOperations = tally.operations
    result.report = [tally.description]
    return result
  }

  private func run(_ number: Int, _ seed: UInt64, _ tally: inout FolderTally) throws {
    let directory = number % Self.diskEvery == 0 ? try TemporaryDirectory() : nil
    defer { withExtendedLifetime(directory) {} }
    let fileSystem: any FileSystem = directory == nil ? SimulatedFileSystem() : POSIXFileSystem()
    let random = SeededGenerator(seed: seed).derived(UInt64(number))
    var run = FolderRun(fileSystem, directory?.path ?? "", random, canary)
    defer { tally += run.tally }
    try run.run()
  }
}

/// Counts the calls and changes of a campaign of folders.
struct FolderTally: CustomStringConvertible {
  var histories = 0
  /// The histories in which threads of the stores compact, write checkpoints and create the files
  /// of segments.
  var historiesWithThreads = 0
  /// The bytes that these threads wrote in compactions, and the checkpoints that they wrote.
  var compactedBytes: UInt64 = 0
  var threadCheckpoints = 0
  /// The calls to stores whose outcome was checked.
  var operations = 0
  var changes: [FolderRun.Change: Int] = [:]
  /// The writers that found that they no longer own their folder.
  var refusedWriters = 0
  /// The openings that were refused because another writer had the store open.
  var refusedOpenings = 0

  static func += (sum: inout FolderTally, other: FolderTally) {
    sum.histories += other.histories
    sum.historiesWithThreads += other.historiesWithThreads
    sum.compactedBytes += other.compactedBytes
    sum.threadCheckpoints += other.threadCheckpoints
    sum.operations += other.operations
    sum.changes.merge(other.changes, uniquingKeysWith: +)
    sum.refusedWriters += other.refusedWriters
    sum.refusedOpenings += other.refusedOpenings
  }

  var description: String {
    let changed = FolderRun.Change.allCases.map { "\($0.rawValue) \(changes[$0] ?? 0)" }.joined(
      separator: ", ")
    return
      "\(operations) calls in \(histories) histories, \(historiesWithThreads) of them with compactions "
      + "(\(compactedBytes) bytes) and checkpoints (\(threadCheckpoints)) on threads of the stores; "
      + "folders: \(changed); \(refusedWriters) writers found that their folder was not theirs, "
      + "\(refusedOpenings) openings found another writer"
  }
}
