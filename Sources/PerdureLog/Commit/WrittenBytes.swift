import Synchronization

/// Counts bytes that were written outside the log, on any thread, since the store was opened.
final class WrittenBytes: Sendable {
  private let compacted = Atomic<UInt64>(0)
  private let blobFiles = Atomic<UInt64>(0)

  /// By compaction, to segments, including those that were not worth the rewriting.
  var compaction: UInt64 { compacted.load(ordering: .relaxed) }
  /// To completed blob files.
  var blobs: UInt64 { blobFiles.load(ordering: .relaxed) }

  func addCompaction(_ count: Int) { compacted.wrappingAdd(UInt64(count), ordering: .relaxed) }

  func addBlob(_ fileLength: UInt64) { blobFiles.wrappingAdd(fileLength, ordering: .relaxed) }
}
