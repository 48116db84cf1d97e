import PerdureFileIO

// A printed seed is useful only with the place to set it. `PERDURE_SEED` is right for a seed that
// was read from it, or was generated because it was not set. A program that passes its own seed
// must set the seed in its code.

/// How a run is done again, by the seed that it had.
enum SeedWords {
  /// The seeds that replace `PERDURE_SEED`: at most one for each call that requested one.
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
  ///
  /// - Parameter name: That of the function that is the test, as `#function` gives it; of another
  ///   text all tests are run.
  static func again(_ words: String, _ name: String) -> String {
    let function = name.prefix { $0 != "(" }
    let isFunction = name.hasSuffix(")") && function.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    let test = isFunction && !function.isEmpty ? "swift test --filter \(function)" : "swift test"
    return words.hasPrefix("PERDURE_SEED") ? "\(words) \(test)" : "\(test), which has \(words)"
  }
}
