import PerdureFormat

/// Torn tail or corruption: the one place that decides. FORMAT.md, "Torn tail or corruption".
///
/// A frame that does not read at offset o of the last segment is a torn tail, which is left
/// alone, if nobody can have been promised anything at or after o:
///  - the superblock promises the log to be durable only up to o or less, and
///  - no later frame of the segment says that it was synced beyond o.
/// Anything else is corruption.
enum TailJudge {
  static func isTorn(
    at position: LogPosition, in segment: UnsafeRawBufferPointer, _ superblock: Superblock
  ) -> Bool {
    guard superblock.durableEnd <= position else { return false }
    var offset = Int(position.offset)
    while let found = firstFrame(
      in: segment, from: offset, segment: position.segment, store: superblock.store)
    {
      if found.header.syncedOffset > position.offset { return false }
      offset = found.offset + FormatLimits.alignment
    }
    return true
  }

  /// The first place from `start` on where a valid frame header stands. A header's checksum is
  /// bound to its place, so bytes of values cannot be taken for one.
  static func firstFrame(
    in bytes: UnsafeRawBufferPointer, from start: Int, segment: UInt64, store: StoreID
  ) -> (header: FrameHeader, offset: Int)? {
    var offset = start
    while offset + FrameHeader.length <= bytes.count {
      let position = LogPosition(segment: segment, offset: UInt64(offset))
      if FrameHeader.mayStart(bytes, at: offset),
        let header = try? FrameHeader(
          reading: bytes.part(offset, bytes.count - offset), store: store, position: position)
      {
        return (header, offset)
      }
      offset += FormatLimits.alignment
    }
    return nil
  }
}
