import Foundation

/// How much random tests do: what takes a moment, or in a long run as many steps as `PERDURE_STEPS` says.
enum LongRun {
  /// How many worlds of so many steps each are tried.
  static func count(_ usual: Int, of stepCount: Int) -> Int {
    guard let steps = ProcessInfo.processInfo.environment["PERDURE_STEPS"].flatMap({ Int($0) }) else {
      return usual
    }
    return max(1, steps / stepCount)
  }
}
