public import PerdureFileIO
package import PerdureFormat

/// The options for opening a store. The defaults are right for most programs. Each option has its
/// unit, its range, its default and the reason. If a value is out of range, opening throws code
/// `.invalidArgument` before it accesses any file.
public struct StoreOptions: Sendable {
  /// The file system of the store's files.
  ///
  /// Default: the operating system's files. Why: other file systems are for tests, with files in
  /// memory or files that fail.
  public var fileSystem: any FileSystem = POSIXFileSystem()

  /// Whether a store is created if there is none.
  ///
  /// Default: true. Why: most programs need their store in their first run too. Set it to false in
  /// tools that inspect stores.
  public var createsIfMissing = true

  /// Whether the store is opened for reading only, without the writer's lock. No file of the store
  /// is written except `READERS` (`registersAsReader`), not even for a repair. Any number of
  /// processes may open a store this way, with or without a writer. They see the state at their
  /// opening; `Store.refresh()` advances to the newest state.
  ///
  /// Default: false. Why: most programs write.
  public var isReadOnly = false

  /// Whether a store that is opened for reading registers as a reader. It acquires a slot in the
  /// file `READERS`, which is created if absent. A writer keeps the files that a registered reader
  /// needs. If the file cannot be written, or this option is false, the whole index is read into
  /// memory. Then a blob file may be missing when its value is read (`.corruption`; call
  /// `refresh()` and read again).
  ///
  /// Default: true. Why: the index is read in place in its file, and needs no separate memory. Set
  /// it to false to keep a directory completely unchanged.
  public var registersAsReader = true

  /// The maximum time that an opening for writing waits while another opening has the store open
  /// for writing. After that time it fails with code `.locked`. It tries again after 1 ms, then at
  /// intervals that grow to 100 ms. The thread sleeps meanwhile. If the caller's task is cancelled,
  /// the opening throws `CancellationError`.
  ///
  /// Range: 0 or more. Default: 0, so it does not wait. Why: a program that opens its store twice
  /// usually has a bug, and waiting hides the bug.
  public var lockTimeout = Duration.zero

  /// The length at which a segment is full and the next one begins. It is used when the store is
  /// created, and cannot be changed later.
  ///
  /// Unit: bytes. Range: 4,096 to 268,435,456 (256 MiB), a multiple of 8. Default: 64 MiB. Why:
  /// segments are so long that the time for creating them (two syncs each) is not noticed. They are
  /// short enough that compaction can choose between several.
  public var segmentCapacityBytes = 64 << 20

  /// The durability of commits for which none is given.
  ///
  /// Default: `powerLoss`. Why: most programs rely on acknowledged commits. A program that needs
  /// speed more can choose a weaker level.
  public var durability = Durability.powerLoss

  /// Values longer than this get a separate file.
  ///
  /// Unit: bytes. Range: 1,024 to 1,048,576 (1 MiB). Default: 1 MiB. Why: for values from about
  /// this length on, syncing a separate file costs less than copying the value in every compaction
  /// (docs/decisions/0004-blob-files-from-1-mib.md).
  public var blobThresholdBytes = FormatLimits.inlineValueLengthMax

  /// Whether and how values are compressed when they are written.
  ///
  /// Default: values are not compressed. Why: see `CompressionOptions.mode`.
  public var compression = CompressionOptions()

  /// The conditions for writing the index to disk. With the index, opening does not read the whole
  /// log.
  ///
  /// Default: at close, when the store is idle, and when the log after the last checkpoint is long.
  /// Why: then stores of any size open in milliseconds, and writing the index adds little work.
  public var checkpoints = CheckpointOptions()

  /// Whether the checksum of a record is verified at every read.
  ///
  /// Default: true. Why: it costs about a tenth of the time of a read, and damaged bytes are never
  /// returned as a value.
  public var verifiesChecksumsOnRead = true

