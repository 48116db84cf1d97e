/// What a record's checksum covers beside the record itself. FORMAT.md, "Record".
///
/// A checksum over the record alone also accepts an older version of the same key that was copied
/// over the newer one. A *bound* record's checksum continues over its address word, so the record
/// is valid at one address only.
@usableFromInline package enum RecordCheck: Sendable {
  /// The checksum is not compared: the caller has verified these bytes, or has made them.
  case none
  /// The record alone.
  case alone
  /// The record and this address word.
  case word(UInt64)
  /// The record and the address word that follows from the place where the record was first
  /// written.
  case place(segment: UInt64, offset: Int)

  /// Whether `checksum` is right for the record whose bytes from byte 4 on are `covered`.
  package func accepts(_ checksum: UInt32, of covered: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .none: true
    case .alone: Checksum.crc32c(covered) == checksum
    case .word(let word): Checksum.crc32c(covered, thenWord: word) == checksum
    case .place(let segment, let offset):
      Checksum.crc32c(covered, thenWord: Self.word(segment, offset, covered)) == checksum
    }
  }

  /// The address word of the record whose bytes from byte 4 on are `covered`.
  private static func word(
    _ segment: UInt64, _ offset: Int, _ covered: UnsafeRawBufferPointer
  ) -> UInt64 {
    RecordAddress(
      segment: segment, offset: offset, recordLength: (covered.count &+ 4).roundedUpToAlignment,
      isBlob: covered[0] == RecordHeader.Kind.blob.rawValue
    ).rawValue
  }
}

/// Where the records of a frame were first written, as far as their checksums depend on that.
package struct RecordPlaces: Sendable {
  /// nil: the records are not bound.
  private let segment: UInt64?
  /// Where the payload begins in the segment, or in the body of one that was rewritten.
  private let start: Int
  /// Of a rewritten segment: what leads back to the first offsets.
  private let map: OffsetMap?

  /// Records whose checksums cover nothing but themselves.
  package static let unbound = RecordPlaces(segment: nil, start: 0, map: nil)

  private init(segment: UInt64?, start: Int, map: OffsetMap?) {
    self.segment = segment
    self.start = start
    self.map = map
  }

  /// - Parameters:
  ///   - header: That of the segment.
  ///   - start: Where the frame's payload begins in it.
  package init(in header: SegmentHeader, from start: Int, _ map: OffsetMap?) {
    self.init(segment: header.bindsRecords ? header.number : nil, start: start, map: map)
  }

  /// How the record at `offset` in the payload is checked.
  ///
  /// - Throws: `FormatError` where the map does not know the record.
  package func check(at offset: Int) throws(FormatError) -> RecordCheck {
    guard let segment else { return .alone }
    guard let map else { return .place(segment: segment, offset: start + offset) }
    guard let original = map.originalOffset(of: start + offset) else {
      throw FormatError(.illegalField, in: "offset map", at: 0)
    }
    return .place(segment: segment, offset: original)
  }
}
