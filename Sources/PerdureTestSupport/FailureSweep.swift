/// Makes each file call of a program fail, in two runs for each call and kind of failure.
///
/// The check compares the result of the program with the disks that a power cut leaves after the
/// failure. So it detects a failed sync that the program ignores. `Notes` is a store on Perdure
/// that opens with the given file system:
///
///     @Test func notesSurviveFailures() throws {
///       var explorer = CrashExplorer()
///       explorer.imagesPerOperationMax = 8
///       let report = FailureSweep().run { fileSystem in
///         var written: [Int] = []
///         guard let notes = try? Notes(on: fileSystem) else { return written }
///         for number in 1...4 {
///           do { try notes.add(number, "note \(number)") } catch is StoreError { break }
///           written.append(number)
///         }
///         return written
///       } verify: { written, fileSystem in
///         for disk in explorer.images(of: fileSystem.journal, after: fileSystem.operationCount) {
///           let numbers = try Notes(on: disk.fileSystem()).numbers()
///           guard numbers.starts(with: written) else { throw Lost() }
///           guard (1...4).starts(with: numbers) else { throw Surplus() }
///         }
///       }
///       print(report.summary)
///       try report.check()
///     }
///
/// The program may continue after an error. For example, it may close the store and open it again.
/// Such a program tests more, but a refused commit may then be on the disk.
///
/// The program must make the same calls in each run until one fails; otherwise the sweep omits
/// calls. So it must not make random choices without a seed, and its store must do no background
/// work. For Perdure, set `checkpoints = .manual` and `compactsAutomatically = false`. An error of
/// the program or the check is a violation. A program that repeats a call forever is a violation
/// too. The first run has no failure.
public struct FailureSweep: Sendable {
  /// The kinds of failures, at least one.
  public var kinds = FailureKind.allCases

  /// The fraction of all runs that the sweep makes.
  ///
  /// Range: greater than 0; 1 or more means every call. Default: 1.
  public var part = 1.0

  /// The seed that chooses the runs if `part` is less than 1.
  public var seed: UInt64 { didSet { origin = nil } }

  /// The name at the beginning of reports and violations. Default: the name of the function that
  /// made the sweep.
  public var name: String

  /// The seed of the generator that produced `seed`; nil if no generator did.
  private var origin: UInt64?

  /// Whether failures of `.sync` also apply to directory syncs (`InjectedFailure.dropsNames`).
  package var dropsNames = false

  /// Whether the sweep belongs to a test. If so, the sweep writes its next run to a file, in case
  /// of a trap. A violation then contains the command that runs the test again.
  package var leavesNote = true

  /// Called before each run in which a call must fail.
  package var onRun: @Sendable (_ kind: FailureKind, _ nth: Int, _ repeats: Bool) -> Void = { _, _, _ in }

  /// The maximum number of failed calls in one run. After this number, calls succeed, and the run
  /// is a violation. Without the limit, a program that repeats a call until it succeeds never ends.
  ///
  /// Unit: calls. Range: 2 or more. Default: 10,000. Why: a small program makes far fewer calls.
  public var failedCallsMax = 10_000

  /// Whether a failed sync reports success, as for a program that ignores its error. A suite that
  /// checks the disks then finds a violation.
  ///
  /// The violation shows that the check examines the disks after a power cut. It does not show that
  /// the check detects other failures.
  public var hidesFailedSyncs = false

  /// The maximum number of bytes of all files together.
  public var capacityBytes: UInt64 = 1 << 40

  /// Makes a sweep. The default seed is `PERDURE_SEED`, or a new one if that is not set.
  public init(seed: UInt64 = SeededGenerator.seedFromEnvironment(), name: String = #function) {
    (self.seed, self.name) = (seed, name)
  }

  /// Makes a sweep whose seed is the next number of a generator. Failures print the seed of the
  /// generator, or of the generator that it is derived from.
  public init(using random: inout SeededGenerator, name: String = #function) {
    self.init(seed: random.next(), name: name)
    origin = random.origin
  }

  /// The code that produces the same seed again.
  var seedWords: String { SeedWords.words(seed, origin: origin, "FailureSweep") }

  /// Makes each call of a program fail. In one run only this call fails, and in a second run all
  /// later calls fail too.
  ///
  /// `program` and `verify` run on this thread, in turns. An error of either closure is a
  /// violation, and `run` does not throw it. So the program must catch the errors of its calls.
  ///
  /// - Parameters:
  ///   - program: The program to test. It returns the state that the check uses.
  ///   - verify: Called after each run in which `program` returns a state. File calls do not fail
  ///     in it. It is not called if the number of failed calls reached `failedCallsMax`.
  /// - Returns: The counts, with the first violation, which ends the sweep.
  public func run<State>(
    program: (SimulatedFileSystem) throws -> State,
    verify: (State, SimulatedFileSystem) throws -> Void
  ) -> FailureReport {
    precondition(part > 0, "FailureSweep.part is \(part), but must be more than 0")
    precondition(!kinds.isEmpty, "FailureSweep.kinds must have at least one kind of failure")
    precondition(
      failedCallsMax > 1, "FailureSweep.failedCallsMax is \(failedCallsMax), but must be 2 or more")
    var report = FailureReport(self, kinds)
    let note = RunNote("\(name), \(seedWords)", isWanted: leavesNote)
    let calls = attempt(nil, note, program, verify, &report)
    for (number, kind) in kinds.enumerated() {
      for repeats in [false, true] where report.violation == nil {
        var random = SeededGenerator(seed: seed).derived(UInt64(2 * number + (repeats ? 1 : 0)))
        sweep(kind, repeats, calls, &random, note, program, verify, &report)
      }
    }
    return report
  }

