/// The used units of an index file, one bit for each unit. The bits are in pages, which are
/// allocated only around used units.
struct SlotMap {
  let unitCount: Int
  private var words = PagedTable<UInt64>(0)

  init(unitCount: Int) { self.unitCount = unitCount }

  /// Claims a run of units. If one of the units is taken or outside the map, changes nothing and
  /// returns false.
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

  /// The number of taken units.
  var takenCount: Int { words.known.reduce(0) { $0 + $1.element.nonzeroBitCount } }

  func isTaken(_ unit: Int) -> Bool { words[unit >> 6] >> UInt64(unit & 63) & 1 == 1 }

  /// The runs of free units, each as long as possible.
  ///
  /// - Complexity: O(n) for n units in pages that contain a taken unit.
  func freeRuns() -> [FreedSlot] {
    var runs: [FreedSlot] = []
    // The start of the current free run, which ends at the next taken unit.
    var start = 0
    func close(at end: Int) {
      guard end > start else { return }
      runs.append(FreedSlot(slot: NodeSlot(number: UInt32(start)), unitCount: end - start))
    }
    for (number, word) in words.known {
      var taken = word
      while taken != 0 {
        let unit = number << 6 + taken.trailingZeroBitCount
        close(at: unit)
        start = unit + 1
        taken &= taken - 1
      }
    }
    close(at: unitCount)
    return runs
  }
}
