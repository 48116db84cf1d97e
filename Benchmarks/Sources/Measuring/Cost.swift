import Foundation

/// The cost of a step: elapsed time, and processor time of the whole process. A busy machine
/// affects processor time less.
package struct Cost {
  package var seconds = 0.0
  package var processorSeconds = 0.0

  package init(seconds: Double = 0, processorSeconds: Double = 0) {
    (self.seconds, self.processorSeconds) = (seconds, processorSeconds)
  }

  package static func + (first: Cost, second: Cost) -> Cost {
    Cost(
      seconds: first.seconds + second.seconds,
      processorSeconds: first.processorSeconds + second.processorSeconds)
  }

  package static func += (total: inout Cost, more: Cost) { total = total + more }

  /// The median of each figure. For an even number of costs, it is the mean of the middle two; zero
  /// if there are none.
  package static func median(of costs: [Cost]) -> Cost {
    Cost(
      seconds: median(of: costs.map(\.seconds)), processorSeconds: median(of: costs.map(\.processorSeconds)))
  }

  private static func median(of figures: [Double]) -> Double {
    guard !figures.isEmpty else { return 0 }
    let sorted = figures.sorted()
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  /// Runs `body` and measures it.
  package static func measured<Value>(_ body: () throws -> Value) rethrows -> (value: Value, cost: Cost) {
    let clock = ContinuousClock()
    let start = clock.now
    let processorStart = processorTime
    let value = try body()
    let cost = Cost(
      seconds: (clock.now - start) / .seconds(1), processorSeconds: processorTime - processorStart)
    return (value, cost)
  }

  package static func of(_ body: () throws -> Void) rethrows -> Cost { try measured(body).cost }

  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
