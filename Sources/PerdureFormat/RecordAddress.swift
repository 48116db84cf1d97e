/// The position of a record in one word: the value that an index stores for a key.
///
///     bits  0 ..< 25   offset in the segment, in units of 8 bytes
///     bits 25 ..< 51   segment number
///     bits 51 ..< 57   size class of the record's length in the log: class 0 is up to 32 bytes,
///                      class 1 up to 48, 2 up to 64, 3 up to 96, two for each doubling
///     bits 57 ..< 64   flags; bit 57 marks a record that references a blob file, the rest is zero
///
/// A word of zero means "no record", because segments are numbered from 1. Addresses are logical: a
/// record keeps its address when compaction moves its bytes. So the word also identifies the
/// version of the record: equal words mean the same record.
@usableFromInline package struct RecordAddress: RawRepresentable, Hashable, Sendable {
  @usableFromInline package let rawValue: UInt64

  @inlinable package init(rawValue: UInt64) { self.rawValue = rawValue }

  @inlinable package init(segment: UInt64, offset: Int, recordLength: Int, isBlob: Bool) {
    let units = UInt64(truncatingIfNeeded: offset &>> 3)
    let sizeClass = UInt64(truncatingIfNeeded: Self.sizeClass(of: recordLength))
    rawValue = units | segment &<< 25 | sizeClass &<< 51 | (isBlob ? 1 &<< 57 : 0)
  }

  @inlinable package var offset: Int { Int(truncatingIfNeeded: rawValue & 0x1FF_FFFF) &<< 3 }
  @inlinable package var segment: UInt64 { (rawValue &>> 25) & 0x3FF_FFFF }
  @inlinable package var sizeClass: Int { Int(truncatingIfNeeded: (rawValue &>> 51) & 0x3F) }
  @inlinable package var isBlob: Bool { rawValue & (1 &<< 57) != 0 }

  package var position: LogPosition { LogPosition(segment: segment, offset: UInt64(offset)) }

  /// The maximum length of a record in this size class. One read of this length contains the
  /// record.
  @inlinable package var recordLengthMax: Int {
    sizeClass & 1 == 0 ? 32 &<< (sizeClass &>> 1) : 24 &<< ((sizeClass &+ 1) &>> 1)
  }

  /// Whether `init(segment:offset:recordLength:isBlob:)` can make this word.
  package var isLegal: Bool {
    rawValue &>> 58 == 0 && segment > 0 && offset >= SegmentHeader.length + FrameHeader.length
      && sizeClass <= Self.sizeClass(of: FormatLimits.recordLengthMax)
  }

  /// The size class of a length: 0 for up to 32 bytes, then two classes for each doubling.
  @inlinable package static func sizeClass(of length: Int) -> Int {
    guard length > 32 else { return 0 }
    let log2 = Int.bitWidth &- 1 &- (length &- 1).leadingZeroBitCount
    let upperHalf = (length &- 1) & (1 &<< (log2 &- 1)) != 0
    return (log2 &- 5) &* 2 &+ (upperHalf ? 2 : 1)
  }
}
