import PerdureFileIO

/// Shows how far a campaign is, now and then, on its user's console; and notes its current step for
/// the process that watches it (`ProofDesk`).
package final class ProofProgress: Sendable {
  private struct State {
    var last: ContinuousClock.Instant?
    var count = 0
  }

  private let interval: Duration
  private let say: @Sendable (String) -> Void
  private let state = Guarded(State())
  private let desk: ProofDesk?

  /// - Parameters:
  ///   - interval: How long it stays silent at least.
  ///   - desk: The place that the watching process reads.
  package init(
    every interval: Duration = .seconds(10), desk: ProofDesk? = nil,
    _ say: @escaping @Sendable (String) -> Void
  ) {
    self.interval = interval
    self.desk = desk
    self.say = say
  }

  /// A silent progress.
  package static let silent = ProofProgress { _ in }

  /// Adds a number of finished cases. May be called from any thread, often.
  package func advance(_ count: Int = 1, of total: Int, _ what: String) {
    beat()
    let now = ContinuousClock.now
    let done: Int? = state.withLock { state in
      state.count += count
      guard let last = state.last else {
        state.last = now
        return nil
      }
      guard last.duration(to: now) >= interval else { return nil }
      state.last = now
      return state.count
    }
    if let done { say("\(what): \(done) of \(total)") }
  }

  /// Reports activity without a finished case: a silent process counts as hanging.
  package func beat() {
    desk?.beat()
  }

  /// A campaign begins to count anew.
  package func restart() { state.withLock { $0 = State() } }

  /// A place where one task notes its current step. Request one for each task, and not for each
  /// case.
  package func newNote() -> ProofNote { desk?.newNote() ?? ProofNote() }

  /// Runs `body`, and measures the maximum memory that the process takes meanwhile beyond its
  /// earlier memory. Nil if other work runs or the system does not report memory.
  package func measuringMemory<Result>(
    where isAlone: Bool, _ body: () async throws -> Result
  ) async rethrows -> (result: Result, worst: Int?) {
    guard isAlone, let watch = MemoryWatch() else { return (try await body(), nil) }
    let result = try await body()
    return (result, watch.worst)
  }
}
