// The new positions of the records of a rewritten segment. FORMAT.md, "The map".
//
// A segment is rewritten by leaving units of 8 bytes out. The map has a bit for each unit that the
// segment had originally, set for the kept units. Kept units stay in order, so a unit is now after
// the header and all kept units before it. To count those with one access to memory, bits and
// counts share a cache line:
//
//     line:  u64 rank | 7 x u64 bits           64 bytes for 448 units, 3,584 bytes of the segment
//
// `rank` counts the kept units of all lines before. Lines after the last kept unit are left out.
//
// Invariants
//  OM1  A record's first unit is kept if and only if all of its units are. An address whose first
//       unit is not kept is dead.
//  OM2  physicalOffset and originalOffset are inverse to each other over the kept units, and
//       monotone.
//  OM3  A segment that is rewritten again gets a map from its first offsets to its newest ones:
//       maps are never applied one after another.

/// The map of a rewritten segment, over the bytes of its lines.
@usableFromInline package struct OffsetMap: Sendable {
  /// Bytes of a line.
  @inlinable package static var lineLength: Int { 64 }
  /// The number of units in a line.
  @inlinable package static var unitsALine: Int { 448 }

  // Unsafe: the creator of the map keeps the bytes alive and unchanged.
  @usableFromInline nonisolated(unsafe) let lines: UnsafeRawPointer
  @usableFromInline package let lineCount: Int

  /// - Parameter bytes: Whole lines, as a builder made them. For other bytes the offsets are wrong,
  ///   but nothing else happens.
  package init(lines bytes: UnsafeRawBufferPointer) {
    lineCount = bytes.count / Self.lineLength
    lines = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 64).unsafelyUnwrapped
  }

  /// The present position of the unit that was originally at `original`; nil when it was removed.
  ///
  /// - Parameter original: A multiple of 8, not below the length of a segment header.
  @inlinable package func physicalOffset(of original: Int) -> Int? {
    let unit = (original &- SegmentHeader.length) &>> 3
    let line = unit / Self.unitsALine
    guard unit >= 0, line < lineCount else { return nil }
    let bit = unit &- line &* Self.unitsALine
    let base = lines + line &* Self.lineLength
    let word = bit &>> 6
    let bits: UInt64 = base.integer(at: 8 &+ 8 &* word)
    let mask: UInt64 = 1 &<< UInt64(truncatingIfNeeded: bit & 63)
    guard bits & mask != 0 else { return nil }
    var rank: UInt64 = base.integer(at: 0)
    for before in 0..<word {
      rank &+= UInt64((base.integer(at: 8 &+ 8 &* before) as UInt64).nonzeroBitCount)
    }
    rank &+= UInt64((bits & (mask &- 1)).nonzeroBitCount)
    // A damaged rank stays a number that a caller can compare with an end.
    return SegmentHeader.length &+ Int(truncatingIfNeeded: (rank & 0xFFFF_FFFF) &* 8)
  }

  /// The original position of the unit at `physical`; nil after the last one.
  ///
  /// - Complexity: O(log n) for n lines.
  package func originalOffset(of physical: Int) -> Int? {
    let wanted = UInt64((physical - SegmentHeader.length) / 8)
    guard let line = lastLine(withRankUpTo: wanted) else { return nil }
    let base = lines + line * Self.lineLength
    var rest = wanted - base.integer(at: 0, as: UInt64.self)
    for word in 0..<7 {
      let bits: UInt64 = base.integer(at: 8 + 8 * word)
      let count = UInt64(bits.nonzeroBitCount)
      if rest < count {
        let unit = line * Self.unitsALine + 64 * word + bits.indexOfSetBit(Int(rest))
        return SegmentHeader.length + 8 * unit
      }
      rest -= count
    }
    return nil
  }

  private func lastLine(withRankUpTo wanted: UInt64) -> Int? {
    var (low, high) = (0, lineCount)
    while low < high {
      let middle = (low + high) / 2
      if (lines + middle * Self.lineLength).integer(at: 0, as: UInt64.self) <= wanted {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low == 0 ? nil : low - 1
  }

  /// How many units are kept, if every rank is what the bits before it say.
  package func verifiedUnitCount() throws(FormatError) -> Int {
    var rank: UInt64 = 0
    for line in 0..<lineCount {
      let base = lines + line * Self.lineLength
      guard base.integer(at: 0, as: UInt64.self) == rank else {
        throw FormatError(.illegalField, in: "offset map", at: line * Self.lineLength)
      }
      for word in 0..<7 {
        rank += UInt64((base.integer(at: 8 + 8 * word) as UInt64).nonzeroBitCount)
      }
    }
    return Int(rank)
  }
}

extension UInt64 {
  /// The position of the set bit with `rank` set bits below it.
  fileprivate func indexOfSetBit(_ rank: Int) -> Int {
    var bits = self
    for _ in 0..<rank { bits &= bits &- 1 }
    return bits.trailingZeroBitCount
  }
}

/// Collects the kept units of a segment.
package struct OffsetMapBuilder: Sendable {
  /// Lines as they are in the file, ranks still missing.
  private var words: [UInt64]

  /// - Parameter originalEnd: Where the frames of the segment ended when it was first written.
  package init(originalEnd: Int) {
    let units = max(0, (originalEnd - SegmentHeader.length) / 8)
    let lines = (units + OffsetMap.unitsALine - 1) / OffsetMap.unitsALine
    words = [UInt64](repeating: 0, count: 8 * lines)
  }

  /// Keeps the units from `original` on, a multiple of 8 as `length` is.
  package mutating func keep(_ original: Int, length: Int) {
    let first = (original - SegmentHeader.length) / 8
    for unit in first..<(first + length / 8) {
      words[Self.word(of: unit)] |= Self.mask(of: unit).littleEndian
    }
  }

  /// Whether the unit at `original` is kept.
  package func keeps(_ original: Int) -> Bool {
    let unit = (original - SegmentHeader.length) / 8
    let word = Self.word(of: unit)
    // Lines after the last kept unit may be missing.
    guard word < words.count else { return false }
    let bits = UInt64(littleEndian: words[word])
    return bits & Self.mask(of: unit) != 0
  }

  private static func mask(of unit: Int) -> UInt64 {
    (1 as UInt64) << UInt64(unit % OffsetMap.unitsALine % 64)
  }

  private static func word(of unit: Int) -> Int {
    8 * (unit / OffsetMap.unitsALine) + 1 + unit % OffsetMap.unitsALine / 64
  }

  /// Fills in the ranks and drops lines behind the last kept unit.
  ///
  /// - Returns: How many units are kept.
  package mutating func finish() -> Int {
    while let last = words.indices.last, words[(last - 7)...].allSatisfy({ $0 == 0 }) { words.removeLast(8) }
    var rank: UInt64 = 0
    for line in stride(from: 0, to: words.count, by: 8) {
      words[line] = rank.littleEndian
      for word in (line + 1)..<(line + 8) { rank += UInt64(words[word].nonzeroBitCount) }
    }
    return Int(rank)
  }

  /// The lines, to be written as they are after `finish()`.
  package func withLines<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try words.withUnsafeBytes { try body($0) }
  }
}
