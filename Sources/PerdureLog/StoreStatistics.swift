import PerdureFormat

/// Counts of an open store, all taken at one moment.
public struct StoreStatistics: Sendable {
  /// The last commit.
  public var sequence: UInt64
  /// Keys in all keyspaces.
  public var keys: Int
  /// Entries in all derived indexes.
  public var indexEntries: Int
  /// Segments of the log.
  public var segments: Int
  /// Bytes of the log: from the first segment's begin to the last frame's end.
  public var logBytes: UInt64
  /// Memory of the index, in bytes: in use, and waiting for snapshots to go.
  public var indexBytes: Int
  /// The part of `indexBytes` that only old snapshots can see.
  public var indexBytesRetired: Int
  /// Snapshots that are held.
  public var snapshots: Int
  /// Commits since the store was opened.
  public var commitsSinceOpen: Int
  /// Bytes written to the log since the store was opened.
  public var logBytesSinceOpen: UInt64
  /// Syncs of the log since the store was opened, but for births of segments.
  public var syncsSinceOpen: Int
}

extension Store {
  /// Counts of the store as it is now.
  public var statistics: StoreStatistics {
    get throws {
      try engine.looking { state in
        let root = state.root.pointee
        let keys = state.catalog.keyspaces.dropFirst().reduce(0) { $0 + root.trees(of: $1).count($1.kind) }
        let entries = state.catalog.indexes.reduce(0) { $0 + root.tree(of: $1.index).count }
        let sealed = state.segments.segments.keys.filter { $0 != state.end.segment }
          .reduce(0) { $0 + UInt64(state.segments.entries[Int($1)].end) }
        return StoreStatistics(
          sequence: root.sequence, keys: keys, indexEntries: entries, segments: state.segments.segments.count,
          logBytes: sealed + state.end.offset, indexBytes: state.arena.liveByteCount,
          indexBytesRetired: state.arena.retiredByteCount, snapshots: engine.pins.count,
          commitsSinceOpen: state.statistics.commits, logBytesSinceOpen: state.statistics.logBytes,
          syncsSinceOpen: engine.gate.syncs)
      }
    }
  }
}
