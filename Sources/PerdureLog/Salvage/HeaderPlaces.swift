import PerdureFormat

// Finds the positions in a store for which a frame's header would be valid, without trying each
// one. Hostile bytes may look like a header at every 64th offset, and a store has as many sectors
// as its length allows.
//
// The idea: a header's checksum leaves one offset for each segment (`FrameHeader.placeImplied`), of
// which some bits are known. Sectors are moved as a whole, so the header's offset within its sector
// is unchanged; and the offset is within the segment. Segments are looked up by the bits of their
// seeds that these leave, so that only the few matching ones are tried.

/// The positions of a store where headers can be.
struct HeaderPlaces {
  /// Segments with equal `bits`: those of a seed that are above `width` or within a sector.
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

  /// - Parameter store: Without it no header is right anywhere.
  init(_ segments: [SalvageSource.SourceSegment], _ store: StoreID?) {
    self.store = store
    guard let store else { return }
    for segment in segments {
      let size = min(segment.size, FormatLimits.segmentCapacityMax)
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

  /// Whether the header that begins `bytes` is right for a place that is whole sectors away from
  /// `offset`, in any segment.
  func hasPlace(for bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    guard let store else { return false }
    return positions(for: bytes, at: offset).contains {
      (try? FrameHeader(reading: bytes, store: store, position: $0)) != nil
    }
  }

  /// The only places of which that can be so.
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