  /// Runs the program once, with one failure. A violation prints the code of this call.
  public func run<State>(
    only kind: FailureKind, nth: Int, repeats: Bool,
    program: (SimulatedFileSystem) throws -> State,
    verify: (State, SimulatedFileSystem) throws -> Void
  ) -> FailureReport {
    run(FailureStrike(kind: kind, nth: nth, repeats: repeats, dropsNames: dropsNames), program, verify)
  }

  /// Runs the program once, with any injected failure.
  public func run<State>(
    only failure: InjectedFailure,
    program: (SimulatedFileSystem) throws -> State,
    verify: (State, SimulatedFileSystem) throws -> Void
  ) -> FailureReport {
    run(FailureStrike(failure: failure), program, verify)
  }

  private func run<State>(
    _ strike: FailureStrike, _ program: (SimulatedFileSystem) throws -> State,
    _ verify: (State, SimulatedFileSystem) throws -> Void
  ) -> FailureReport {
    var report = FailureReport(self, strike.kind.map { [$0] } ?? [])
    let note = RunNote("\(name), \(seedWords)", isWanted: leavesNote)
    attempt(strike, note, program, verify, &report)
    return report
  }

  private func sweep<State>(
    _ kind: FailureKind, _ repeats: Bool, _ calls: [FileOperation: Int], _ random: inout SeededGenerator,
    _ note: RunNote, _ program: (SimulatedFileSystem) throws -> State,
    _ verify: (State, SimulatedFileSystem) throws -> Void, _ report: inout FailureReport
  ) {
    let names = dropsNames && kind.operation == .sync ? calls[.syncDirectory] ?? 0 : 0
    let count = kind.operation.map { (calls[$0] ?? 0) + names } ?? calls.values.reduce(0, +)
    var nth = 1
    // Continue until a run has no failed call. Threads of the program may make more calls than in
    // the first run.
    while report.violation == nil {
      let isChosen = part >= 1 || Double.random(in: 0..<1, using: &random) < part
      if isChosen {
        let before = report.struckCount
        let strike = FailureStrike(kind: kind, nth: nth, repeats: repeats, dropsNames: dropsNames)
        attempt(strike, note, program, verify, &report)
        if report.struckCount == before && nth >= count { return }
      } else if nth >= count {
        return
      }
      nth += 1
    }
  }

  /// Returns the number of calls of each kind in the run.
  @discardableResult
  private func attempt<State>(
    _ strike: FailureStrike?, _ note: RunNote,
    _ program: (SimulatedFileSystem) throws -> State,
    _ verify: (State, SimulatedFileSystem) throws -> Void, _ report: inout FailureReport
  ) -> [FileOperation: Int] {
    note.say(strike?.code ?? "without a failure")
    if let strike, let kind = strike.kind { onRun(kind, strike.failure.nth, strike.failure.repeats) }
    let fileSystem = SimulatedFileSystem(capacityBytes: capacityBytes)
    if let strike { fileSystem.inject(strike.failure, strikesMax: failedCallsMax) }
    fileSystem.hidesFailedSyncs = hidesFailedSyncs
    var calls: [FileOperation: Int] = [:]
    do {
      let state = try Self.counting(fileSystem, strike, &calls, &report) { try program(fileSystem) }
      guard fileSystem.injectedFailureCount < failedCallsMax else { throw Endless(calls: failedCallsMax) }
      fileSystem.removeInjectedFailures()
      try verify(state, fileSystem)
    } catch {
      report.violation = FailureViolation(
        reason: "\(error)", strike: strike, trace: fileSystem.journal.markedTrace(upTo: .max), seed: seed,
        hidesFailedSyncs: hidesFailedSyncs, head: name,
        again: leavesNote ? SeedWords.again(seedWords, name) : nil)
    }
    return calls
  }

  /// Counts the calls of a run of the program, even if it throws.
  private static func counting<State>(
    _ fileSystem: SimulatedFileSystem, _ strike: FailureStrike?, _ calls: inout [FileOperation: Int],
    _ report: inout FailureReport, _ program: () throws -> State
  ) throws -> State {
    defer {
      calls = fileSystem.callCounts
      report.note(strike, calls: calls, hasStruck: fileSystem.injectedFailureCount > 0)
    }
    return try program()
  }

  private struct Endless: Error, CustomStringConvertible {
    let calls: Int

    var description: String { "it continued after \(calls) calls had failed, as if to retry without end" }
  }
}
