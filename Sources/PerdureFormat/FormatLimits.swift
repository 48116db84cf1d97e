/// Every number of FORMAT.md that a writer must keep to and a reader may rely on.
package enum FormatLimits {
  /// Everything in the log starts at a multiple of this many bytes.
  package static let alignment = 8
  /// The longest key of a byte-string keyspace, in bytes.
  package static let keyLengthMax = 65_535
  /// The longest value that may stand in the log itself; longer ones live in blob files.
  package static let inlineValueLengthMax = 1 << 20
  /// The longest value of a blob file, in bytes.
  package static let blobLengthMax: UInt64 = 1 << 32
  /// What a writer puts into one frame before it starts the next, in bytes of payload.
  package static let framePayloadTarget = 1 << 20
  /// The longest payload that a reader accepts in one frame.
  package static let framePayloadMax = 4 << 20
  /// The most parts that one commit may be cut into.
  package static let commitPartsMax = 1 << 20
  /// The largest segment, in bytes: what an address word can reach.
  package static let segmentCapacityMax = 256 << 20
  /// The highest segment number that an address word can hold.
  package static let segmentNumberMax: UInt64 = (1 << 26) - 1

  // A record with the longest key and value fits into one frame.
  static func checkRelations() {
    precondition(
      RecordHeader.length + keyLengthMax + inlineValueLengthMax + alignment <= framePayloadMax)
    precondition(framePayloadTarget <= framePayloadMax)
    precondition(framePayloadMax + FrameHeader.length + SegmentHeader.length <= segmentCapacityMax)
  }
}

extension Int {
  /// The smallest multiple of eight that is not below this number.
  @inlinable package var roundedUpToAlignment: Int { (self &+ 7) & ~7 }
}
