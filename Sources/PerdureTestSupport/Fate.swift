/// What a loss of power does to one pending change.
enum Fate: Sendable, Hashable {
  /// Nothing of it is on the disk.
  case lost
  /// All of it is.
  case kept
  /// Of a write, the sectors marked true are; the others are as `rest` says.
  case torn(sectors: [Bool], rest: Rest)

  /// What the file has where a torn write's sectors are missing.
  enum Rest: Sendable, Hashable {
    /// Its earlier bytes; it isn't longer than the sectors that arrived make it.
    case old
    /// Its new length, with zeros where nothing was before, and in sectors that the write was to
    /// replace whole.
    case zeros
    /// Its new length, with whatever was on the medium in these places.
    case garbage
    /// Its new length, with the bytes that a removed file had at the same offsets: its blocks were
    /// reused.
    case stale
  }
}

extension PendingChange.Write {
  /// How many sectors the write touches. The first and the last may be touched in part.
  func sectorCount(_ sectorLength: Int) -> Int {
    (range.upperBound - 1) / sectorLength - offset / sectorLength + 1
  }

  /// The bytes of the file that sector number `index` of the write has.
  func sectorRange(_ index: Int, _ sectorLength: Int) -> Range<Int> {
    let start = (offset / sectorLength + index) * sectorLength
    return (start..<start + sectorLength).clamped(to: range)
  }
}

extension PendingChange.Write {
  /// In a sector that did not arrive, the part with unspecified bytes: the part after the durable
  /// bytes. If the write covers the whole sector, also the part to be changed, from the first
  /// changed byte to the last.
  fileprivate func damaged(_ range: Range<Int>, sectorLength: Int, durable: [UInt8]) -> Range<Int> {
    let behind = max(range.lowerBound, min(durable.count, range.upperBound))..<range.upperBound
    guard behind.count < range.count, range.count == sectorLength else { return behind }
    let old = range.lowerBound..<behind.lowerBound
    func isChanged(_ position: Int) -> Bool { durable[position] != bytes[position - offset] }
    guard let first = old.first(where: isChanged), let last = old.last(where: isChanged) else {
      return behind
    }
    return first..<(behind.isEmpty ? last + 1 : range.upperBound)
  }
}

private let zeros = [UInt8](repeating: 0, count: 1 << 16)

extension [UInt8] {
  /// Replaces bytes from `offset` on, making the array longer if need be, with zeros in a gap.
  mutating func overlay(_ bytes: [UInt8], at offset: Int) {
    overlay(bytes[...], at: offset)
  }

  mutating func overlay(_ bytes: ArraySlice<UInt8>, at offset: Int) {
    extend(to: offset + bytes.count)
    withUnsafeMutableBytes { target in
      bytes.withUnsafeBytes { source in
        UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + source.count])
          .copyMemory(from: source)
      }
    }
  }

  /// Adds zeros. From a stock of them: without optimisation, making new ones costs more than all
  /// the rest.
  mutating func extend(to length: Int) {
    while count < length {
      append(contentsOf: zeros.prefix(length - count))
    }
  }

  /// Applies the surviving part of a write to a file's bytes.
  ///
  /// Durable bytes are damaged only in sectors that the write covers whole, and there only from the
  /// first byte that the write changes to the last. Bytes overwritten with equal bytes stay, and so
  /// do those beside the write.
  ///
  /// - Parameter durable: The bytes that are durable on the medium.
  /// - Parameter stale: The bytes of a removed file; zeros follow them.
  /// - Returns: Whether the rest made a difference anywhere.
  @discardableResult
  mutating func apply(
    _ write: PendingChange.Write, _ fate: Fate, sectorLength: Int, durable: [UInt8], stale: [UInt8],
    noise: SeededGenerator
  ) -> Bool {
    switch fate {
    case .lost: return false
    case .kept:
      overlay(write.bytes, at: write.offset)
      return false
    case .torn(let sectors, let rest):
      var (isMade, noise) = (false, noise)
      if rest != .old { extend(to: write.range.upperBound) }
      for (index, isKept) in sectors.enumerated() {
        let range = write.sectorRange(index, sectorLength)
        if isKept {
          let source = range.lowerBound - write.offset..<range.upperBound - write.offset
          overlay(write.bytes[source], at: range.lowerBound)
        } else if rest != .old {
          let damaged = write.damaged(range, sectorLength: sectorLength, durable: durable)
          isMade = isMade || !damaged.isEmpty
          switch rest {
          case .garbage: fill(damaged, &noise)
          case .stale: copy(damaged, from: stale)
          case .zeros, .old: clear(damaged.clamped(to: 0..<durable.count))
          }
        }
      }
      return isMade
    }
  }

  private mutating func clear(_ range: Range<Int>) {
    withUnsafeMutableBytes { bytes in
      _ = UnsafeMutableRawBufferPointer(rebasing: bytes[range]).initializeMemory(as: UInt8.self, repeating: 0)
    }
  }

  /// Puts the bytes of another file into a range, at the same offsets, and zeros behind its end.
  private mutating func copy(_ range: Range<Int>, from other: [UInt8]) {
    let known = range.clamped(to: 0..<other.count)
    clear(range)
    if !known.isEmpty { overlay(other[known], at: known.lowerBound) }
  }

  /// Puts noise into a range. Eight bytes at a time: there is a lot of it, and tests aren't
  /// optimised.
  private mutating func fill(_ range: Range<Int>, _ noise: inout SeededGenerator) {
    withUnsafeMutableBytes { bytes in
      for start in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
        Swift.withUnsafeBytes(of: noise.next()) { word in
          let target = UnsafeMutableRawBufferPointer(
            rebasing: bytes[start..<Swift.min(start + 8, range.upperBound)])
          target.copyMemory(from: UnsafeRawBufferPointer(rebasing: word[..<target.count]))
        }
      }
    }
  }
}
