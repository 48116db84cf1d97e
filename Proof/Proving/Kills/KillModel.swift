import PerdureTestSupport

/// The writes of a child process, step by step. They depend only on the seed. So the number of the
/// last step determines the required content of the store.
struct KillModel {
  /// The id of the row that holds the number of the last step and the sum of all rows.
  static let head: UInt64 = 1

  private let seed: UInt64
  /// The step that wrote each present row.
  private(set) var steps: [UInt64: UInt64] = [:]
  private(set) var count: UInt64 = 0
  private(set) var sum: UInt64 = 0

  init(seed: UInt64) { self.seed = seed }

  /// Makes the next step, and returns its changes with the new content of the head. If `value` is
  /// nil, the row is removed.
  mutating func advance() -> [(id: UInt64, value: [UInt8]?)] {
    count += 1
    var random = SeededGenerator(seed: seed).derived(count)
    var changed: Set<UInt64> = []
    var changes: [(id: UInt64, value: [UInt8]?)] = []
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let id = UInt64.random(in: 10..<210, using: &random)
      guard changed.insert(id).inserted else { continue }
      let isRemoved = random.chance(15)
      set(id, isRemoved ? nil : count)
      changes.append((id, isRemoved ? nil : Self.value(id, count)))
    }
    changes.append((Self.head, Self.bytes(count, sum)))
    return changes
  }

  private mutating func set(_ id: UInt64, _ step: UInt64?) {
    if let old = steps[id] { sum ^= Self.mixed(id, old) }
    steps[id] = step
    if let step { sum ^= Self.mixed(id, step) }
  }

  /// Makes the model from the content of a store. Returns nil if no number of steps results in this
  /// content.
  init?(seed: UInt64, reading rows: [UInt64: [UInt8]]) {
    self.init(seed: seed)
    for (id, value) in rows where id != Self.head {
      guard value.count >= 16 else { return nil }
      let step = Self.integer(value)
      guard value == Self.value(id, step) else { return nil }
      set(id, step)
    }
    guard let head = rows[Self.head] else {
      if rows.isEmpty { return }
      return nil
    }
    count = Self.integer(head)
    guard head == Self.bytes(count, sum) else { return nil }
  }

  /// A value: the step, the id, and a number of further bytes. Long values have their own files.
  private static func value(_ id: UInt64, _ step: UInt64) -> [UInt8] {
    var random = SeededGenerator(seed: mixed(id, step))
    let length = random.chance(4) ? Int.random(in: 1100...4000, using: &random) : Int(random.next() % 300)
    return bytes(step, id) + [UInt8](repeating: UInt8(truncatingIfNeeded: step), count: length)
  }

  static func bytes(_ first: UInt64, _ second: UInt64) -> [UInt8] {
    withUnsafeBytes(of: (first.bigEndian, second.bigEndian)) { Array($0) }
  }

  static func integer(_ bytes: [UInt8]) -> UInt64 { bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

  private static func mixed(_ id: UInt64, _ step: UInt64) -> UInt64 {
    var random = SeededGenerator(seed: id).derived(step)
    return random.next()
  }
}
