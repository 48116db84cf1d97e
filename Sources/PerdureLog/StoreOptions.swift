public import PerdureFileIO
package import PerdureFormat

/// How a store is opened. The defaults are meant to be right; each knob says its unit, its range, its default
/// and why that is the default. Opening refuses what is out of range with code `.invalidArgument`, before it
/// touches a file.
public struct StoreOptions: Sendable {
  /// Where the files are.
  ///
  /// Default: the operating system's files. Why: tests bring files in memory, or files that fail.
  public var fileSystem: any FileSystem = POSIXFileSystem()

  /// Whether a store is made when there is none.
  ///
  /// Default: true. Why: most programs want their store, first run or not; a tool that looks at stores says
  /// false.
  public var createsIfMissing = true

  /// Opens without taking the writer's place: nothing of the store is written, not even a repair. Any number of
  /// processes may have a store open so, beside one that writes and without one; what they see is the
  /// state when they opened it, and `Store.refresh()` goes on to the newest.
  ///
  /// Default: false. Why: most openers write.
  public var isReadOnly = false

  /// Whether a store that is opened for reading registers as a reader: it takes a slot in the file `READERS`,
  /// which is made if it is not there, and a writer keeps the files that it needs. Where that file cannot be
  /// written, or with false here, the index is read into memory as a whole, and a value with a file of
  /// its own may be gone when it is asked for (`.corruption`; `refresh()` and ask again).
  ///
  /// Default: true. Why: the index stays where it is, and takes no memory. Say false to leave a directory
  /// exactly as it is.
  public var registersAsReader = true

  /// How long an opening for writing waits while the store is already open for writing. After that
  /// it fails with code `.locked`. It tries again after 1 ms, then at intervals that grow to 100
  /// ms; the thread sleeps meanwhile. If the task of the caller is cancelled, the opening throws
  /// `CancellationError`.
  ///
  /// Range: 0 or more. Default: 0, it does not wait. Why: a program that opens its store twice
  /// usually has a bug that waiting would hide.
  public var lockTimeout = Duration.zero

  /// The size at which a segment is full and the next one begins. Taken when the store is created, and kept.
  ///
  /// Unit: bytes. Range: 4,096 to 268,435,456 (256 MiB), a multiple of 8. Default: 64 MiB. Why: large enough
  /// that births of segments (two syncs each) do not show, small enough that compaction has something to
  /// choose from.
  public var segmentCapacityBytes = 64 << 20

  /// The durability of commits that do not say.
  ///
  /// Default: `powerLoss`. Why: an acknowledged commit should be durable, unless the program
  /// chooses speed instead.
  public var durability = Durability.powerLoss

  /// Values longer than this get a file of their own.
  ///
  /// Unit: bytes. Range: 1,024 to 1,048,576 (1 MiB). Default: 1 MiB. Why: about there a file's own syncs cost
  /// less than copying the value in every compaction (docs/decisions/0004-blob-files-from-1-mib.md).
  public var blobThresholdBytes = FormatLimits.inlineValueLengthMax

  /// Whether values are compressed when they are written.
  ///
  /// Default: they are not. Why: see `CompressionOptions.mode`.
  public var compression = CompressionOptions()

  /// When the index is written to disk, so that opening does not read the whole log.
  ///
  /// Default: at close, when the store is idle, and when the log behind the last checkpoint is long. Why:
  /// stores open in milliseconds then, whatever their size, and the index adds little to what is written.
  public var checkpoints = CheckpointOptions()

  /// Whether the checksum of a record is verified at every read.
  ///
  /// Default: true. Why: it costs about a tenth of a read, and damage never comes back as a value.
  public var verifiesChecksumsOnRead = true

  /// Whether opening reads and checks the whole index file.
  ///
  /// Otherwise each node of the index is checked when it is first come to. What is damaged is an error then, and
  /// the next opening builds the index from the log; with this set an opening does so at once.
  ///
  /// Default: false. Why: a store of any size opens in milliseconds, and nothing unchecked is ever read. It is for tools
  /// that only read a store, and cannot open it again for writing.
  public var checksIndexAtOpening = false

