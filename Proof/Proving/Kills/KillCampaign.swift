import PerdureFileIO
package import PerdureLog
import PerdureTestSupport

/// Kills processes that write and read a store, thousands of times. Some of them are killed during
/// a write.
package struct KillCampaign: Campaign {
  package let name = "kills"
  package let summary =
    "processes that write are killed, with and without syncs, beside readers, and during a write"

  private let executable: String
  /// Whether children report a step before they make it. The campaign must detect this.
  package var isEarly = false
  /// Whether readers never open the store. The campaign must detect this.
  package var isBlind = false
  /// The maximum time to wait for a child's first step, in milliseconds.
  package var waitMax = 10_000

  /// The minimum scale at which the campaign mounts a volume.
  private static let volumeScaleMin = 0.02

  /// - Parameter executable: A program with the command `kill-child`, which takes the arguments of
  ///   `arguments(…)`.
  package init(executable: String) { self.executable = executable }

  package func run(_ plan: ProofPlan, _ progress: ProofProgress) async throws -> CampaignResult {
    try await runCounting(plan, progress).result
  }

  /// Runs the campaign, and also returns the counts that the report describes in words.
  package func runCounting(
    _ plan: ProofPlan, _ progress: ProofProgress
  ) async throws -> (result: CampaignResult, tally: KillTally) {
    try plan.refuseParts(of: self)
    let directory = try TemporaryDirectory()
    let shim = try await onThread { try SystemShim.make(in: directory.path, isCancelled: $0) }
    let total = plan.quota(2000)
    let lanes = min(2, total)
    var volume: SmallVolume.Outcome?
    if plan.scale >= Self.volumeScaleMin {
      volume = try await onThread {
        SmallVolume.run(executable, in: directory.path, isCancelled: $0)
      }
    }
    return try await withThrowingTaskGroup(of: KillTally.self) { group in
      for lane in 0..<lanes {
        group.addTask {
          try await onThread { isCancelled in
            let seed = SeededGenerator(seed: plan.seed).derived(UInt64(lane)).seed
            var run = KillLane(self, executable, directory.file("\(lane)"), seed, shim)
            let kills = total / lanes + (lane < total % lanes ? 1 : 0)
            return try run.kill(kills, isCancelled) { progress.advance(of: total, name) }
          }
        }
      }
      let tally = try await group.reduce(into: KillTally()) { $0.add($1) }
      var result = tally.result(hasShim: shim != nil)
      var violations = tally.violations
      if tally.torn == 0, tally.missed > 0 {
        violations.append("no write was cut short: the injected library has no effect")
      }
      if tally.readers > 0, tally.idleReaders == tally.readers {
        violations.append("none of the \(tally.readers) readers has read a step")
      }
      switch volume {
      case .held:
        result.report.append("a volume of 24 MiB was filled to the last byte twice, and no data was lost")
      case .violated(let what): violations.append(what)
      case .skipped: result.report.append("skipped: a full volume, because no volume can be mounted here")
      case nil: break
      }
      result.violations = violations.map { ProofViolation($0, command: plan.command(for: self)) }
      return (result, tally)
    }
  }
}

/// The results of the kills.
package struct KillTally: Sendable {
  var writers = 0
  package fileprivate(set) var readers = 0
  /// Readers that had read no step when they were killed.
  package fileprivate(set) var idleReaders = 0
  /// Writers that were killed during a write.
  package fileprivate(set) var torn = 0
  /// Writers that made too few writes: they ended before the write at which a kill was planned.
  var missed = 0
  /// Writers that had made no step since the previous kill.
  var idle = 0
  var rough = 0
  var verified = 0
  var steps: UInt64 = 0
  /// The number of writers for each durability.
  package fileprivate(set) var byDurability: [Durability: Int] = [:]
  var violations: [String] = []

  mutating func add(_ other: KillTally) {
    writers += other.writers
    readers += other.readers
    idleReaders += other.idleReaders
    torn += other.torn
    missed += other.missed
    idle += other.idle
    rough += other.rough
    verified += other.verified
    steps += other.steps
    byDurability.merge(other.byDurability, uniquingKeysWith: +)
    violations += other.violations
  }

  func result(hasShim: Bool) -> CampaignResult {
    var result = CampaignResult()
    result.counts.kills = writers - idle + readers - idleReaders
    let levels = Durability.allCases.map { "\($0) \(byDurability[$0] ?? 0)" }.joined(separator: ", ")
    result.report = [
      "\(writers) writers were killed (\(levels)) and \(readers) readers; \(steps) steps were found, all as written",
      "\(idle) writers had made no step since the previous kill, and \(idleReaders) readers had read no step: these do not count",
      "\(verified) stores were verified",
      hasShim
        ? "\(torn) writers were killed during a write; \(missed) made too few writes for this; in \(rough), every other call was interrupted"
        : "skipped: writes that are cut short, because this requires a C compiler",
    ]
    return result
  }
}

/// A sequence of stores, and the processes that use them and are killed.
private struct KillLane {
  private let campaign: KillCampaign
  private let executable: String
  private let directory: String
  private let shim: SystemShim?
  private var random: SeededGenerator
  private var seed: UInt64 = 0
  private var model = KillModel(seed: 0)
  private var tally = KillTally()
  /// The durabilities that remain in this round. Each round uses all of them once.
  private var levels: [Durability] = []

