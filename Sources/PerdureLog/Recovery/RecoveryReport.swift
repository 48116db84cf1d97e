import PerdureFormat

/// The findings of an opening, and the repairs that it made.
public struct RecoveryReport: Sendable {
  /// Whether this opening created the store.
  public var created = false
  /// Whether the store had been closed properly, and was not changed since. True for a new store.
  public var wasClosed = false
  /// The number of segments read.
  public var segments = 0
  /// The number of bytes that were read from the log: from the whole log, or only from the part
  /// after the checkpoint. Rewritten segments count with their current length.
  public var logBytes: UInt64 = 0
  /// The sequence number of the last commit in the index on disk. It is 0 if no index could be
  /// used, and the index was built from the log.
  public var checkpointSequence: UInt64 = 0
  /// The reason why an index on disk was not used. It is nil if the index was used, or if there was
  /// none. No data is lost: the index was built from the log, and the next checkpoint writes it
  /// again.
  public var indexRebuild: IndexRebuild?

  /// The number of complete commits.
  public var commits: UInt64 = 0
  /// The number of bytes after the last complete commit, which belong to an unfinished commit. They
  /// were never acknowledged as durable, and are not removed.
  public var tornTailBytes: UInt64 = 0
  /// The number of files removed because nothing references them: blob files, index files,
  /// temporary files, and segments that are not part of the log.
  public var orphansRemoved = 0
  /// Keys that a unique index contains twice, up to the first 1,000. They existed before this
  /// opening; correct the records.
  public var duplicates: [Conflict] = []
  /// The number of all keys that a unique index contains twice.
  public var duplicateCount = 0
  /// Names of derived indexes that this opening cannot maintain: no extractor could be made for
  /// them or for the index from which they are made, or a value that they need is damaged.
  public var unavailableIndexes: [String] = []

  /// The end of the valid frames. A reader finds new frames after it.
  var framesEnd = LogPosition.start

  /// The reason why an index was built from the log although there was an index on disk.
  public struct IndexRebuild: Sendable, CustomStringConvertible {
    /// The error that was found.
    public let reason: String
    /// The location of the error: a file, and a byte offset if there is one.
    public let place: String

    /// One line for a log.
    public var description: String { "The index was built from the log: \(reason) (\(place))" }
  }
}
