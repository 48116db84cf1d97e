/// Which units of an index file are taken: a bit for each.
struct SlotMap {
  let unitCount: Int
  private var words: [UInt64]

  init(unitCount: Int) {
    self.unitCount = unitCount
    words = [UInt64](repeating: 0, count: (unitCount + 63) / 64)
  }

  /// Takes a run of units; false, and no change, if one of them is taken or not there.
  mutating func claim(_ slot: NodeSlot, unitCount count: Int) -> Bool {
    let start = Int(slot.number)
    guard count >= 0, start + count <= unitCount else { return false }
    for unit in start..<(start + count) where isTaken(unit) { return false }
    for unit in start..<(start + count) { words[unit >> 6] |= 1 << UInt64(unit & 63) }
    return true
  }

  /// How many units are taken.
  var takenCount: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

  func isTaken(_ unit: Int) -> Bool { words[unit >> 6] >> UInt64(unit & 63) & 1 == 1 }

  /// The longest runs of units that nothing took.
  func freeRuns() -> [FreedSlot] {
    var runs: [FreedSlot] = []
    var start: Int?
    for unit in 0...unitCount {
      let isFree = unit < unitCount && !isTaken(unit)
      if isFree, start == nil { start = unit }
      if !isFree, let first = start {
        runs.append(FreedSlot(slot: NodeSlot(number: UInt32(first)), unitCount: unit - first))
        start = nil
      }
    }
    return runs
  }
}
