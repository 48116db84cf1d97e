import PerdureFileIO

/// Says how far a campaign has come, now and then, on whatever its user looks at; and notes what it is at, where a
/// process that watches over it sees that it goes on (`ProofDesk`).
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
  ///   - desk: Where a process that watches looks.
  package init(
    every interval: Duration = .seconds(10), desk: ProofDesk? = nil,
    _ say: @escaping @Sendable (String) -> Void
  ) {
    self.interval = interval
    self.desk = desk
    self.say = say
  }

  /// One that says nothing.
  package static let silent = ProofProgress { _ in }

  /// Tells that so many more things have been tried. May be called from any thread, often.
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

  /// Tells that something goes on, although nothing has been tried: what says nothing for long is taken to hang.
  package func beat() {
    desk?.beat()
  }

  /// A campaign begins to count anew.
  package func restart() { state.withLock { $0 = State() } }

  /// A place where one task notes what it is at. Ask for one for each task, and not for each thing that it tries.
  package func newNote() -> ProofNote { desk?.newNote() ?? ProofNote() }

  /// Runs `body`, and measures the most memory that the process takes meanwhile beyond what it had before, where it does
  /// nothing else and the system tells: nil otherwise.
  package func measuringMemory<Result>(
    where isAlone: Bool, _ body: () async throws -> Result
  ) async rethrows -> (result: Result, worst: Int?) {
    guard isAlone, let watch = MemoryWatch() else { return (try await body(), nil) }
    let result = try await body()
    return (result, watch.worst)
  }
}
