import PerdureFileIO
import PerdureFormat

/// The files of a store as they were at one commit, for a backup.
///
/// The segments are kept open, so they stay readable after compaction removes their names.
/// `snapshot` retains the blob files. A segment is released after it was copied. The snapshot is
/// released when the backup ends.
struct BackupSource {
  /// A segment of the log, and the offset where the log ends in it.
  struct Part {
    var segment: Segment
    var end: Int

    /// The number of bytes of the segment's file that belong to the log.
    var length: Int { segment.fileLength(end: end) }
  }

  /// The superblock of the copy.
  var superblock: Superblock
  /// The segments of the log, oldest first.
  var parts: [Part]
  let blobs: BlobFiles
  /// The numbers of the blob files that records reference at that commit.
  let liveBlobs: Set<UInt64>
  /// Whether live records reference every file in `liveBlobs`. If not, some of these files may
  /// belong to dead records.
  let knowsAllBlobs: Bool
  /// Retains the blob files of an open store; nil if it has none, and for a backup in a folder.
  let snapshot: Snapshot?

  /// The superblock of a copy of the log up to `end`. It references no checkpoint, and marks the
  /// copy as not yet opened by a writer.
  static func superblock(
    copying current: Superblock, end: LogPosition, sequence: UInt64, nextBlob: UInt64, _ parts: [Part]
  ) throws(StoreError) -> Superblock {
    guard current.allowsWriting else {
      throw StoreError(
        .unsupportedFormat,
        "A backup by this version of Perdure would lose a feature of the store: \(current.featuresToWrite). "
          + "Make the backup with a newer version")
    }
    var copy = Superblock(store: current.store, segmentCapacity: current.segmentCapacity)
    copy.compatibleFeatures = current.compatibleFeatures
    copy.readOnlyCompatibleFeatures = current.readOnlyCompatibleFeatures
    // A store opened for reading may have segments that are newer than the superblock it has read.
    copy.incompatibleFeatures = parts.reduce(current.incompatibleFeatures) {
      $0 | $1.segment.header.incompatibleFeatures
    }
    (copy.durableEnd, copy.durableSequence, copy.nextBlob) = (end, sequence, nextBlob)
    copy.branch = current.branch
    copy.branch.isUnopenedCopy = true
    return copy
  }
}

extension BackupSource {
  /// The newest state of an open store. If the store is open for writing, the state is durable in
  /// the store when the initializer returns.
  ///
  /// - Complexity: O(n log n) for n segments, while commits wait; then one sync.
  init(of engine: Engine) throws {
    self = try engine.readingState { state in
      guard let current = state.superblock?.current else { throw StoreError.closed }
      // In a poisoned store, a part of a commit can follow the end of the last whole commit.
      let end = state.root.pointee.end
      let segments = state.segments.segments.values.filter { $0.number <= end.segment }
      let parts = segments.sorted { $0.number < $1.number }.map { segment in
        let isLast = segment.number == end.segment
        return Part(
          segment: segment,
          end: isLast ? Int(end.offset) : state.segments.entries[Int(segment.number)].end)
      }
      let superblock = try Self.superblock(
        copying: current, end: end, sequence: state.root.pointee.sequence, nextBlob: state.nextBlob, parts)
      return BackupSource(
        superblock: superblock, parts: parts, blobs: engine.blobs, liveBlobs: state.liveBlobs,
        knowsAllBlobs: true,
        // No commit is published during the turn, so the snapshot has this state.
        snapshot: state.liveBlobs.isEmpty ? nil : Snapshot(engine))
    }
    // A backup must not contain commits that the store can still lose in a power cut. After such a
    // loss, the store's log could continue differently.
    if !engine.options.isReadOnly { try engine.gate.waitUntilSynced(superblock.durableEnd) }
  }

  /// The state of a backup in a folder that no writer has opened. Its log ends at the superblock's
  /// durable end. The index is not built.
  init(ofBackupAt path: String, _ superblock: Superblock, _ fileSystem: any FileSystem) throws {
    let directory = try fileSystem.openDirectory(path)
    let files = try StoreFiles(in: directory)
    let chain = try SegmentChain(
      files.segments, in: directory, .read, superblock, GroupCache(bytesMax: 0))
    let end = superblock.durableEnd
    guard chain.links.last?.segment.number ?? 0 == end.segment,
      chain.links.last.map({ UInt64($0.size) >= end.offset }) ?? true
    else {
      throw StoreError(
        .corruption, "The backup lacks the end of its log; restore another one",
        at: StoreFileName.segment(end.segment).string)
    }
    let parts = chain.links.map { Part(segment: $0.segment, end: Int($0.end ?? end.offset)) }
    self.init(
      superblock: try Self.superblock(
        copying: superblock, end: end, sequence: superblock.durableSequence, nextBlob: superblock.nextBlob,
        parts),
      parts: parts,
      blobs: BlobFiles(directory: directory, storeID: superblock.store),
      liveBlobs: Set(files.blobs), knowsAllBlobs: false, snapshot: nil)
  }
}
