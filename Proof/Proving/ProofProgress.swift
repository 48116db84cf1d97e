import PerdureFileIO

/// Reports the progress of a campaign at intervals. It also notes the current step for the process
/// that watches the campaign (`ProofDesk`).
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
  ///   - interval: The minimum time between two reports.
  ///   - desk: The page that the watching process reads.
  package init(
    every interval: Duration = .seconds(10), desk: ProofDesk? = nil,
    _ say: @escaping @Sendable (String) -> Void
  ) {
    self.interval = interval
    self.desk = desk
    self.say = say
  }

  /// A progress that reports nothing.
  package static let silent = ProofProgress { _ in }

  /// Adds a number of finished cases. May be called often, and from any thread.
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

  /// Reports activity without a finished case. A process that reports nothing is treated as
  /// hanging.
  package func beat() {
    desk?.beat()
  }

  /// Resets the count, before another part of a campaign begins.
  package func restart() { state.withLock { $0 = State() } }

  /// Returns a note for the current step of one task. A task requests one note, and uses it for all
  /// its cases.
  package func newNote() -> ProofNote { desk?.newNote() ?? ProofNote() }

  /// Runs `body`, and measures the greatest increase of the process's memory during it. The
  /// measurement is nil if other work runs, or if the system does not report memory.
  package func measuringMemory<Result>(
    where isAlone: Bool, _ body: () async throws -> Result
  ) async rethrows -> (result: Result, worst: Int?) {
    guard isAlone, let watch = MemoryWatch() else { return (try await body(), nil) }
    let result = try await body()
    return (result, watch.worst)
  }
}
