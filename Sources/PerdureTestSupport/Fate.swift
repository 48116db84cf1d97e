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
    /// What it had before; it isn't longer than the sectors that arrived make it.
    case old
    /// Its new length, with zeros where nothing was before.
    case zeros
    /// Its new length, with whatever was on the medium where nothing was before.
    case garbage
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

  mutating func extend(to length: Int) {
    if count < length { append(contentsOf: repeatElement(0, count: length - count)) }
  }

  /// Does to a file's bytes what is left of a write. `durableLength` is where nothing was before.
  mutating func apply(
    _ write: PendingChange.Write, _ fate: Fate, sectorLength: Int, durableLength: Int,
    noise: SeededGenerator
  ) {
    switch fate {
    case .lost: break
    case .kept: overlay(write.bytes, at: write.offset)
    case .torn(let sectors, let rest):
      if rest != .old { extend(to: write.range.upperBound) }
      var noise = noise
      for (index, isKept) in sectors.enumerated() {
        let range = write.sectorRange(index, sectorLength)
        if isKept {
          let source = range.lowerBound - write.offset..<range.upperBound - write.offset
          overlay(write.bytes[source], at: range.lowerBound)
        } else if rest == .garbage {
          for position in range where position >= durableLength { self[position] = noise.next() }
        }
      }
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func next() -> UInt8 {
    UInt8(truncatingIfNeeded: next() as UInt64)
  }
}
