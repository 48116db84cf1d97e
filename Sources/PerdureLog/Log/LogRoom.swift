// The zeros between the end of the log and the end of the last segment's file.
//
// A sync of a file that has grown also makes its new length durable. For that, the file system
// needs a transaction in addition to writing the bytes. The transaction takes about a third of the
// time that a sync of one small commit takes (ext4, measured). So if commits wait for syncs, the
// file is extended with zeros before later commits need the space. FORMAT.md (B7) calls these zeros
// a clean tail. Only the last zero is written, so they take at most one block on the medium. The
// log continues in these zeros, even after a crash.

/// Decides the length of the last segment's file. It uses no clock and does no I/O.
package struct LogRoom: Sendable {
  /// The maximum length of the zeros after the log. Why: if a store was not closed, its next
  /// opening checks these zeros. More zeros make the opening slower.
  package var bytesMax: UInt64 = 256 << 10

  /// The minimum length of the zeros, unless the segment's capacity allows less. A shorter
  /// extension is not worth a write.
  package var bytesMin: UInt64 = 4096

  /// The file is extended by the log's length in the segment, divided by this number. So a short
  /// log stays a short file.
  package var share: UInt64 = 16

  /// The file is extended only while at most this many bytes are unsynced. If more bytes are
  /// unsynced, each sync already covers several commits.
  package var unsyncedMax: UInt64 = 64 << 10

  package init() {}

  /// - Parameter end: The end of the log in the segment.
  /// - Parameter synced: The durable end of the segment.
  /// - Returns: The new length of the file; nil if it stays unchanged.
  func length(end: UInt64, synced: UInt64, capacity: UInt64) -> UInt64? {
    guard end - min(end, synced) <= unsyncedMax else { return nil }
    let room = min(bytesMax, end / share)
    let length = min(capacity, end + room)
    return room >= bytesMin && length > end ? length : nil
  }
}
