/// Fails every single call that a program makes to its file system, one run for each, in all the ways in which
/// systems fail.
///
/// What a program may say is held against the disks that a loss of power leaves after the failure, so that a program
/// passes over no failed sync. `Notes` is a store of your own on Perdure, which opens with the file system that it is given:
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
/// The program may go on after errors as far as its rules let it: close the store and open it again, say, as one that is
/// poisoned asks for. That tests more; a commit that was refused may be there then all the same. It must do the same in each
/// run until a call fails, or the sweep leaves calls out: no random choices but those of a seed, and a store that does nothing by
/// itself in the background (for one of Perdure, `checkpoints = .manual` and `compactsAutomatically = false`).
/// A program or a check that throws is a violation, and so is a program that tries a call for ever. The first run has no
/// failure in it.
public struct FailureSweep: Sendable {
  /// How calls fail: one kind at least.
  public var kinds = FailureKind.allCases

  /// Which part of all runs is made.
  ///
  /// Range: above 0; 1 and more is every call. Default: 1.
  public var part = 1.0

  /// Chooses the runs where `part` is less than 1.
  public var seed: UInt64 { didSet { origin = nil } }

  /// What reports and violations begin with: the function that has made the sweep, if nothing else is said.
  public var name: String

  /// The seed of the generator that the seed is from.
  private var origin: UInt64?

  /// Whether failing syncs are those of directories too, and forget changes of names.
  package var dropsNames = false

  /// Whether it is a test's: it is noted in a file what the sweep is at, for who looks after a trap, and a violation says how
  /// to run the test again.
  package var leavesNote = true

  /// Called before each run in which a call is to fail.
  package var onRun: @Sendable (_ kind: FailureKind, _ nth: Int, _ repeats: Bool) -> Void = { _, _, _ in }

  /// How many calls of one run fail at most; then they succeed again, and the run is a violation: a program that
  /// tries until it succeeds would not end.
  ///
  /// Unit: calls. Range: 2 up. Default: 10,000. Why: far more than a small program makes.
  public var failedCallsMax = 10_000

  /// Whether a sync that fails reports success all the same, as in a program that does not look at it. With that a
  /// suite has to find a violation, or it does not notice what failures cost.
  ///
  /// A violation of a run in which a sync failed shows that the check looks at what a loss of power leaves. It says nothing
  /// of how the program takes other failures.
  public var hidesFailedSyncs = false

  /// How many bytes all files may have in all.
  public var capacityBytes: UInt64 = 1 << 40

  /// Makes a sweep. Without a seed, it comes from `PERDURE_SEED`, or else is a new one.
  public init(seed: UInt64 = SeededGenerator.seedFromEnvironment(), name: String = #function) {
    (self.seed, self.name) = (seed, name)
  }

  /// Makes a sweep whose seed is the next number of a generator: that of the program's random choices. What is printed to
  /// run a failure again is the seed of the generator, or of the one that this is derived from.
  public init(using random: inout SeededGenerator, name: String = #function) {
    self.init(seed: random.next(), name: name)
    origin = random.origin
  }

  /// What gives the same seed again.
  var seedWords: String { SeedWords.words(seed, origin: origin, "FailureSweep") }

  /// Fails the calls of a program, each once, and again with all later ones.
  ///
  /// `program` and `verify` are called on this thread, in turns, and all is over when `run` returns. What they throw is
  /// a violation and is not thrown on: a program takes what its calls throw.
  ///
  /// - Parameters:
  ///   - program: What it returns is for the check.
  ///   - verify: Called after each run, when calls fail no more.
  /// - Returns: What was tried, with the first violation, after which it stops.
  public func run<State>(
    program: (SimulatedFileSystem) throws -> State,
    verify: (State, SimulatedFileSystem) throws -> Void
  ) -> FailureReport {
    precondition(part > 0, "FailureSweep.part is \(part), and has to be more than 0")
    precondition(!kinds.isEmpty, "FailureSweep.kinds has no kind of failure")
    precondition(
      failedCallsMax > 1, "FailureSweep.failedCallsMax is \(failedCallsMax), and has to be 2 or more")
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

  /// Runs the program once, with one failure of the kinds that are: what a violation prints.
  public func run<State>(
    only kind: FailureKind, nth: Int, repeats: Bool,
    program: (SimulatedFileSystem) throws -> State,
    verify: (State, SimulatedFileSystem) throws -> Void
  ) -> FailureReport {
    run(FailureStrike(kind: kind, nth: nth, repeats: repeats, dropsNames: dropsNames), program, verify)
  }

  /// Runs the program once, with a failure of any making.
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
    // Threads of the program's own may make a call more in another run.
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

  /// Returns how many calls of each kind the run made.
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

  /// Takes down what a run of the program came to, also of one that throws.
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

    var description: String { "it went on after \(calls) calls had failed, as if to try for ever" }
  }
}
