import Foundation

/// A random sequence that can be run again: the seed comes from PERDURE_SEED or the clock.
struct SeededGenerator: RandomNumberGenerator {
  let seed: UInt64
  private var state: UInt64

  init() {
    let given = ProcessInfo.processInfo.environment["PERDURE_SEED"].flatMap { UInt64($0) }
    self.init(seed: given ?? UInt64.random(in: 0...UInt64.max))
    print("seed: PERDURE_SEED=\(seed)")
  }

  init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

extension SeededGenerator {
  mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &self) < percent
  }

  mutating func pick<Elements: Collection>(_ elements: Elements) -> Elements.Element {
    elements.randomElement(using: &self)!
  }
}
