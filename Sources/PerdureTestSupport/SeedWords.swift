import PerdureFileIO

// A seed is worth printing only with the place where it goes. `PERDURE_SEED` is right for a seed that came from there, or
// that was made because the variable was not set; whoever passes a seed of his own has to look into his code.

/// How a run is done again, by the seed that it had.
enum SeedWords {
  /// The seeds that stand for `PERDURE_SEED`: at most one for each call that asked for one.
  private static let ofEnvironment = Guarded<Set<UInt64>>([])

  static func noteEnvironment(_ seed: UInt64) {
    _ = ofEnvironment.withLock { $0.insert(seed) }
  }

  /// What gives the same seed again.
  ///
  /// - Parameters:
  ///   - origin: The seed of the generator that the seed is from; nil: it is from none.
  ///   - type: What takes the seed.
  static func words(_ seed: UInt64, origin: UInt64?, _ type: String) -> String {
    let first = origin ?? seed
    if ofEnvironment.withLock({ $0.contains(first) }) { return "PERDURE_SEED=\(first)" }
    return origin == nil ? "\(type)(seed: \(seed))" : "SeededGenerator(seed: \(first))"
  }

  /// How to run the test again, after `words`.
  static func again(_ words: String) -> String {
    words.hasPrefix("PERDURE_SEED")
      ? "\(words) swift test --filter (this test)"
      : "swift test --filter (this test), which has \(words)"
  }
}
