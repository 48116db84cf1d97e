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
///         }
///       }
///       print(report)
///       try report.check()
///     }
///
/// The program may go on after errors as far as its rules let it. It must do the same in each run until a call fails.
/// A program or a check that throws is a violation, and so is a program that tries a call for ever. The first run has no
/// failure in it.
public struct FailureSweep: Sendable {
  /// How calls fail.
  public var kinds = FailureKind.allCases

  /// Which part of all runs is made: 1 is every call.
  public var part = 1.0

  /// Chooses the runs where `part` is less than 1.
  public var seed: UInt64

  /// How many calls of one run fail at most; then they succeed again, and the run is a violation: a program that
  /// tries until it succeeds would not end.
  ///
  /// Unit: calls. Range: 2 up. Default: 10,000. Why: far more than a small program makes.
  public var failedCallsMax = 10_000

  /// How many bytes all files may have in all.
  public var capacityBytes: UInt64 = 1 << 40

  /// Makes a sweep. Without a seed, it comes from `PERDURE_SEED`, or else is a new one.
  public init(seed: UInt64 = SeededGenerator.seedFromEnvironment()) {
    self.seed = seed
  }

  /// Fails the calls of a program, each once, and again with all later ones.
  ///
  /// - Parameters:
  ///   - program: What it returns is for the check.
  ///   - verify: Called after each run, when calls fail no more.
  /// - Returns: What was tried, with the first violation, after which it stops.
  public func run<State>(
    program: (SimulatedFileSystem) throws -> State,
    verify: (State, SimulatedFileSystem) throws -> Void
  ) -> FailureReport {
    precondition(part > 0 && !kinds.isEmpty && failedCallsMax > 1, "A sweep tries something")
    var report = FailureReport(seed: seed)
    let calls = attempt(nil, program, verify, &report)
    for (number, kind) in kinds.enumerated() {
      for repeats in [false, true] where report.violation == nil {
        var random = SeededGenerator(seed: seed).derived(UInt64(2 * number + (repeats ? 1 : 0)))
        sweep(kind, repeats, calls, &random, program, verify, &report)
      }
    }
    return report
  }

  /// Runs the program once, with one failure.
  public func run<State>(
    only failure: InjectedFailure, _ kind: FailureKind,
    program: (SimulatedFileSystem) throws -> State,
    verify: (State, SimulatedFileSystem) throws -> Void
  ) -> FailureReport {
    var report = FailureReport(seed: seed)
    attempt((kind, failure), program, verify, &report)
    return report
  }

  private func sweep<State>(
    _ kind: FailureKind, _ repeats: Bool, _ calls: [FileOperation: Int], _ random: inout SeededGenerator,
    _ program: (SimulatedFileSystem) throws -> State,
    _ verify: (State, SimulatedFileSystem) throws -> Void, _ report: inout FailureReport
  ) {
    let count = kind.operation.map { calls[$0] ?? 0 } ?? calls.values.reduce(0, +)
    var nth = 1
    // Threads of the program's own may make a call more in another run.
    while report.violation == nil {
      let isChosen = part >= 1 || Double.random(in: 0..<1, using: &random) < part
      if isChosen {
        let before = report.struckCount
        attempt((kind, kind.failure(nth: nth, repeats: repeats)), program, verify, &report)
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
    _ what: (kind: FailureKind, failure: InjectedFailure)?,
    _ program: (SimulatedFileSystem) throws -> State,
    _ verify: (State, SimulatedFileSystem) throws -> Void, _ report: inout FailureReport
  ) -> [FileOperation: Int] {
    let fileSystem = SimulatedFileSystem(capacityBytes: capacityBytes)
    if let what { fileSystem.inject(what.failure, strikesMax: failedCallsMax) }
    var calls: [FileOperation: Int] = [:]
    do {
      let state = try program(fileSystem)
      calls = fileSystem.callCounts
      if let what { report.note(what.kind, hasStruck: fileSystem.injectedFailureCount > 0) }
      guard fileSystem.injectedFailureCount < failedCallsMax else { throw Endless(calls: failedCallsMax) }
      fileSystem.removeInjectedFailures()
      try verify(state, fileSystem)
    } catch {
      report.violation = FailureViolation(
        reason: "\(error)", kind: what?.kind, failure: what?.failure, trace: fileSystem.journal.trace,
        seed: seed)
    }
    return calls
  }

  private struct Endless: Error, CustomStringConvertible {
    let calls: Int

    var description: String { "it went on after \(calls) calls had failed, as if to try for ever" }
  }
}

/// What a `FailureSweep` has tried and found.
public struct FailureReport: Sendable, CustomStringConvertible {
  /// The seed that chose the runs.
  public let seed: UInt64

  /// How many runs there were of each kind in which a call failed.
  public private(set) var runs: [FailureKind: Int] = [:]

  /// The first run that went wrong.
  public internal(set) var violation: FailureViolation?

  init(seed: UInt64) { self.seed = seed }

  /// How many runs there were in which a call failed.
  public var struckCount: Int { runs.values.reduce(0, +) }

  /// - Throws: The violation, if there is one.
  public func check() throws {
    if let violation { throw violation }
  }

  /// The counts, and the violation if there is one.
  public var description: String {
    let kinds = FailureKind.allCases.compactMap { kind in runs[kind].map { "\(kind.rawValue) \($0)" } }
    return """
      \(struckCount) runs in which a call failed (\(kinds.joined(separator: ", "))), PERDURE_SEED=\(seed)\
      \(violation.map { "\n\($0)" } ?? "")
      """
  }

  mutating func note(_ kind: FailureKind, hasStruck: Bool) {
    if hasStruck { runs[kind, default: 0] += 1 }
  }
}

/// A run in which a call failed, and the program or the check of it then.
public struct FailureViolation: Error, Sendable, CustomStringConvertible {
  /// What the program or the check has thrown.
  public let reason: String

  /// How the call failed; nil: no call failed.
  public let kind: FailureKind?

  /// Which call failed, and what it left behind; nil: no call failed.
  public let failure: InjectedFailure?

  /// The changes to the file system, in order.
  public let trace: [String]

  /// The seed of the sweep.
  public let seed: UInt64

  /// The reason, the failure, the last changes, and how to run it again.
  public var description: String {
    let what = failure.map { "\(kind?.rawValue ?? ""), \($0)" } ?? "without a failure"
    let lines = trace.suffix(60).map { "  \($0)\n" }.joined()
    return "\(what): \(reason)\n\(lines)To run it again: PERDURE_SEED=\(seed)\(once)"
  }

  /// The call that makes this run alone.
  private var once: String {
    guard let kind, let failure else { return "" }
    let arguments = "nth: \(failure.nth), repeats: \(failure.repeats)"
    return ", or alone: run(only: FailureKind.\(kind).failure(\(arguments)), .\(kind))"
  }
}
