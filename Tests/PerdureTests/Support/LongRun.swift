import Foundation

/// How much random tests do: what takes a moment, or in a long run as many steps as `PERDURE_STEPS`
/// says.
enum LongRun {
  private static let steps = ProcessInfo.processInfo.environment["PERDURE_STEPS"].flatMap { Int($0) }

  /// Whether all is tried that a moment is too short for.
  static var isLong: Bool { steps != nil }

  /// How many worlds of so many steps each are tried.
  static func count(_ usual: Int, of stepCount: Int) -> Int {
    steps.map { max(1, $0 / stepCount) } ?? usual
  }
}
