import Foundation

/// Waits for the background work of the previous step, such as writing an index or compacting.
package enum Idle {
  /// The length of an interval in which the process must be idle.
  private static let interval = 0.02

  /// Waits until the processor time of the process is less than a twentieth of each of three
  /// consecutive intervals, at most 20 seconds.
  package static func wait() {
    var idleCount = 0
    for _ in 0..<Int(20 / interval) {
      let cost = Cost.of { Thread.sleep(forTimeInterval: interval) }
      idleCount = cost.processorSeconds < cost.seconds / 20 ? idleCount + 1 : 0
      if idleCount == 3 { return }
    }
  }
}
