import PerdureFormat

/// Counts of an open store. The counts of its contents are taken at one moment. Those of syncs,
/// compactions and packed values can be slightly later.
public struct StoreStatistics: Sendable {
  /// The sequence number of the last commit.
  public var sequence: UInt64
  /// The number of keys in all keyspaces.
  public var keys: Int
  /// The number of entries in all derived indexes.
  public var indexEntries: Int
  /// The number of segments of the log.
  public var segments: Int
  /// The number of bytes of the log. Each segment counts up to the end of its last frame, or
  /// completely if it was rewritten.
  public var logBytes: UInt64
  /// The snapshots that are furthest behind, at most eight, oldest first. Their states prevent the
  /// reuse of space and memory.
  public var oldestSnapshots: [HeldSnapshot]
  /// The bytes of live records. `deadRecordBytes` has the bytes of records that are no longer live.
  /// `tombstoneBytes` has the bytes of tombstones, which mark removed keys. In all three counts,
  /// each record counts with the maximum length of its size class.
  public var liveRecordBytes: UInt64
  /// See `liveRecordBytes`.
  public var deadRecordBytes: UInt64
  /// See `liveRecordBytes`.
  public var tombstoneBytes: UInt64
  /// The number of bytes that compaction has written to segments since the store was opened.
  public var compactionBytesSinceOpen: UInt64
  /// The reason why the last run of background compaction failed; nil if it did not fail.
  public var lastCompactionFailure: String?
  /// The number of bytes of segment files that compaction has replaced, and that old snapshots
  /// still read. These files have no names anymore, but use space until the snapshots are released.
  public var replacedSegmentBytes: Int
  /// The memory of the index, in bytes: in use, or retained until snapshots are released.
  public var indexBytes: Int
  /// The part of `indexBytes` that the newest state does not use.
  public var indexBytesRetired: Int
  /// The number of snapshots that are not released.
  public var snapshots: Int
  /// The number of commits since the store was opened.
  public var commitsSinceOpen: Int
  /// The number of bytes that commits have written to the log since the store was opened.
  public var logBytesSinceOpen: UInt64
  /// The number of syncs of the log since the store was opened, without the syncs that create
  /// segments.
  public var syncsSinceOpen: Int
  /// The number of bytes of the records that were committed since the store was opened: keys,
  /// values and headers, without additional bytes of the log.
  public var recordBytesSinceOpen: UInt64
  /// The number of bytes of the log that the next opening must read: the part after the newest
  /// checkpoint.
  public var checkpointTailBytes: UInt64
  /// The number of bytes of the index file that the newest checkpoint uses.
  public var indexFileBytes: Int
  /// The number of checkpoints written since the store was opened.
  public var checkpointsSinceOpen: Int
  /// The number of bytes written to index files since the store was opened.
  public var indexBytesWrittenSinceOpen: UInt64
  /// The number of bytes of the superblocks written since the store was opened, including the
  /// superblock that opening wrote.
  public var superblockBytesSinceOpen: UInt64
  /// The number of bytes written to files of long values since the store was opened. Only finished
  /// files count.
  public var blobBytesSinceOpen: UInt64
  /// The number of checkpoints that failed since the store was opened. No data is lost by a
  /// failure, but openings take longer.
  public var checkpointFailuresSinceOpen: Int
  /// The error of the last failed checkpoint; nil if none has failed.
  public var lastCheckpointFailure: String?
  /// The error of the last attempt to read `READERS`, the file in which readers register; nil if it
  /// succeeded. A store that was opened for reading makes an attempt for these statistics. After an
  /// error the writer assumes readers of every state. So it removes no file of a long value, and
  /// reuses no space in the index file. The writer does both again when `READERS` can be read
  /// again, or was removed by hand. Remove `READERS` only while no program has the store open for
  /// reading.
  public var lastReadersFailure: String?
  /// The number of bytes reserved on the medium (`StoreOptions.reserveBytes`).
  public var reserveBytes: UInt64
  /// Whether the reserve is incomplete because of a lack of space. If so, only commits that make
  /// the store smaller are accepted until space is free. Space becomes free when records are
  /// removed and the store is compacted, or when other files are removed.
  public var isShortOfSpace: Bool
  /// The number of dictionaries with which values are, or were, compressed.
  public var dictionaries: Int
  /// The number of bytes of values, before compression, that were considered for compression since
  /// the store was opened.
  public var compressibleBytesSinceOpen: UInt64
  /// The number of bytes of these values after compression. Values that did not become shorter
  /// count with their full length.
  public var compressedBytesSinceOpen: UInt64
  /// The reason why the last automatic training of a dictionary failed; nil if it succeeded, with
  /// or without a new dictionary.
  public var lastTrainingFailure: String?

  /// The number of segments whose records are in groups (`CompressionOptions.groupsColdRecords`).
  public var groupedSegments: Int
  /// The number of bytes that grouping saves in the files of these segments.
  public var groupedBytesSaved: UInt64
  /// The number of bytes of unpacked groups that are kept in memory.
  public var groupCacheBytes: Int

  /// The number of bytes written to the store's files since the store was opened. These files are
  /// the log (written by commits and by compaction), blob files, index files and superblocks. The
  /// reserve (`reserveBytes`) and the registrations of readers are not included.
  public var bytesWrittenSinceOpen: UInt64 {
    logBytesSinceOpen + compactionBytesSinceOpen + blobBytesSinceOpen + indexBytesWrittenSinceOpen
      + superblockBytesSinceOpen
  }

  /// The number of bytes written to the store's files for each byte of records and long values,
  /// since the opening. Nil before the first record.
  public var writeAmplification: Double? {
    recordBytesSinceOpen == 0
      ? nil : Double(bytesWrittenSinceOpen) / Double(recordBytesSinceOpen + blobBytesSinceOpen)
  }
}

/// A snapshot that is not yet released.
public struct HeldSnapshot: Hashable, Sendable {
  /// The sequence number of the last commit that it contains.
  public var sequence: UInt64
  /// The number of later commits, which it does not contain.
  public var commitsBehind: UInt64
  /// The time since its state was replaced by a newer one, in seconds; 0 if it is still the newest.
  public var secondsBehind: Double
}

extension Store {
  /// The counts of the store at this moment.
  ///
  /// - Throws: `StoreError` with code `.closed` or `.forked`.
  public var statistics: StoreStatistics {
    get throws {
      let readersFailure = engine.readersFailure
      return try engine.readingState { state in
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
          lastReadersFailure: readersFailure.map { "\($0)" },
          reserveBytes: engine.reserve.heldBytes,
          isShortOfSpace: engine.reserve.isShort,
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
