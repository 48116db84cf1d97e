import PerdureFileIO

/// Says how far a campaign has come, now and then, on whatever its user looks at.
package final class ProofProgress: Sendable {
  private struct State {
    var last: ContinuousClock.Instant?
    var count = 0
  }

  private let interval: Duration
  private let say: @Sendable (String) -> Void
  private let state = Guarded(State())

  /// - Parameter interval: How long it stays silent at least.
  package init(every interval: Duration = .seconds(10), _ say: @escaping @Sendable (String) -> Void) {
    self.interval = interval
    self.say = say
  }

  /// One that says nothing.
  package static let silent = ProofProgress { _ in }

  /// Tells that so many more things have been tried. May be called from any thread, often.
  package func advance(_ count: Int = 1, of total: Int, _ what: String) {
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

  /// A campaign begins to count anew.
  package func restart() { state.withLock { $0 = State() } }
}
