/// The used units of an index file: a bit for each, in pages that take memory only around used
/// units.
struct SlotMap {
  let unitCount: Int
  private var words = PagedTable<UInt64>(0)

  init(unitCount: Int) { self.unitCount = unitCount }

  /// Claims a run of units. Returns false, without a change, if one of them is taken or outside the
  /// map.
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
  var takenCount: Int { words.known.reduce(0) { $0 + $1.element.nonzeroBitCount } }

  func isTaken(_ unit: Int) -> Bool { words[unit >> 6] >> UInt64(unit & 63) & 1 == 1 }

  /// The longest runs of units that nothing took.
  ///
  /// - Complexity: O(n) for n units in pages where something is taken.
  func freeRuns() -> [FreedSlot] {
    var runs: [FreedSlot] = []
    // The start of the free run that the next taken unit ends.
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
