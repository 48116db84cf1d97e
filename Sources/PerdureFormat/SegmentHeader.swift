/// The first 128 bytes of a segment. FORMAT.md, "Segment".
@usableFromInline package struct SegmentHeader: Hashable, Sendable {
  @inlinable package static var length: Int { 128 }
  static let magic: [UInt8] = [0x89, 0x50, 0x53, 0x45, 0x47, 0x0D, 0x0A, 0x1A]

  package var store: StoreID
  package var number: UInt64
  /// 0 in a new segment. Compaction increments it each time it rewrites the segment.
  package var generation: UInt64
  package var capacity: UInt64
  /// No commit in this segment has a lower sequence number.
  package var firstSequence: UInt64
  /// The end of the valid log before this segment. Segments between that position and this segment
  /// are void.
  package var predecessorEnd: LogPosition
  /// Compaction removed only records that were dead at this sequence number. 0 if it removed none.
  package var cleanedThrough: UInt64
  package var incompatibleFeatures: UInt64
  package var cipherKey: UInt32

  package init(
    store: StoreID, number: UInt64, capacity: UInt64, firstSequence: UInt64, predecessorEnd: LogPosition
  ) {
    self.store = store
    self.number = number
    self.capacity = capacity
    self.firstSequence = firstSequence
    self.predecessorEnd = predecessorEnd
    generation = 0
    cleanedThrough = 0
    incompatibleFeatures = 0
    cipherKey = 0
  }

  /// Whether compaction has divided the segment's frames into groups.
  package var isGrouped: Bool { incompatibleFeatures & FormatVersion.groupedSegments != 0 }

  /// Whether the checksums of the segment's records continue over their address words.
  package var bindsRecords: Bool { incompatibleFeatures & FormatVersion.boundRecords != 0 }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.length, "A segment header does not fit into the buffer.")
    for i in 0..<Self.length { bytes[i] = 0 }
    bytes.copyBytes(from: Self.magic)
    bytes.setInteger(FormatVersion.major, at: 8)
    bytes.setInteger(FormatVersion.minor, at: 10)
    bytes.setInteger(UInt32(Self.length), at: 12)
    store.write(to: bytes, at: 16)
    bytes.setInteger(number, at: 32)
    bytes.setInteger(generation, at: 40)
    bytes.setInteger(capacity, at: 48)
    bytes.setInteger(firstSequence, at: 56)
    bytes.setInteger(predecessorEnd.segment, at: 64)
    bytes.setInteger(predecessorEnd.offset, at: 72)
    bytes.setInteger(cleanedThrough, at: 80)
    bytes.setInteger(incompatibleFeatures, at: 88)
    bytes.setInteger(cipherKey, at: 96)
    bytes.setInteger(Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(0, 124)), at: 124)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "segment header", at: offset)
    }
    try bytes.checkSeal(of: "segment header", Self.magic, length: Self.length)
    guard bytes.integer(at: 8, as: UInt16.self) == FormatVersion.major else { throw wrong(.unsupported, 8) }
    guard bytes.integer(at: 12, as: UInt32.self) == UInt32(Self.length) else { throw wrong(.unsupported, 12) }
    store = StoreID(reading: bytes, at: 16)
    number = bytes.integer(at: 32)
    generation = bytes.integer(at: 40)
    capacity = bytes.integer(at: 48)
    firstSequence = bytes.integer(at: 56)
    predecessorEnd = LogPosition(segment: bytes.integer(at: 64), offset: bytes.integer(at: 72))
    cleanedThrough = bytes.integer(at: 80)
    incompatibleFeatures = bytes.integer(at: 88)
    cipherKey = bytes.integer(at: 96)
    guard (1...FormatLimits.segmentNumberMax).contains(number) else { throw wrong(.illegalField, 32) }
    guard generation <= FormatLimits.counterMax else { throw wrong(.illegalField, 40) }
    guard FormatLimits.isLegal(segmentCapacity: capacity) else { throw wrong(.illegalField, 48) }
    guard (1...FormatLimits.counterMax).contains(firstSequence) else { throw wrong(.illegalField, 56) }
    guard predecessorEnd.segment < number else { throw wrong(.illegalField, 64) }
    guard predecessorEnd.isLegal else { throw wrong(.illegalField, 72) }
    guard incompatibleFeatures & ~FormatVersion.segmentFeaturesKnown == 0 else {
      throw FormatError(
        .unsupported, in: "segment header", at: 88,
        detail: FormatFeatures.segment.missing(incompatibleFeatures))
    }
    guard (generation > 0) == (incompatibleFeatures & FormatVersion.rewrittenSegments != 0) else {
      throw wrong(.illegalField, 40)
    }
    guard generation > 0 || !isGrouped else { throw wrong(.illegalField, 88) }
    guard cleanedThrough <= (generation > 0 ? FormatLimits.counterMax : 0) else {
      throw wrong(.illegalField, 80)
    }
    guard cipherKey == 0 else { throw wrong(.unsupported, 96) }
    if let place = bytes.firstNonZero(in: 100..<124) { throw wrong(.unsupported, place) }
  }

  /// Throws unless the header contains the id of this store and the number in the file's name.
  package func check(store: StoreID, number: UInt64) throws(FormatError) {
    guard self.store == store else { throw FormatError(.misplaced, in: "segment header", at: 16) }
    guard self.number == number else { throw FormatError(.misplaced, in: "segment header", at: 32) }
  }
}
