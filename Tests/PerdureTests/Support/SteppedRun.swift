import PerdureTestSupport
import Testing

/// A run of random steps. Each step draws from its own generator, so a run can be repeated without
/// some of its steps.
protocol SteppedRun {
  /// The generator of the next step.
  var random: SeededGenerator { get set }
  /// The first check that has failed; nil if none has.
  var failure: StepFailure? { get }

  mutating func step() throws
}

/// A failed check of a run.
struct StepFailure {
  /// The line of the check in its file. It identifies the check in repetitions of the run.
  let line: UInt
  /// What is wrong, and the steps of the run.
  let text: String

  init(_ what: String, after steps: [String], line: UInt) {
    self.line = line
    text = "\(what)\n\(steps.joined(separator: "\n"))"
  }
}

/// Makes a run and its steps. If a check fails, records an issue with as few steps as still make
/// that check fail.
///
/// - Parameters:
///   - count: The number of steps.
///   - random: Draws the seeds of the run and of its steps.
///   - begin: Makes the run before its first step.
///   - finish: Called after the last step.
/// - Returns: Whether no check failed.
func expectSteps<Run: SteppedRun>(
  _ count: Int, _ random: inout SeededGenerator, begin: (SeededGenerator) throws -> Run,
  finish: (inout Run) throws -> Void = { _ in }
) throws -> Bool {
  let beginning = SeededGenerator(seed: random.next())
  let seeds = (0..<count).map { _ in random.next() }
  func failure(_ seeds: [UInt64]) throws -> StepFailure? {
    var run = try begin(beginning)
    for seed in seeds where run.failure == nil {
      run.random = SeededGenerator(seed: seed)
      try run.step()
    }
    try finish(&run)
    return run.failure
  }
  guard var shortest = try failure(seeds) else { return true }
  var shrinker = Shrinker<UInt64>()
  shrinker.trialsMax = 600
  let result = try shrinker.shrink(seeds) { seeds in
    guard let found = try failure(seeds), found.line == shortest.line else { return false }
    shortest = found
    return true
  }
  Issue.record("\(shortest.text)\(result.isConfirmed ? "" : "\nA repetition of these steps does not fail.")")
  return false
}
