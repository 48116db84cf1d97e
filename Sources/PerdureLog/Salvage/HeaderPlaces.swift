import PerdureFormat

// Finds the positions in a store for which a frame's header is valid, without trying each position.
// Hostile bytes may look like a header at every 64th offset, and a store has as many sectors as its
// length allows.
//
// The method: in each segment, a header's checksum is valid at only one offset
// (`FrameHeader.placeImplied`), and some bits of that offset are known. Sectors are moved as a
// whole, so the header's offset within its sector is unchanged. The offset is also less than the
// segment's length. The known bits of the offset determine the same bits of the segment's seed, and
// segments are looked up by these bits. So only the few matching segments are tried.

/// The positions of a store where headers can be.
struct HeaderPlaces {
  /// The bits of a segment's seed that a header determines: the bits from `width` upward, and the
  /// low bits, which give the offset within a sector. `width` is the number of bits of the
  /// segment's greatest offset.
  private struct Key: Hashable {
    let width: Int
    let bits: UInt32
  }

  private struct Place {
    let segment: UInt64
    let size: Int
    let seed: UInt32
  }

  private let store: StoreID?
  private var places: [Key: [Place]] = [:]
  private var widths: Set<Int> = []

  /// - Parameter store: If it is nil, no header is valid at any position.
  init(_ segments: [SalvageSource.SourceSegment], _ store: StoreID?) {
    self.store = store
    guard let store else { return }
    for segment in segments {
      let size = segment.contentLength
      guard size > FrameHeader.length else { continue }
      let width = max(Self.sectorBits, Int.bitWidth - (size - 1).leadingZeroBitCount)
      let seed = FrameHeader.placeSeed(store, segment: segment.number)
      widths.insert(width)
      places[Self.key(seed, width), default: []]
        .append(Place(segment: segment.number, size: size, seed: seed))
    }
  }

  private static let sectorBits = SalvageScan.sectorLength.trailingZeroBitCount

  private static func key(_ seed: UInt32, _ width: Int) -> Key {
    Key(width: width, bits: seed & (~0 << UInt32(width) | UInt32(SalvageScan.sectorLength - 1)))
  }

  /// Whether the header at the start of `bytes` is valid for a position in any segment. The
  /// position must be a whole number of sectors away from `offset`.
  func hasPlace(for bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    guard let store else { return false }
    return positions(for: bytes, at: offset).contains {
      (try? FrameHeader(reading: bytes, store: store, position: $0)) != nil
    }
  }

  /// The only positions for which the header can be valid.
  func positions(for bytes: UnsafeRawBufferPointer, at offset: Int) -> [LogPosition] {
    let implied = FrameHeader.placeImplied(by: bytes)
    let inSector = UInt32(offset % SalvageScan.sectorLength)
    return widths.flatMap { width in
      (places[Self.key(implied ^ inSector, width)] ?? []).compactMap { place in
        let offset = implied ^ place.seed
        return offset < place.size ? LogPosition(segment: place.segment, offset: UInt64(offset)) : nil
      }
    }
  }
}
