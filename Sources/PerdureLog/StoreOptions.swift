public import PerdureFileIO
package import PerdureFormat

/// How a store is opened. The defaults suit most programs; each option gives its unit, its range,
/// its default and the reason. Opening refuses a value out of range with code `.invalidArgument`,
/// before it touches a file.
public struct StoreOptions: Sendable {
  /// Where the files are.
  ///
  /// Default: the operating system's files. Why: tests bring files in memory, or files that fail.
  public var fileSystem: any FileSystem = POSIXFileSystem()

  /// Whether a store is made when there is none.
  ///
  /// Default: true. Why: most programs want their store, first run or not; a tool that looks at
  /// stores says false.
  public var createsIfMissing = true

  /// Opens without taking the writer's place: no file of the store is written, not even for a
  /// repair. Any number of processes may open a store this way, with or without a writer. They see
  /// the state at their opening; `Store.refresh()` advances to the newest.
  ///
  /// Default: false. Why: most openers write.
  public var isReadOnly = false

  /// Whether a store that is opened for reading registers as a reader. It takes a slot in the file
  /// `READERS`, which is created if absent, and a writer keeps the files that it needs. If that
  /// file cannot be written, or with false here, the whole index is read into memory, and a blob
  /// file may be missing when its value is read (`.corruption`; call `refresh()` and read again).
  ///
  /// Default: true. Why: the index stays where it is, and takes no memory. Say false to leave a
  /// directory exactly as it is.
  public var registersAsReader = true

  /// How long an opening for writing waits while the store is open for writing elsewhere. After
  /// that it fails with code `.locked`. It tries again after 1 ms, then at intervals that grow to
  /// 100 ms; the thread sleeps meanwhile. If the task of the caller is cancelled, the opening
  /// throws `CancellationError`.
  ///
  /// Range: 0 or more. Default: 0, it does not wait. Why: a program that opens its store twice
  /// usually has a bug that waiting would hide.
  public var lockTimeout = Duration.zero

  /// The size at which a segment is full and the next one begins. Taken when the store is created,
  /// and kept.
  ///
  /// Unit: bytes. Range: 4,096 to 268,435,456 (256 MiB), a multiple of 8. Default: 64 MiB. Why:
  /// large enough that births of segments (two syncs each) do not show, small enough that
  /// compaction has something to choose from.
  public var segmentCapacityBytes = 64 << 20

  /// The durability of commits that do not say.
  ///
  /// Default: `powerLoss`. Why: an acknowledged commit should be durable, unless the program
  /// chooses speed instead.
  public var durability = Durability.powerLoss

  /// Values longer than this get a file of their own.
  ///
  /// Unit: bytes. Range: 1,024 to 1,048,576 (1 MiB). Default: 1 MiB. Why: about there a file's own
  /// syncs cost less than copying the value in every compaction
  /// (docs/decisions/0004-blob-files-from-1-mib.md).
  public var blobThresholdBytes = FormatLimits.inlineValueLengthMax

  /// Whether values are compressed when they are written.
  ///
  /// Default: they are not. Why: see `CompressionOptions.mode`.
  public var compression = CompressionOptions()

  /// When the index is written to disk, so that opening does not read the whole log.
  ///
  /// Default: at close, when the store is idle, and when the log behind the last checkpoint is
  /// long. Why: stores then open in milliseconds, whatever their size, and writing the index adds
  /// little.
  public var checkpoints = CheckpointOptions()

  /// Whether the checksum of a record is verified at every read.
  ///
  /// Default: true. Why: it costs about a tenth of a read, and damage is never returned as a value.
  public var verifiesChecksumsOnRead = true

  /// Whether opening reads and checks the whole index file.
  ///
  /// Otherwise each node of the index is checked at its first use. A damaged node is an error then,
  /// and the next opening builds the index from the log. With this option an opening does so at
  /// once.
  ///
  /// Default: false. Why: a store of any size opens in milliseconds, and nothing unchecked is ever
  /// read. It is for tools that only read a store, and cannot open it again for writing.
  public var checksIndexAtOpening = false

  /// What makes the entries of derived indexes, by name. Built-in ones need not be listed.
  ///
  /// Default: none. Why: a program supplies the extractors that its indexes need besides the
  /// built-in ones.
  public var indexExtractors: [String: any IndexExtractorFactory] = [:]

