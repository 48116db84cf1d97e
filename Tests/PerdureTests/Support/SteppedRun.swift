import PerdureTestSupport
import Testing

/// A run of random steps. Each step draws from its own generator, so a run can be repeated without
/// some of its steps.
protocol SteppedRun {
  /// The generator of the next step.
  var random: SeededGenerator { get set }
  /// Why the run has failed, with its steps; nil if it has not.
  var failure: String? { get }

  mutating func step() throws
}

/// Makes a run and its steps. If the run fails, records an issue with as few steps as still fail,
/// for whatever reason.
///
/// - Parameters:
///   - count: The number of steps.
///   - random: Draws the seeds of the run and of its steps.
///   - begin: Makes the run before its first step.
///   - finish: Called after the last step.
/// - Returns: Whether no step failed.
func expectSteps<Run: SteppedRun>(
  _ count: Int, _ random: inout SeededGenerator, begin: (SeededGenerator) throws -> Run,
  finish: (inout Run) throws -> Void = { _ in }
) throws -> Bool {
  let beginning = SeededGenerator(seed: random.next())
  let seeds = (0..<count).map { _ in random.next() }
  func failure(_ seeds: [UInt64]) throws -> String? {
    var run = try begin(beginning)
    for seed in seeds where run.failure == nil {
      run.random = SeededGenerator(seed: seed)
      try run.step()
    }
    try finish(&run)
    return run.failure
  }
  guard let whole = try failure(seeds) else { return true }
  var shrinker = Shrinker<UInt64>()
  shrinker.trialsMax = 600
  let result = try shrinker.shrink(seeds) { try failure($0) != nil }
  Issue.record("\(try failure(result.elements) ?? whole)")
  return false
}
