/// How a record's checksum is verified. FORMAT.md, "Record".
///
/// A checksum that covers only the record does not show that an older record of the key was copied
/// over a newer one. The checksum of a *bound* record continues over its address word, so the
/// record is valid at only one address.
@usableFromInline package enum RecordCheck: Sendable {
  /// The checksum is not verified, because the caller has verified or written these bytes.
  case none
  /// The checksum covers only the record.
  case alone
  /// The checksum covers the record and this address word.
  case word(UInt64)
  /// The checksum covers the record and the address word of its original position.
  case place(segment: UInt64, offset: Int)

  /// Whether `checksum` matches the record. `covered` contains the record without its first four
  /// bytes.
  package func accepts(_ checksum: UInt32, of covered: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .none: true
    case .alone: Checksum.crc32c(covered) == checksum
    case .word(let word): Checksum.crc32c(covered, thenWord: word) == checksum
    case .place(let segment, let offset):
      Checksum.crc32c(covered, thenWord: Self.word(segment, offset, covered)) == checksum
    }
  }

  /// The address word of a record. `covered` contains the record without its first four bytes.
  private static func word(
    _ segment: UInt64, _ offset: Int, _ covered: UnsafeRawBufferPointer
  ) -> UInt64 {
    RecordAddress(
      segment: segment, offset: offset, recordLength: (covered.count &+ 4).roundedUpToAlignment,
      isBlob: covered[0] == RecordHeader.Kind.blob.rawValue
    ).rawValue
  }
}

/// Finds the original addresses of a frame's records. The checksums of bound records depend on
/// them.
package struct RecordPlaces: Sendable {
  /// The segment's number; nil if the records are not bound.
  private let segment: UInt64?
  /// The offset of the payload in the segment, or in the body of a rewritten segment.
  private let start: Int
  /// The offset map of a rewritten segment; nil if the segment was not rewritten.
  private let map: OffsetMap?

  /// The value for records whose checksums cover only the record.
  package static let unbound = RecordPlaces(segment: nil, start: 0, map: nil)

  private init(segment: UInt64?, start: Int, map: OffsetMap?) {
    self.segment = segment
    self.start = start
    self.map = map
  }

  /// - Parameters:
  ///   - header: The segment's header.
  ///   - start: The offset of the frame's payload in the segment.
  package init(in header: SegmentHeader, from start: Int, _ map: OffsetMap?) {
    self.init(segment: header.bindsRecords ? header.number : nil, start: start, map: map)
  }

  /// The check for the record at `offset` in the payload.
  ///
  /// - Throws: `FormatError` if the map does not contain the record.
  package func check(at offset: Int) throws(FormatError) -> RecordCheck {
    guard let segment else { return .alone }
    guard let map else { return .place(segment: segment, offset: start + offset) }
    guard let original = map.originalOffset(of: start + offset) else {
      throw FormatError(.illegalField, in: "offset map", at: 0)
    }
    return .place(segment: segment, offset: original)
  }
}