  /// Whether opening reads and checks the whole index file.
  ///
  /// If this is false, each node of the index is checked at its first use. If the node is damaged,
  /// the read throws an error, and the next opening builds the index from the log. If this is true,
  /// an opening finds the damage, and builds the index immediately.
  ///
  /// Default: false. Why: a store of any size opens in milliseconds, and unchecked nodes are never
  /// read. The option is for tools that only read a store, and cannot open it again for writing.
  public var checksIndexAtOpening = false

  /// The factories of extractors, by name. Extractors make the entries of derived indexes. Built-in
  /// extractors need not be listed.
  ///
  /// Default: none. Why: a program only has to provide the extractors that its indexes need in
  /// addition to the built-in ones.
  public var indexExtractors: [String: any IndexExtractorFactory] = [:]

  /// Called with the progress of a long recovery: the number of bytes of the log read, and the
  /// number of bytes to read. It is called on the thread that opens (or refreshes,
  /// `Store.refresh()`), after each mebibyte and at the end. If the function throws, the opening is
  /// cancelled: the store is unchanged, and the opening throws that error. In a refresh the
  /// function must not refresh the same store, because such a call deadlocks.
  ///
  /// Default: nil. Why: few programs can show the progress.
  public var recoveryProgress: (@Sendable (_ bytesRead: UInt64, _ bytesTotal: UInt64) throws -> Void)?

  /// Whether the store compacts itself in the background when enough of the log is garbage.
  ///
  /// Default: true. Why: without compaction a log grows without limit. Set it to false to compact
  /// at chosen times with `Store.compact(progress:)`.
  public var compactsAutomatically = true

  /// The part of the log's record bytes that may be garbage before the store compacts itself. The
  /// store checks this after a commit, at opening, and when a snapshot that held garbage is
  /// released. Garbage that snapshots hold is not counted after a run has found it. The minimum
  /// garbage for a run is an eighth of a segment, but at least 1 MiB and at most 8 MiB.
  ///
  /// Unit: a fraction of 1. Range: 0.05 to 0.9. Default: 0.18. Why: if updates are spread evenly
  /// over the keys, the log stays near 1.25 times its live bytes (`make bench-log`, its part
  /// "steady", measures it). It grows beyond that if commits arrive faster than one thread can
  /// read, look up and write. Each byte is written two to three times.
  public var compactionGarbageRatio = 0.18

  /// The speed at which background compaction writes while the garbage is near the ratio. With more
  /// garbage it writes faster. Writes for garbage that is added meanwhile are not slowed down.
  ///
  /// Unit: bytes per second. Range: 1,048,576 (1 MiB) or more. Default: 64 MiB. Why: this is a
  /// fraction of the speed of any disk, so other work can use the rest.
  public var compactionBytesPerSecond = 64 << 20

  /// The maximum length of all records of one commit: keys, values and headers, without values in
  /// blob files. A longer commit is refused with code `.invalidArgument` while it is filled in.
  ///
  /// Unit: bytes. Range: 2,097,152 (2 MiB) or more. Default: 1 GiB. Why: the records of a commit
  /// are in memory, and writing them needs the same amount of memory again. Larger changes can
  /// usually be committed in parts.
  public var batchBytesMax = 1 << 30

  /// The maximum space that the store reserves on the medium. With the reserve it can remove
  /// records and compact itself when no other space is left. It reserves only the space that these
  /// operations need. For compaction that is the length of the longest segment and up to a quarter
  /// more. For removals it is an eighth of that, but at least 64 KiB. The space is in files named
  /// `*.reserve`. A log below 64 KiB has no reserve. If there is no space for the reserve, commits
  /// that make the store larger are refused with code `.diskFull`.
  ///
  /// Unit: bytes. Range: 0 (no reserve), or 131,072 to 536,870,912 (512 MiB). Default: 72 MiB. Why:
  /// a segment of 64 MiB can then be compacted, even if all of it is live.
  public var reserveBytes = 72 << 20

