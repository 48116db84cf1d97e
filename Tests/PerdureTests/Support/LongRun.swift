import Foundation

/// The number of steps of random tests: a few, or about as many as `PERDURE_STEPS` says.
enum LongRun {
  private static let steps = ProcessInfo.processInfo.environment["PERDURE_STEPS"].flatMap { Int($0) }

  /// Whether `PERDURE_STEPS` is set. Then tests also run their long cases.
  static var isLong: Bool { steps != nil }

  /// Returns the number of runs with `stepCount` steps each: `usual`, unless `PERDURE_STEPS` is
  /// set.
  static func count(_ usual: Int, of stepCount: Int) -> Int {
    steps.map { max(1, $0 / stepCount) } ?? usual
  }
}
