import PerdureFileIO

/// A random generator that returns the same numbers for the same seed, on every machine.
///
/// A random test prints its seed and reads it from the environment, so that a failure can be
/// repeated:
///
///     var random = SeededGenerator.forTest("deleting in any order")
///
/// Do not use it for secrets. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  /// The seed of this generator.
  public let seed: UInt64

  /// The seed of the first generator that this one is derived from; its own seed if it is not
  /// derived. Print it to repeat the whole run.
  public let origin: UInt64

  private var state: UInt64

  /// Makes a generator for the sequence of `seed`.
  public init(seed: UInt64) { self.init(seed: seed, origin: seed) }

  private init(seed: UInt64, origin: UInt64) {
    (self.seed, self.origin) = (seed, origin)
    state = seed
  }

  /// The next 64 bits. O(1).
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mixed(state)
  }

  /// A generator for part `index` of a run, so that one part can be repeated without the others.
  public func derived(_ index: UInt64) -> SeededGenerator {
    SeededGenerator(seed: Self.mixed(seed ^ Self.mixed(index &+ 0x9E37_79B9_7F4A_7C15)), origin: origin)
  }

  /// A generator for a part with a name, independent of other parts. It uses FNV-1a, because a hash
  /// of the standard library differs between processes.
  package func derived(_ name: String) -> SeededGenerator {
    derived(name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
  }

  /// The seed in `PERDURE_SEED`, decimal or hexadecimal with `0x`. If the variable is not set, a
  /// new seed. The new seed is the same for the whole process, so one printed seed repeats all
  /// explorers and sweeps. A text that is not a number stops the program.
  public static func seedFromEnvironment() -> UInt64 {
    let text = Environment.value(of: "PERDURE_SEED")
    guard let seed = text.map(seed(from:)) ?? seedOfProcess else {
      preconditionFailure(
        "PERDURE_SEED=\(text ?? "") is not a number, neither decimal nor hexadecimal with 0x")
    }
    SeedWords.noteEnvironment(seed)
    return seed
  }

  /// The seed for all requests without `PERDURE_SEED`.
  private static let seedOfProcess = UInt64.random(in: 0 ... .max)

  /// Parses a value of `PERDURE_SEED`; nil if the text is not a number.
  package static func seed(from text: String) -> UInt64? {
    let isHexadecimal = text.hasPrefix("0x")
    return UInt64(isHexadecimal ? text.dropFirst(2) : Substring(text), radix: isHexadecimal ? 16 : 10)
  }

  /// A generator for a test, with the seed in `PERDURE_SEED` or a new one. Prints the seed with the
  /// test's `name`.
  public static func forTest(_ name: String) -> SeededGenerator {
    let seed = seedFromEnvironment()
    // Printed before all other work, so that the seed is known after any failure.
    print("PERDURE_SEED=\(seed) (\(name))")
    return SeededGenerator(seed: seed)
  }

  /// True in `percent` of a hundred cases, on average.
  public mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  /// A random element of a collection that is not empty.
  public mutating func pick<C: Collection>(_ elements: C) -> C.Element {
    precondition(!elements.isEmpty, "The collection to choose from is empty.")
    return elements[
      elements.index(elements.startIndex, offsetBy: Int.random(in: 0..<elements.count, using: &self))]
  }

  private static func mixed(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
