/// The times of the steps, in order.
final class Stopwatch {
  private let clock = ContinuousClock()
  private var last: ContinuousClock.Instant
  private(set) var laps: [(name: String, seconds: Double)] = []

  init() { last = clock.now }

  /// Records the time since the last lap under a name.
  func lap(_ name: String) {
    let now = clock.now
    laps.append((name, (now - last) / .seconds(1)))
    last = now
  }
}
