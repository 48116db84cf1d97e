import PerdureFileIO

/// The length of random tests. The tests are longer if `PERDURE_STEPS` is set, as `make test-long`
/// does, and shorter in a debug build, which is several times slower. Each change is tested with
/// optimisation too. All lengths have the same assertions.
package enum LongRun {
  private static let steps = Environment.value(of: "PERDURE_STEPS").flatMap { Int($0) }

  /// Whether `PERDURE_STEPS` is set. If true, tests also run their long cases.
  package static var isLong: Bool { steps != nil }

  // A debug build runs one of `divisor` cases.
  #if DEBUG
    private static let divisor = 4
  #else
    private static let divisor = 1
  #endif

  /// Whether the tested code is optimised. If not, tests that take a minute without optimisation
  /// are skipped.
  package static var isOptimized: Bool { divisor == 1 }

  /// Returns `usual`, or `long` in a long run.
  package static func count(_ usual: Int, long: Int) -> Int { isLong ? long : usual }

  /// Returns the number of runs with `stepCount` steps each: `usual`, or in a long run the number
  /// of runs that together have about `PERDURE_STEPS` steps.
  package static func count(_ usual: Int, of stepCount: Int) -> Int {
    steps.map { max(1, $0 / stepCount) } ?? count(usual)
  }

  /// Returns `usual`, or a part of it in a debug build.
  package static func count(_ usual: Int) -> Int { max(1, usual / divisor) }

  /// Returns all cases, or a random part of them in a debug build.
  package static func cases<Case>(_ all: [Case], _ random: inout SeededGenerator) -> [Case] {
    isOptimized ? all : Array(all.shuffled(using: &random).prefix(count(all.count)))
  }
}
