// How much longer than the log the file of its last segment becomes.
//
// A sync of a file that has grown also makes its new length durable. That takes a transaction of
// the file system besides the bytes: about a third of the time of a sync of one small commit (ext4,
// measured). So if commits wait for syncs, the file is extended with zeros ahead of them, a clean
// tail in FORMAT.md (R8). The zeros take no space on the medium, and the log continues in them,
// after a crash as well (B7).

/// Decides the length of the last segment's file. Values in, values out.
package struct LogRoom: Sendable {
  /// How far the file reaches beyond the log at most. More would be more zeros to look over when a
  /// store is opened that was not closed.
  package var bytesMax: UInt64 = 256 << 10

  /// Less is not worth a write.
  package var bytesMin: UInt64 = 4096

  /// The extension is this part of the segment's present length, so that a short log stays a short
  /// file.
  package var share: UInt64 = 16

  /// If more bytes than this wait for a sync, commits do not wait one by one.
  package var unsyncedMax: UInt64 = 64 << 10

  package init() {}

  /// - Parameter end: Where the log ends in the segment.
  /// - Parameter synced: The durable end of the segment.
  /// - Returns: The new length of the file; nil: unchanged.
  func length(end: UInt64, synced: UInt64, capacity: UInt64) -> UInt64? {
    guard end - min(end, synced) <= unsyncedMax else { return nil }
    let room = min(bytesMax, end / share)
    let length = min(capacity, end + room)
    return room >= bytesMin && length > end ? length : nil
  }
}