  /// What makes the entries of derived indexes, by name. Built-in ones need not be listed.
  ///
  /// Default: none. Why: what an index needs beside the built-in extractors, its program brings along.
  public var indexExtractors: [String: any IndexExtractorFactory] = [:]

  /// Hears how far a long recovery is: bytes of the log that were read, bytes that have to be. Called on the thread that
  /// opens (or goes on, `Store.refresh()`), after each mebibyte and at the end. Throw from it to give the opening up:
  /// nothing of the store was changed then, and what was thrown is what the opening throws.
  /// In a refresh it must not refresh the same store: that waits for this refresh, without end.
  ///
  /// Default: nil. Why: few programs have a place to show it.
  public var recoveryProgress: (@Sendable (_ bytesRead: UInt64, _ bytesTotal: UInt64) throws -> Void)?

  /// Whether the store compacts itself in the background when enough of the log is garbage.
  ///
  /// Default: true. Why: without compaction a log grows without limit. Set it to false to choose
  /// the moments with `Store.compact(progress:)`.
  public var compactsAutomatically = true

  /// How much of the log's record bytes may be garbage before the store compacts itself: after a commit, when it
  /// is opened, and when a snapshot goes that held some. Garbage that snapshots hold does not count once a run has
  /// found it; no run is begun for less than 8 MiB, or an eighth of a segment where that is less (but never for
  /// less than 1 MiB).
  ///
  /// Unit: a part of 1. Range: 0.05 to 0.9. Default: 0.18. Why: the log stays near 1.25 times what is live
  /// under updates that favour no key (`make bench-log`, its part "steady", says how near), and above where commits come
  /// faster than one thread can read, look up and write; each byte is written two to three times.
  public var compactionGarbageRatio = 0.18

  /// How fast background compaction writes while garbage is near the ratio; with more garbage it is faster. For
  /// garbage that comes while it writes it is not held back.
  ///
  /// Unit: bytes in a second. Range: 1,048,576 (1 MiB) up. Default: 64 MiB. Why: a fraction of what any disk
  /// does, so that others get theirs.
  public var compactionBytesPerSecond = 64 << 20

  /// How long the records of one commit may be in all: keys, values and headers, without what has files of
  /// its own. Beyond, a commit is refused with code `.invalidArgument` while it is filled in.
  ///
  /// Unit: bytes. Range: 2,097,152 (2 MiB) up. Default: 1 GiB. Why: a commit is in memory, twice
  /// while it is written. Larger changes can usually be committed in parts.
  public var batchBytesMax = 1 << 30

  /// How much room the store holds back on the medium at most, so that it can remove records and compact
  /// itself when there is none left. As much as that takes is held back: an eighth more than the longest
  /// segment has, in files named `*.reserve`; nothing for a log below 64 KiB. When it does not fit any more,
  /// commits that make the store larger are refused with code `.diskFull`.
  ///
  /// Unit: bytes. Range: 0 (hold nothing back), or 131,072 to 536,870,912 (512 MiB). Default: 72 MiB. Why: a
  /// segment of 64 MiB can be compacted then, whatever is left of it.
  public var reserveBytes = 72 << 20

  /// How much of the log may wait for a sync before one begins in the background, whatever durability commits ask
  /// for, and the file of the next segment is made. The birth of that segment, for which a commit waits, has to
  /// wait for no more. Not public, because it is a matter of the medium and not of the program: less would be more
  /// transactions of the file system, more a longer wait.
  ///
  /// Unit: bytes.
  package var syncAheadBytes: UInt64 = 4 << 20

  /// How far ahead of the log its file gets its length. Not public for the same reason.
  package var logRoom = LogRoom()

  /// Whether the checksums of index nodes are verified. Only for the proof, which has to find that they are not.
  package var verifiesIndexChecksums = true

  /// Whether a compaction keeps the tombstones that are needed. Only for the proof, which has to find that it does not.
  package var compactionKeepsTombstones = true

  /// Whether a forked child may use the store. Only for the proof, which must detect the damage.
  package var ignoresForks = false

  /// Whether the writer checks that its folder is still its own. False only in the proof, which
  /// must detect the omission.
  package var checksFolder = true

  /// The identity that a new store gets; nil: one is drawn. Only for the proof, which makes a store a second time: frames
  /// and records carry what follows from it, and so does the length of what is packed.
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
