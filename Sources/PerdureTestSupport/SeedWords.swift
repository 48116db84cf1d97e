import PerdureFileIO

// A printed seed is useful only if the reader knows how to set it. If the seed was read from
// `PERDURE_SEED`, or generated because the variable was not set, the reader sets the variable. If
// the program passes a seed, the reader changes its code.

/// Describes how to repeat a run with its seed.
enum SeedWords {
  /// The seeds that `PERDURE_SEED` can set: those that `seedFromEnvironment` returned.
  private static let ofEnvironment = Guarded<Set<UInt64>>([])

  static func noteEnvironment(_ seed: UInt64) {
    _ = ofEnvironment.withLock { $0.insert(seed) }
  }

  /// The code or the setting that produces the same seed.
  ///
  /// - Parameters:
  ///   - origin: The seed of the generator that produced the seed; nil if no generator did.
  ///   - type: The type that takes the seed.
  static func words(_ seed: UInt64, origin: UInt64?, _ type: String) -> String {
    let first = origin ?? seed
    if ofEnvironment.withLock({ $0.contains(first) }) { return "PERDURE_SEED=\(first)" }
    return origin == nil ? "\(type)(seed: \(seed))" : "SeededGenerator(seed: \(first))"
  }

  /// The command that runs the test again with `words`.
  ///
  /// - Parameter name: The name of the test's function, as `#function` returns it. For any other
  ///   text, the command runs all tests.
  static func again(_ words: String, _ name: String) -> String {
    let function = name.prefix { $0 != "(" }
    let isFunction = name.hasSuffix(")") && function.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    let test = isFunction && !function.isEmpty ? "swift test --filter \(function)" : "swift test"
    return words.hasPrefix("PERDURE_SEED") ? "\(words) \(test)" : "\(test), which has \(words)"
  }
}
