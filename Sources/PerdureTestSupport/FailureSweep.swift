/// Fails every single call that a program makes to its file system, one run for each, in all the ways in which
/// systems fail.
///
///     let report = FailureSweep().run { fileSystem in
///       var acknowledged: [Int] = []
///       guard let store = try? MyStore(path: "/store", fileSystem: fileSystem) else { return acknowledged }
///       for step in 0..<10 {
///         do { try store.write(step) } catch is MyError { continue }
///         acknowledged.append(step)
///       }
///       return acknowledged
///     } verify: { acknowledged, fileSystem in
///       let store = try MyStore(path: "/store", fileSystem: fileSystem)
///       for step in acknowledged { try store.mustHave(step) }
///     }
///     try report.check()
///
/// The program goes on after errors as far as it may. It must do the same in each run until a call fails.
/// A program or a check that throws is a violation. The first run has no failure in it.
public struct FailureSweep: Sendable {
  /// How calls fail.
  public var kinds = FailureKind.allCases

  /// Which part of all runs is made: 1 is every call.
  public var part = 1.0

  /// Chooses the runs where `part` is less than 1.
  public var seed: UInt64

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
    precondition(part > 0, "A sweep tries something")
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
    if let what { fileSystem.inject(what.failure) }
    var calls: [FileOperation: Int] = [:]
    do {
      let state = try program(fileSystem)
      calls = fileSystem.callCounts
      if let what { report.note(what.kind, hasStruck: fileSystem.injectedFailureCount > 0) }
      fileSystem.removeInjectedFailures()
      try verify(state, fileSystem)
    } catch {
      report.violation = FailureViolation(
        reason: "\(error)", kind: what?.kind, failure: what?.failure, trace: fileSystem.journal.trace)
    }
    return calls
  }
}

/// What a `FailureSweep` has tried and found.
public struct FailureReport: Sendable {
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

  /// The reason, the failure, and the last changes.
  public var description: String {
    let what = failure.map { "\(kind?.rawValue ?? ""), \($0)" } ?? "without a failure"
    return "\(what): \(reason)\n" + trace.suffix(60).map { "  \($0)\n" }.joined()
  }
}
