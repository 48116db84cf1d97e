import PerdureFileIO
import PerdureFormat

/// Decides between torn tail and corruption. Only this code makes that decision. FORMAT.md, "Torn
/// tail or corruption".
///
/// An unreadable frame at offset o of the last segment is a torn tail if no commit at or after o
/// can have been acknowledged. A torn tail is not changed. The conditions are:
///  - according to the superblock, the log is durable only up to o or an earlier offset, and
///  - no later frame of the segment says that the log was synced beyond o.
/// Everything else is corruption.
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

  /// Returns the first valid frame header at or after `start`, and its offset in `bytes`; nil if
  /// there is none. A header's checksum is bound to its position, so bytes of values are never
  /// mistaken for a header.
  ///
  /// - Parameter base: The offset of `bytes` in the segment.
  static func firstFrame(
    in bytes: UnsafeRawBufferPointer, from start: Int, at base: Int = 0, segment: UInt64, store: StoreID
  ) -> (header: FrameHeader, offset: Int)? {
    var offset = start
    while offset + FrameHeader.length <= bytes.count {
      let position = LogPosition(segment: segment, offset: UInt64(base + offset))
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

  /// The number of bytes of a file read at a time.
  private static let pieceLength = 1 << 20

  /// Whether a file that is not a segment contains a valid frame header. The file is read in
  /// pieces, up to the greatest offset that a segment can have. Holes are skipped, so a long file
  /// costs no more than its written bytes.
  static func hasFrame(in file: any File, segment: UInt64, store: StoreID) throws(FileIOError) -> Bool {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceLength, alignment: 8)
    defer { buffer.deallocate() }
    var offset = SegmentHeader.length
    while offset < FormatLimits.segmentCapacityMax, let data = try file.nextData(from: UInt64(offset)) {
      guard data < UInt64(FormatLimits.segmentCapacityMax) else { break }
      let start = max(offset, Int(data) - Int(data) % FormatLimits.alignment)
      let count = try file.readToEnd(into: buffer, at: UInt64(start))
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      if firstFrame(in: bytes, from: 0, at: start, segment: segment, store: store) != nil { return true }
      guard count == buffer.count else { break }
      // A header may begin in one piece and end in the next.
      offset = start + count - FrameHeader.length
    }
    return false
  }
}
