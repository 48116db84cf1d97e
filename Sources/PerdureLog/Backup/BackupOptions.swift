public import PerdureFileIO

/// How a backup of a store is made. `Store.backup` throws `.invalidArgument` for a value that is
/// out of range.
public struct BackupOptions: Sendable {
  /// The maximum speed of the backup while commits are made. Without commits the speed is not
  /// limited. If the store was opened for reading, the limit always applies, because commits of the
  /// writing process are not counted.
  ///
  /// Unit: bytes per second; nil: no limit. Range: 65,536 (64 KiB) or more. Default: 32 MiB. Why:
  /// commits wait for the same disk, and a backup is rarely urgent.
  public var bytesPerSecond: Int? = 32 << 20

  /// The file system to which the backup is written.
  ///
  /// Default: nil, the file system of the store. Why: only a store in memory is backed up to
  /// another file system.
  public var fileSystem: (any FileSystem)?

  /// The clock for the speed limit; nil: the clock of the system.
  var clock: BackupClock?

  /// Creates options with all defaults.
  public init() {}

  func validate() throws {
    if let bytesPerSecond, bytesPerSecond < 64 << 10 {
      throw StoreError(
        .invalidArgument, "bytesPerSecond is \(bytesPerSecond); give 65536 or more, or nil for no limit")
    }
  }
}

/// The progress of a backup or a restore.
public struct BackupProgress: Hashable, Sendable {
  /// The number of bytes that are done: bytes that were written to the backup, shared, or read from
  /// the backup.
  public var bytesDone: UInt64 = 0
  /// The number of bytes of all files that are known now. It grows when values with files of
  /// their own are found.
  public var bytesTotal: UInt64 = 0

  /// Creates a progress value. By default, both counts are zero.
  public init(bytesDone: UInt64 = 0, bytesTotal: UInt64 = 0) {
    (self.bytesDone, self.bytesTotal) = (bytesDone, bytesTotal)
  }
}

/// The contents of a backup or of a restored store.
public struct BackupReport: Hashable, Sendable {
  /// The sequence number of the last commit in the backup or store.
  public var sequence: UInt64 = 0
  /// The number of log segments.
  public var segments = 0
  /// The number of values in separate files.
  public var blobs = 0
  /// The number of bytes that were read, verified and written.
  public var bytesCopied: UInt64 = 0
  /// The number of bytes of files that are shared with the earlier backup. These bytes were not
  /// written. Segments were compared byte by byte, and values by their headers and checksums.
  public var bytesShared: UInt64 = 0
}