  /// The number of bytes of the log that may wait for a sync. If more bytes wait, a background sync
  /// begins, regardless of the durability of the commits. The file of the next segment is also
  /// created in the background. The commit that begins the next segment then usually has to sync at
  /// most this many bytes. The option is not public, because it depends on the medium and not on
  /// the program. A lower value causes more transactions of the file system. A higher value causes
  /// a longer wait.
  ///
  /// Unit: bytes.
  package var syncAheadBytes: UInt64 = 4 << 20

  /// The policy for extending the last segment's file ahead of the log. It is not public, because
  /// it depends on the medium and not on the program.
  package var logRoom = LogRoom()

  /// Whether the checksums of index nodes are verified. False only in the proof, which must detect
  /// that the check is missing.
  package var verifiesIndexChecksums = true

  /// Whether a compaction keeps the tombstones that are needed. False only in the proof, which must
  /// detect that tombstones are missing.
  package var compactionKeepsTombstones = true

  /// Whether a forked child may use the store. True only in the proof, which must detect the
  /// damage.
  package var ignoresForks = false

  /// Whether the writer checks that its folder is still its own. False only in the proof, which
  /// must detect that the check is missing.
  package var checksFolder = true

  /// Whether a replaced record must have the keyspace and the key of its replacement. This is
  /// checked before the entries of the replaced record are removed from indexes. False only in the
  /// proof, which must detect that the check is missing.
  package var comparesReplacedRecords = true

  /// Whether a record that a snapshot reads must have the requested keyspace and key. False only in
  /// the proof, which must detect that the check is missing.
  package var comparesReadRecords = true

  /// The minimum garbage for a background compaction, in bytes; nil: the minimum that
  /// `compactionGarbageRatio` names. The value is smaller only in the proof, whose stores are
  /// small.
  package var compactionGarbageBytesMin: UInt64?

  /// The identity of a new store; nil: a random identity. Only the proof sets it, to create the
  /// same store a second time. Frames and records contain values that depend on the identity. The
  /// length of packed data also depends on it.
  package var newStoreID: StoreID?

  /// The draft in which a salvage makes its store; nil: none. The store uses the lock of the draft,
  /// and keeps its mark.
  var draft: CopyDraft?

  /// Whether new segments bind their records to their addresses (`RecordCheck`). False only in
  /// tests, which write stores like earlier versions.
  package var bindsRecords = true

  /// Creates options with all defaults.
  public init() {}

  func validate() throws {
    try checkpoints.validate()
    try compression.validate()
    guard (4096...FormatLimits.segmentCapacityMax).contains(segmentCapacityBytes),
      segmentCapacityBytes % FormatLimits.alignment == 0
    else {
      throw StoreError(
        .invalidArgument,
        "segmentCapacityBytes is \(segmentCapacityBytes); give a multiple of 8 from 4096 to 268435456")
    }
    guard (0.05...0.9).contains(compactionGarbageRatio) else {
      throw StoreError(
        .invalidArgument, "compactionGarbageRatio is \(compactionGarbageRatio); give 0.05 to 0.9")
    }
    guard compactionBytesPerSecond >= 1 << 20 else {
      throw StoreError(
        .invalidArgument, "compactionBytesPerSecond is \(compactionBytesPerSecond); give 1048576 or more")
    }
    guard lockTimeout >= .zero else {
      throw StoreError(.invalidArgument, "lockTimeout is \(lockTimeout); give 0 or more")
    }
    guard batchBytesMax >= 2 << 20 else {
      throw StoreError(.invalidArgument, "batchBytesMax is \(batchBytesMax); give 2097152 or more")
    }
    guard reserveBytes == 0 || (128 << 10...512 << 20).contains(reserveBytes) else {
      throw StoreError(
        .invalidArgument, "reserveBytes is \(reserveBytes); give 0, or 131072 to 536870912")
    }
    guard (1024...FormatLimits.inlineValueLengthMax).contains(blobThresholdBytes) else {
      throw StoreError(
        .invalidArgument, "blobThresholdBytes is \(blobThresholdBytes); give 1024 to 1048576")
    }
  }
}
