import Synchronization

/// Counts the bytes that were written by compaction and to blob files since the store was opened.
/// Bytes of commits are not included. Any thread may add to the counters.
final class WrittenBytes: Sendable {
  private let compacted = Atomic<UInt64>(0)
  private let blobFiles = Atomic<UInt64>(0)

  /// The bytes that compaction has written to segments, including files that it has then discarded.
  var compaction: UInt64 { compacted.load(ordering: .relaxed) }
  /// The bytes of completed blob files.
  var blobs: UInt64 { blobFiles.load(ordering: .relaxed) }

  func addCompaction(_ count: Int) { compacted.wrappingAdd(UInt64(count), ordering: .relaxed) }

  func addBlob(_ fileLength: UInt64) { blobFiles.wrappingAdd(fileLength, ordering: .relaxed) }
}
