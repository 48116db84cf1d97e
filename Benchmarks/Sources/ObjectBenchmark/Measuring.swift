import CAllocation
import Foundation
import Measuring

enum Measuring {
  /// Measures `plain` and `perdure`. Each result is the median of the rounds. It is the processor
  /// time of this thread for one of `count` steps, in nanoseconds. The two alternate, because the
  /// speed of the machine varies.
  static func pair(
    _ name: String, count: Int, rounds: Int, within: Double? = nil, plain: () -> Void, perdure: () -> Void
  ) -> ObjectFigure {
    plain()
    perdure()
    var costs: (plain: [Double], perdure: [Double]) = ([], [])
    for _ in 0..<rounds {
      costs.plain.append(nanoseconds(plain) / Double(count))
      costs.perdure.append(nanoseconds(perdure) / Double(count))
    }
    let (first, second) = (median(costs.plain), median(costs.perdure))
    return ObjectFigure(
      name: name, unit: "ns", plain: rounded(first), perdure: rounded(second),
      limit: within.map { rounded(first + $0) })
  }

  static func nanoseconds(_ body: () -> Void) -> Double {
    let start = processorTime
    body()
    return (processorTime - start) * 1e9
  }

  static func median(_ figures: [Double]) -> Double {
    let sorted = figures.sorted()
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  static func rounded(_ figure: Double) -> Double { (figure * 100).rounded() / 100 }

  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The allocated bytes, including the allocator's headers; nil if the allocator does not report
  /// them.
  static var allocatedBytes: Int? {
    let bytes = Int(allocated_bytes())
    return bytes > 0 ? bytes : nil
  }
}

/// Prevents the optimizer from removing a value.
@inline(never)
@_optimize(none)
func keep<T>(_ value: T) {}
