import PerdureFormat

/// The findings of an opening, and its repairs.
public struct RecoveryReport: Sendable {
  /// Whether the store was made by this opening.
  public var created = false
  /// Whether the store had been closed properly.
  public var wasClosed = false
  /// Segments read.
  public var segments = 0
  /// Bytes of the log read: the whole log, or the part after the checkpoint; for rewritten
  /// segments, their present bytes.
  public var logBytes: UInt64 = 0
  /// The last commit that the index on disk knew; 0 when there was none to use, and the index was
  /// built from the log.
  public var checkpointSequence: UInt64 = 0
  /// Why an index on disk was not used; nil when it was, or when there was none. Nothing is lost by
  /// it: the index was built from the log, and the next checkpoint writes it anew.
  public var indexRebuild: IndexRebuild?

  /// Commits found whole.
  public var commits: UInt64 = 0
  /// Bytes after the last whole commit, left by a commit that never finished. They were never
  /// acknowledged as durable, and are left where they are.
  public var tornTailBytes: UInt64 = 0
  /// Files that were removed because nothing names them: blob files of commits that never
  /// happened, files in preparation, segments that were never born.
  public var orphansRemoved = 0
  /// Keys that a unique index holds twice, the first 1,000 of them. They were there before; correct
  /// the records.
  public var duplicates: [Conflict] = []
  /// The number of such keys.
  public var duplicateCount = 0
  /// Names of derived indexes that nothing given to this opening can maintain, or that lack a value
  /// which is damaged.
  public var unavailableIndexes: [String] = []

  /// The end of the valid frames: a reader finds new frames after it.
  var framesEnd = LogPosition.start

  /// Why an index was built from the log although there was one on disk.
  public struct IndexRebuild: Sendable, CustomStringConvertible {
    /// The error found.
    public let reason: String
    /// The place: a file, and a byte offset if there is one.
    public let place: String

    /// One line for a log.
    public var description: String { "The index was built from the log: \(reason) (\(place))" }
  }
}