  /// Called with the progress of a long recovery: bytes of the log read, and bytes to read. Called
  /// on the thread that opens (or refreshes, `Store.refresh()`), after each mebibyte and at the
  /// end. Throw from it to cancel the opening: the store is unchanged, and the opening throws that
  /// error. In a refresh it must not refresh the same store: that call would deadlock.
  ///
  /// Default: nil. Why: few programs have a place to show it.
  public var recoveryProgress: (@Sendable (_ bytesRead: UInt64, _ bytesTotal: UInt64) throws -> Void)?

  /// Whether the store compacts itself in the background when enough of the log is garbage.
  ///
  /// Default: true. Why: without compaction a log grows without limit. Set it to false to choose
  /// the moments with `Store.compact(progress:)`.
  public var compactsAutomatically = true

  /// How much of the log's record bytes may be garbage before the store compacts itself: after a
  /// commit, at opening, and when a snapshot that held garbage is released. Garbage that snapshots
  /// hold does not count once a run has found it. No run begins for less than 8 MiB, or an eighth
  /// of a segment if that is less, and never for less than 1 MiB.
  ///
  /// Unit: a part of 1. Range: 0.05 to 0.9. Default: 0.18. Why: under updates that favour no key
  /// the log stays near 1.25 times its live bytes (`make bench-log`, its part "steady", measures
  /// it). It grows beyond that when commits arrive faster than one thread can read, look up and
  /// write. Each byte is written two to three times.
  public var compactionGarbageRatio = 0.18

  /// How fast background compaction writes while garbage is near the ratio; with more garbage it is
  /// faster. For garbage that comes while it writes it is not held back.
  ///
  /// Unit: bytes in a second. Range: 1,048,576 (1 MiB) up. Default: 64 MiB. Why: a fraction of the
  /// speed of any disk, so that other work gets the rest.
  public var compactionBytesPerSecond = 64 << 20

  /// The maximum length of all records of one commit: keys, values and headers, without values in
  /// blob files. A longer commit is refused with code `.invalidArgument` while it is filled.
  ///
  /// Unit: bytes. Range: 2,097,152 (2 MiB) up. Default: 1 GiB. Why: a commit is in memory, twice
  /// while it is written. Larger changes can usually be committed in parts.
  public var batchBytesMax = 1 << 30

  /// The maximum space that the store reserves on the medium, so that it can remove records and
  /// compact itself when no other space is left. It reserves as much as that takes: an eighth more
  /// than the longest segment, in files named `*.reserve`; nothing for a log below 64 KiB. When the
  /// reserve no longer fits, commits that make the store larger are refused with code `.diskFull`.
  ///
  /// Unit: bytes. Range: 0 (no reserve), or 131,072 to 536,870,912 (512 MiB). Default: 72 MiB. Why:
  /// a segment of 64 MiB can then be compacted, however much of it is live.
  public var reserveBytes = 72 << 20

  /// How many bytes of the log may wait for a sync before one begins in the background, whatever
  /// durability commits ask for, and the file of the next segment is created. The creation of that
  /// segment, for which a commit waits, then has to wait for no more than these. Not public,
  /// because it depends on the medium and not on the program: less would mean more transactions of
  /// the file system, more would mean a longer wait.
  ///
  /// Unit: bytes.
  package var syncAheadBytes: UInt64 = 4 << 20

  /// How far ahead of the log its file gets its length. Not public for the same reason.
  package var logRoom = LogRoom()

  /// Whether the checksums of index nodes are verified. Only for the proof, which must detect that
  /// they are missing.
  package var verifiesIndexChecksums = true

  /// Whether a compaction keeps the tombstones that are needed. Only for the proof, which must
  /// detect the difference.
  package var compactionKeepsTombstones = true

  /// Whether a forked child may use the store. Only for the proof, which must detect the damage.
  package var ignoresForks = false

  /// Whether the writer checks that its folder is still its own. False only in the proof, which
  /// must detect the omission.
  package var checksFolder = true

  /// The identity of a new store; nil: a random identity. Only for the proof, which creates a store
  /// a second time: frames and records contain values that depend on it, and so does the length of
  /// packed data.
  package var newStoreID: StoreID?

  /// Whether new segments bind their records to their addresses (`RecordCheck`). False only in
  /// tests, which write stores as earlier versions did.
  package var bindsRecords = true

  /// All defaults.
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
