/// The effect of a power cut on one pending change.
enum Fate: Sendable, Hashable {
  /// No part of the change is on the disk.
  case lost
  /// The complete change is on the disk.
  case kept
  /// The sectors of a write that are marked true are on the disk. `rest` describes the other
  /// sectors.
  case torn(sectors: [Bool], rest: Rest)

  /// The bytes in the sectors of a torn write that did not reach the disk.
  enum Rest: Sendable, Hashable {
    /// The earlier bytes. The file is only as long as the sectors on the disk require.
    case old
    /// The new length, with zeros after the old end, and in sectors that the write replaces
    /// completely.
    case zeros
    /// The new length, with noise at the offsets at which `zeros` has zeros.
    case garbage
    /// The new length, with the bytes at these offsets of a removed file whose blocks were reused.
    case stale
  }
}

extension PendingChange.Write {
  /// The number of sectors that the write affects. The write may affect the first and the last
  /// partly.
  func sectorCount(_ sectorLength: Int) -> Int {
    (range.upperBound - 1) / sectorLength - offset / sectorLength + 1
  }

  /// The range of the file that the write changes in sector number `index`.
  func sectorRange(_ index: Int, _ sectorLength: Int) -> Range<Int> {
    let start = (offset / sectorLength + index) * sectorLength
    return (start..<start + sectorLength).clamped(to: range)
  }
}

extension PendingChange.Write {
  /// The range of unspecified bytes in a sector that did not reach the disk. It is the range after
  /// the durable bytes. If the write covers the whole sector, the range also includes the bytes
  /// from the first changed byte to the last.
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
  /// Replaces bytes from `offset` on. Extends the array if necessary, with zeros in a gap.
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

  /// Adds zeros from a constant array. Without optimization, making an array of zeros takes longer
  /// than the rest of the work.
  mutating func extend(to length: Int) {
    while count < length {
      append(contentsOf: zeros.prefix(length - count))
    }
  }

  /// Applies the surviving part of a write to a file's bytes.
  ///
  /// Damages durable bytes only in sectors that the write covers completely, and there only from
  /// the first changed byte to the last. Bytes that are overwritten with equal bytes remain. Bytes
  /// outside the write remain too.
  ///
  /// - Parameter durable: The bytes that are durable on the medium.
  /// - Parameter stale: The bytes of a removed file; zeros follow them.
  /// - Returns: Whether any bytes became unspecified.
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

  /// Copies the bytes of another file into a range, at the same offsets. Zeros follow its last
  /// byte.
  private mutating func copy(_ range: Range<Int>, from other: [UInt8]) {
    let known = range.clamped(to: 0..<other.count)
    clear(range)
    if !known.isEmpty { overlay(other[known], at: known.lowerBound) }
  }

  /// Fills a range with noise, eight bytes at a time, because the range can be long and tests are
  /// not optimized.
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
