/// Pseudorandom numbers that are the same in each run.
struct Scramble: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.finish(state)
  }

  /// A bijection of 64-bit numbers without a visible pattern.
  static func mix(_ number: UInt64) -> UInt64 { finish(number &+ 0x9E37_79B9_7F4A_7C15) }

  private static func finish(_ number: UInt64) -> UInt64 {
    var z = number
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// The numbers below `count` in random order, each once.
  static func permutation(of count: Int, seed: UInt64) -> [UInt32] {
    var generator = Scramble(seed: seed)
    return (0..<UInt32(count)).shuffled(using: &generator)
  }
}
