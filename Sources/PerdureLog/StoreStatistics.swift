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
  /// Bytes of the log: the segments, each up to its last frame's end, or as a whole if it was
  /// rewritten.
  public var logBytes: UInt64
  /// The snapshots that are furthest behind, at most eight, oldest first: their states keep space
  /// and memory from being reused.
  public var oldestSnapshots: [HeldSnapshot]
  /// Records that are live, records that are not, and marks of removed keys, in bytes as the log
  /// counts them (each record with the greatest length of its size class).
  public var liveRecordBytes: UInt64
  /// See `liveRecordBytes`.
  public var deadRecordBytes: UInt64
  /// See `liveRecordBytes`.
  public var tombstoneBytes: UInt64
  /// Bytes that compaction has written to segments since the store was opened.
  public var compactionBytesSinceOpen: UInt64
  /// Why the last run of background compaction failed; nil when it did not.
  public var lastCompactionFailure: String?
  /// Bytes of segment files that compaction has replaced, and that old snapshots still read: they
  /// have no names any more, but take space until those snapshots go.
  public var replacedSegmentBytes: Int
  /// Memory of the index, in bytes: in use, and waiting for snapshots to go.
  public var indexBytes: Int
  /// The part of `indexBytes` that only old snapshots can see.
  public var indexBytesRetired: Int
  /// Snapshots that are held.
  public var snapshots: Int
  /// Commits since the store was opened.
  public var commitsSinceOpen: Int
  /// Bytes that commits have written to the log since the store was opened.
  public var logBytesSinceOpen: UInt64
  /// Syncs of the log since the store was opened, but for births of segments.
  public var syncsSinceOpen: Int
  /// Bytes of the records that were committed since the store was opened: keys, values and headers,
  /// without what the log adds.
  public var recordBytesSinceOpen: UInt64
  /// Bytes of the log that the next opening would have to read: the part after the newest
  /// checkpoint.
  public var checkpointTailBytes: UInt64
  /// Bytes of the index file that the newest checkpoint reaches.
  public var indexFileBytes: Int
  /// Checkpoints written since the store was opened.
  public var checkpointsSinceOpen: Int
  /// Bytes written to index files since the store was opened.
  public var indexBytesWrittenSinceOpen: UInt64
  /// Bytes of the superblocks that were written since the store was opened, the one that opening
  /// wrote included.
  public var superblockBytesSinceOpen: UInt64
  /// Bytes written to the files of long values since the store was opened, of those that were
  /// finished.
  public var blobBytesSinceOpen: UInt64
  /// Checkpoints that failed since the store was opened. Nothing is lost by it; openings take
  /// longer.
  public var checkpointFailuresSinceOpen: Int
  /// The error of the last failed one.
  public var lastCheckpointFailure: String?
  /// The error of the last attempt to read `READERS`, the file in which readers register; nil if it
  /// succeeded. After an error the store assumes readers of every state: it removes no file of a
  /// long value, and reuses no space in the index file. Both resume once the file can be read, or
  /// is removed while there is no reader.
  public var lastReadersFailure: String?
  /// Reserved bytes on the medium (`StoreOptions.reserveBytes`).
  public var reserveBytes: UInt64
  /// Whether the reserve is incomplete, because there is no space. Then only commits that make the
  /// store smaller are accepted, until records were removed and the store was compacted, or other
  /// space is free.
  public var isShortOfRoom: Bool
  /// Dictionaries that values are compressed with, or were.
  public var dictionaries: Int
  /// Bytes of values that were to be compressed since the store was opened.
  public var compressibleBytesSinceOpen: UInt64
  /// Their bytes after compression, including values that did not shrink, unpacked.
  public var compressedBytesSinceOpen: UInt64
  /// Why the last dictionary that was due could not be made; nil when it could, or would not have
  /// helped.
  public var lastTrainingFailure: String?

  /// Segments whose records are in groups (`CompressionOptions.groupsColdRecords`).
  public var groupedSegments: Int
  /// How many bytes this makes their files shorter.
  public var groupedBytesSaved: UInt64
  /// Bytes of groups that are kept in memory as they are unpacked.
  public var groupCacheBytes: Int

  /// Bytes written to the store's files since it was opened: by commits and by compaction to the
  /// log, to blob files, to index files and superblocks. The reserve (`reserveBytes`) and the
  /// registrations of readers do not count.
  public var bytesWrittenSinceOpen: UInt64 {
    logBytesSinceOpen + compactionBytesSinceOpen + blobBytesSinceOpen + indexBytesWrittenSinceOpen
      + superblockBytesSinceOpen
  }

  /// Bytes written to the store's files for each byte of records and long values since it was
  /// opened; nil before the first record.
  public var writeAmplification: Double? {
    recordBytesSinceOpen == 0
      ? nil : Double(bytesWrittenSinceOpen) / Double(recordBytesSinceOpen + blobBytesSinceOpen)
  }
}

