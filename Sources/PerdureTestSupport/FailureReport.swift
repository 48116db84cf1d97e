/// The counts and the first violation of a sweep.
public struct FailureReport: Sendable, CustomStringConvertible {
  /// The name of the sweep.
  public let name: String

  /// The seed that chose the runs.
  public let seed: UInt64
  private let words: String

  /// Whether failed syncs reported success: `FailureSweep.hidesFailedSyncs`.
  public let hidesFailedSyncs: Bool

  /// The number of calls in the first run, which is the only run of `run(only:…)`.
  public private(set) var callCount = 0

  /// The number of runs in which a call failed, including the run with the violation.
  public private(set) var struckCount = 0

  /// The number of runs with a failed call for each kind. A run with an `InjectedFailure` that the
  /// caller passed is not counted.
  public private(set) var runs: [FailureKind: Int]

  /// The first violation.
  public internal(set) var violation: FailureViolation?

  private var isFirst = true

  init(_ sweep: FailureSweep, _ kinds: [FailureKind]) {
    (name, seed, words) = (sweep.name, sweep.seed, sweep.seedWords)
    hidesFailedSyncs = sweep.hidesFailedSyncs
    runs = Dictionary(kinds.map { ($0, 0) }, uniquingKeysWith: +)
  }

  /// Throws the violation, or an error if the suite tested less than it appears to test.
  ///
  /// - Parameter allowed: The mistakes that this suite makes on purpose.
  /// - Throws: `FailureViolation`, or `SuiteMistake`.
  public func check(allowing allowed: Set<SuiteMistake.Kind> = []) throws {
    // This check is first. If the program used another file system, the simulated disks do not have
    // its files, and a violation has no meaning.
    if callCount == 0, !allowed.contains(.noOperation) { throw SuiteMistake.noOperation }
    if let violation { throw violation }
    if let mistake = mistakes.first(where: { !allowed.contains($0.kind) }) { throw mistake }
  }

  /// The reason why a result without a violation proves little; empty if there is none.
  public var mistakes: [SuiteMistake] {
    if callCount == 0 { return [.noOperation] }
    guard struckCount == 0 else {
      return hidesFailedSyncs && violation == nil ? [.unnoticed("A hidden failure of a sync")] : []
    }
    let names = runs.keys.map(\.rawValue).sorted().joined(separator: ", ")
    let kinds = names.isEmpty ? "" : " (\(names))"
    return [
      SuiteMistake(
        .noFailure,
        """
        No call has failed. None of the \(callCount) calls of the program can have the requested failure\(kinds), or the \
        program makes fewer calls than the requested number, or FailureSweep.part is too small.
        """)
    ]
  }

  /// The counts, and the violation if there is one.
  public var description: String { "\(summary)\(violation.map { "\n\($0)" } ?? "")" }

  /// The counts, on one line.
  public var summary: String {
    let counts = FailureKind.allCases.compactMap { kind in runs[kind].map { "\(kind.rawValue) \($0)" } }
    let kinds = counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))"
    return """
      \(name): \(callCount) calls, \(struckCount) runs in which one failed\(kinds)\
      \(hidesFailedSyncs ? "; failed syncs reported success" : ""), \(words)
      """
  }

  mutating func note(_ strike: FailureStrike?, calls: [FileOperation: Int], hasStruck: Bool) {
    if isFirst { (callCount, isFirst) = (calls.values.reduce(0, +), false) }
    guard hasStruck else { return }
    struckCount += 1
    if let kind = strike?.kind { runs[kind, default: 0] += 1 }
  }
}
