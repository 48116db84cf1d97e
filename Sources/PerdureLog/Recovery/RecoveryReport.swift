/// What opening a store found, and what it did about it.
public struct RecoveryReport: Sendable {
  /// Whether the store was made by this opening.
  public var created = false
  /// Whether the store had been closed properly.
  public var wasClosed = false
  /// Segments read.
  public var segments = 0
  /// Bytes of the log read.
  public var logBytes: UInt64 = 0
  /// Commits found whole.
  public var commits: UInt64 = 0
  /// Bytes after the last whole commit, left by a commit that never finished. They were never
  /// acknowledged as durable, and are left where they are.
  public var tornTailBytes: UInt64 = 0
  /// Files that were removed because nothing names them: blob files of commits that never
  /// happened, files in preparation, segments that were never born.
  public var orphansRemoved = 0
  /// Keys that a unique index holds twice. They were there before; correct the records.
  public var duplicates: [Conflict] = []
  /// Names of derived indexes that nothing given to this opening can maintain.
  public var unavailableIndexes: [String] = []
}
