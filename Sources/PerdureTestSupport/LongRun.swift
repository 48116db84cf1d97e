import PerdureFileIO

/// The length of random tests. The tests are longer if `PERDURE_STEPS` is set, as `make test-long`
/// does. They assert the same in both cases.
package enum LongRun {
  private static let steps = Environment.value(of: "PERDURE_STEPS").flatMap { Int($0) }

  /// Whether `PERDURE_STEPS` is set. If true, tests also run their long cases.
  package static var isLong: Bool { steps != nil }

  /// Returns `usual`, or `long` in a long run.
  package static func count(_ usual: Int, long: Int) -> Int { isLong ? long : usual }

  /// Returns the number of runs with `stepCount` steps each: `usual`, or in a long run the number
  /// of runs that together have about `PERDURE_STEPS` steps. A debug build makes half as many usual
  /// runs: it is several times slower, and each change is also tested with optimisation.
  package static func count(_ usual: Int, of stepCount: Int) -> Int {
    #if DEBUG
      let usual = max(1, usual / 2)
    #endif
    return steps.map { max(1, $0 / stepCount) } ?? usual
  }
}