/// A snapshot that is not released yet.
public struct HeldSnapshot: Hashable, Sendable {
  /// The last commit that it sees.
  public var sequence: UInt64
  /// Commits that it does not see.
  public var commitsBehind: UInt64
  /// For how long its state has not been the newest, in seconds; 0 when it is.
  public var secondsBehind: Double
}

extension Store {
  /// Counts of the store as it is now.
  public var statistics: StoreStatistics {
    get throws {
      try engine.looking { state in
        let root = state.root
        let keys = state.catalog.keyspaces.dropFirst().reduce(0) { $0 + root.trees(of: $1).count($1.kind) }
        let entries = state.catalog.indexes.reduce(0) { $0 + root.tree(of: $1.index).count }
        let sealed = state.segments.segments.filter { $0.key != state.end.segment }
          .reduce(0) { $0 + UInt64($1.value.fileLength(end: state.segments.entries[Int($1.key)].end)) }
        let checkpoints = engine.checkpointer.statistics
        let totals = state.usage.totals
        let compactions = engine.compactor?.current
        let packing = engine.packing?.current ?? PackingCounts()
        return StoreStatistics(
          sequence: root.pointee.sequence, keys: keys, indexEntries: entries,
          segments: state.segments.segments.count,
          logBytes: sealed + state.end.offset,
          oldestSnapshots: state.oldestSnapshots(engine.pins.held(), max: 8),
          liveRecordBytes: totals.liveBytes, deadRecordBytes: totals.deadBytes,
          tombstoneBytes: totals.tombstoneBytes, compactionBytesSinceOpen: engine.written.compaction,
          lastCompactionFailure: compactions?.failure, replacedSegmentBytes: state.outdatedSegmentBytes,
          indexBytes: state.arena.liveByteCount,
          indexBytesRetired: state.arena.retiredByteCount, snapshots: engine.pins.count,
          commitsSinceOpen: state.statistics.commits, logBytesSinceOpen: state.statistics.logBytes,
          syncsSinceOpen: engine.gate.syncs, recordBytesSinceOpen: state.statistics.recordBytes,
          checkpointTailBytes: state.tailBytes, indexFileBytes: state.indexFileByteCount,
          checkpointsSinceOpen: checkpoints.count, indexBytesWrittenSinceOpen: checkpoints.writtenByteCount,
          superblockBytesSinceOpen: state.superblock?.writtenByteCount ?? 0,
          blobBytesSinceOpen: engine.written.blobs,
          checkpointFailuresSinceOpen: checkpoints.failureCount,
          lastCheckpointFailure: checkpoints.lastFailure,
          lastReadersFailure: engine.readers.lastFailure.map { "\($0)" },
          reserveBytes: engine.reserve.heldBytes,
          isShortOfRoom: engine.reserve.isShort,
          dictionaries: state.catalog.dictionaries.count,
          compressibleBytesSinceOpen: packing.valueBytes, compressedBytesSinceOpen: packing.storedBytes,
          lastTrainingFailure: packing.trainingFailure,
          groupedSegments: state.segments.segments.values.count { $0.isGrouped },
          groupedBytesSaved: state.segments.segments.values.reduce(0) { $0 + $1.bytesSavedByGroups },
          groupCacheBytes: engine.groups.bytes)
      }
    }
  }
}