  /// The number of kills after which a new store is made.
  private static let killsPerStore = 80

  init(
    _ campaign: KillCampaign, _ executable: String, _ directory: String, _ seed: UInt64, _ shim: SystemShim?
  ) {
    self.campaign = campaign
    self.executable = executable
    self.directory = directory
    self.shim = shim
    random = SeededGenerator(seed: seed)
  }

  mutating func kill(
    _ count: Int, _ isCancelled: () -> Bool, onKill: () -> Void
  ) throws -> KillTally {
    for number in 0..<count where tally.violations.isEmpty && !isCancelled() {
      if number % Self.killsPerStore == 0 { try begin() }
      do {
        try killOnce(number, isCancelled)
        try check(number)
      } catch let violation as Violation {
        tally.violations.append("after \(number + 1) kills: \(violation)")
      } catch let error as StoreError {
        tally.violations.append("after \(number + 1) kills: \(error)")
      }
      onKill()
    }
    return tally
  }

  private mutating func begin() throws {
    let fileSystem = POSIXFileSystem()
    if try fileSystem.kind(of: directory) != nil { try fileSystem.removeTree(directory) }
    try fileSystem.createDirectory(directory)
    seed = random.next()
    model = KillModel(seed: seed)
  }

  private mutating func killOnce(_ number: Int, _ isCancelled: () -> Bool) throws {
    // Each round uses every durability once. So even a short run uses all of them.
    if levels.isEmpty { levels = Durability.allCases.shuffled(using: &random) }
    let durability = levels.removeLast()
    var environment: [String: String] = [:]
    let isTorn = shim != nil && number % 4 == 1
    let isRough = shim != nil && number % 8 == 3
    if let shim, isTorn {
      environment = shim.tearing(
        write: .random(in: 1...120, using: &random), percent: .random(in: 1...99, using: &random))
    } else if let shim, isRough {
      environment = shim.rough
    }
    let role = campaign.isEarly ? "write-early" : "write"
    let readerRole = campaign.isBlind ? "read-nothing" : "read"
    for mark in ChildMark.allCases { try mark.remove(in: directory) }
    let writer = try ChildProcess(
      executable, ["kill-child", role, directory, "\(seed)", "\(durability.rawValue)"],
      environment: environment)
    let reader =
      number % 4 == 0
      ? try ChildProcess(executable, ["kill-child", readerRole, directory, "\(seed)", "0"]) : nil
    let milliseconds = Int.random(in: 0...80, using: &random)
    let end: ChildProcess.End
    var isCutShort = false
    if isTorn {
      let (how, hadToKill) = writer.wait(milliseconds: 5_000, isCancelled: isCancelled)
      (end, isCutShort) = (how, !hadToKill)
      tally.missed += hadToKill ? 1 : 0
    } else {
      // One writer in five may be killed during the opening of the store.
      if number % 5 != 4 {
        wait(for: .begun, isCancelled)
        if reader != nil { wait(for: .read, isCancelled) }
      }
      for _ in 0..<milliseconds { SystemLink.waitAMillisecond() }
      end = writer.kill()
    }
    let readerEnd = reader?.kill()
    guard end == ChildProcess.killed else { throw Violation("a writer ended by itself: \(end)") }
    guard readerEnd == nil || readerEnd == ChildProcess.killed else {
      throw Violation("a reader ended by itself: \(String(describing: readerEnd))")
    }
    tally.writers += 1
    tally.readers += reader == nil ? 0 : 1
    tally.idleReaders += reader == nil || ChildMark.read.isSet(in: directory) ? 0 : 1
    tally.torn += isCutShort ? 1 : 0
    tally.rough += isRough ? 1 : 0
    tally.byDurability[durability, default: 0] += 1
  }

  /// Waits, with a timeout, until a child has reached a step.
  private func wait(for mark: ChildMark, _ isCancelled: () -> Bool) {
    for _ in 0..<campaign.waitMax where !mark.isSet(in: directory) && !isCancelled() {
      SystemLink.waitAMillisecond()
    }
  }

  /// Checks that the rows are those after some step, and that this step is not before the last
  /// acknowledged step.
  private mutating func check(_ number: Int) throws {
    let store = try Store(at: KillChild.storePath(directory), options: KillChild.options(readOnly: false))
    let rows = try store.keyspace("rows", .dense)
    guard let found = KillModel(seed: seed, reading: try KillChild.contents(store.snapshot(), rows)) else {
      throw Violation("the rows do not match the state after any step")
    }
    let acknowledged = try AcknowledgedStep(directory).get()
    guard found.count >= acknowledged, found.count >= model.count else {
      throw Violation(
        "step \(max(acknowledged, model.count)) was acknowledged, but \(found.count) is the last")
    }
    tally.steps += found.count - model.count
    tally.idle += found.count == model.count ? 1 : 0
    while model.count < found.count { _ = model.advance() }
    guard model.steps == found.steps else { throw Violation("the rows after step \(found.count) are wrong") }
    if number % 10 == 0 {
      let report = try store.verify()
      guard report.isClean else { throw Violation("verify: \(report.findings)") }
      tally.verified += 1
    }
    if number % 2 == 0 { try store.close() }
  }
}
