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
    let end = start + count
    for word in (start >> 6)..<((end + 63) >> 6) where words[word] & Self.mask(word, start, end) != 0 {
      return false
    }
    for word in (start >> 6)..<((end + 63) >> 6) { words[word] |= Self.mask(word, start, end) }
    return true
  }

  /// The bits of a word that belong to units from `start` up to `end`.
  private static func mask(_ word: Int, _ start: Int, _ end: Int) -> UInt64 {
    let low = max(start - word << 6, 0)
    let high = min(end - word << 6, 64)
    guard low < high else { return 0 }
    return (~0 >> UInt64(64 - (high - low))) << UInt64(low)
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
