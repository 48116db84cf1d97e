// The new positions of the records of a rewritten segment. FORMAT.md, "The map".
//
// Rewriting a segment removes units of 8 bytes. The map has one bit for each unit of the original
// segment. The bits of kept units are set. Kept units stay in order, so the current offset of a
// unit follows from the number of kept units before it. The bits and the counts share a cache line,
// so one memory access is enough to compute that number:
//
//     line:  u64 rank | 7 x u64 bits           64 bytes for 448 units, 3,584 bytes of the segment
//
// `rank` is the number of kept units in all previous lines. Lines after the last kept unit are
// omitted.
//
// Invariants
//   OM1  A record's first unit is kept if and only if all of its units are kept. An address whose
//        first unit is not kept is dead.
//   OM2  For kept units, physicalOffset and originalOffset are monotone and inverse functions.
//   OM3  A segment that is rewritten again gets a map from its original offsets to its newest
//        offsets. So maps are never composed.

/// The offset map of a rewritten segment. It reads its lines in place, without a copy.
@usableFromInline package struct OffsetMap: Sendable {
  /// The length of a line in bytes.
  @inlinable package static var lineLength: Int { 64 }
  /// The number of units in a line.
  @inlinable package static var unitsALine: Int { 448 }

  // `nonisolated(unsafe)` is correct here: the creator of the map retains the bytes, and does not
  // change them.
  @usableFromInline nonisolated(unsafe) let lines: UnsafeRawPointer
  @usableFromInline package let lineCount: Int

  /// - Parameter bytes: Complete lines from an `OffsetMapBuilder`. Other bytes give wrong offsets,
  ///   but are safe to use.
  package init(lines bytes: UnsafeRawBufferPointer) {
    lineCount = bytes.count / Self.lineLength
    lines = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 64).unsafelyUnwrapped
  }

  /// The current offset of the unit whose original offset was `original`; nil if it was removed.
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
    // Limit a damaged rank, so that the caller can compare the offset with the end without
    // overflow.
    return SegmentHeader.length &+ Int(truncatingIfNeeded: (rank & 0xFFFF_FFFF) &* 8)
  }

  /// The original offset of the unit at `physical`; nil after the last unit.
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

  /// The number of kept units. Throws unless every rank matches the bits before it.
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
  /// The position of the set bit that has `rank` set bits below it.
  fileprivate func indexOfSetBit(_ rank: Int) -> Int {
    var bits = self
    for _ in 0..<rank { bits &= bits &- 1 }
    return bits.trailingZeroBitCount
  }
}

/// Builds an offset map from the kept units of a segment.
package struct OffsetMapBuilder: Sendable {
  /// The lines in the form of the file. The ranks are zero until `finish()`.
  private var words: [UInt64]

  /// - Parameter originalEnd: The end of the segment's frames when it was first written.
  package init(originalEnd: Int) {
    let units = max(0, (originalEnd - SegmentHeader.length) / 8)
    let lines = (units + OffsetMap.unitsALine - 1) / OffsetMap.unitsALine
    words = [UInt64](repeating: 0, count: 8 * lines)
  }

  /// Keeps the units of `length` bytes at `original`. Both are multiples of 8.
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

  /// Writes the ranks and removes the lines after the last kept unit.
  ///
  /// - Returns: The number of kept units.
  package mutating func finish() -> Int {
    while let last = words.indices.last, words[(last - 7)...].allSatisfy({ $0 == 0 }) { words.removeLast(8) }
    var rank: UInt64 = 0
    for line in stride(from: 0, to: words.count, by: 8) {
      words[line] = rank.littleEndian
      for word in (line + 1)..<(line + 8) { rank += UInt64(words[word].nonzeroBitCount) }
    }
    return Int(rank)
  }

  /// Calls `body` with the lines. After `finish()` they can be written to the file.
  package func withLines<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try words.withUnsafeBytes { try body($0) }
  }
}
