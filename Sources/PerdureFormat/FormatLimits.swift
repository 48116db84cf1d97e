/// The limits of FORMAT.md, "Limits". Writers must respect them, and readers may rely on them.
@usableFromInline package enum FormatLimits {
  /// Every structure in the log starts at a multiple of this number of bytes.
  @inlinable package static var alignment: Int { 8 }
  /// The longest key of a byte-string keyspace, in bytes.
  @inlinable package static var keyLengthMax: Int { 65_535 }
  /// The longest value that the log itself may contain, in bytes. Longer values are in blob files.
  @inlinable package static var inlineValueLengthMax: Int { 1 << 20 }
  /// The longest value of a blob file, in bytes.
  @inlinable package static var blobLengthMax: UInt64 { 1 << 32 }
  /// The longest dictionary, in bytes. A match in an LZ4 block refers at most 65,535 bytes back.
  @inlinable package static var dictionaryLengthMax: Int { 65_536 }
  /// The highest dictionary number.
  @inlinable package static var dictionaryNumberMax: Int { 2047 }
  /// The longest record in the log, in bytes.
  @inlinable package static var recordLengthMax: Int {
    (RecordHeader.length &+ keyLengthMax &+ inlineValueLengthMax).roundedUpToAlignment
  }
  /// A writer starts the next frame when the payload of a frame reaches this number of bytes.
  @inlinable package static var framePayloadTarget: Int { 1 << 20 }
  /// The longest payload that a reader accepts in one frame.
  @inlinable package static var framePayloadMax: Int { 4 << 20 }
  /// A writer starts the next group when a group reaches this number of unpacked bytes.
  @inlinable package static var groupLengthTarget: Int { 1 << 16 }
  /// The longest group that a reader accepts, in unpacked bytes. Any single record fits.
  @inlinable package static var groupLengthMax: Int { recordLengthMax }
  /// The longest piece of a file in a backup stream, in bytes.
  package static var backupChunkMax: Int { 1 << 20 }
  /// The maximum number of parts of one commit.
  @inlinable package static var commitPartsMax: Int { 1 << 20 }
  /// The smallest segment, in bytes.
  @inlinable package static var segmentCapacityMin: Int { 4096 }
  /// The largest segment, in bytes. An address word can represent every offset in it.
  @inlinable package static var segmentCapacityMax: Int { 256 << 20 }
  /// Whether a segment may have this size, in bytes.
  package static func isLegal(segmentCapacity: UInt64) -> Bool {
    (UInt64(segmentCapacityMin)...UInt64(segmentCapacityMax)).contains(segmentCapacity)
      && segmentCapacity % UInt64(alignment) == 0
  }
  /// The highest value of counters: the numbers of commits, generations, checkpoints and blob
  /// files. The field of each counter can represent at least one higher value.
  @inlinable package static var counterMax: UInt64 { 1 << 62 }
  /// The highest segment number that an address word can represent.
  @inlinable package static var segmentNumberMax: UInt64 { (1 << 26) - 1 }
}

extension Int {
  /// The smallest multiple of eight that is not less than this number.
  @inlinable package var roundedUpToAlignment: Int { (self &+ 7) & ~7 }
}

extension LogPosition {
  /// Whether this is the start of the log, or a valid position in a segment.
  package var isLegal: Bool {
    if segment == 0 { return offset == 0 }
    return segment <= FormatLimits.segmentNumberMax
      && (UInt64(SegmentHeader.length)...UInt64(FormatLimits.segmentCapacityMax)).contains(offset)
      && offset % UInt64(FormatLimits.alignment) == 0
  }
}
