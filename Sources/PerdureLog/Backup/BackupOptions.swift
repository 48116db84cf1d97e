public import PerdureFileIO

/// How a backup of a store is made. `Store.backup` throws `.invalidArgument` for a value that is
/// out of range.
public struct BackupOptions: Sendable {
  /// How fast the backup reads while commits are made. Without commits the speed is not limited.
  /// A backup of a store opened for reading is always limited: commits of the writing process are
  /// not counted.
  ///
  /// Unit: bytes per second; nil: no limit. Range: 65,536 (64 KiB) or more. Default: 32 MiB.
  /// Why: commits wait for the same disk, and a backup is rarely urgent.
  public var bytesPerSecond: Int? = 32 << 20

  /// The file system that the backup is written to.
  ///
  /// Default: nil, the file system of the store. Why: only a store in memory is backed up to
  /// another file system.
  public var fileSystem: (any FileSystem)?

  /// All defaults.
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
  /// Bytes of files that were written to the backup, or read from it, so far.
  public var bytesDone: UInt64 = 0
  /// Bytes of all files known so far. It grows as values with files of their own are found.
  public var bytesTotal: UInt64 = 0

  /// By default nothing is done yet.
  public init(bytesDone: UInt64 = 0, bytesTotal: UInt64 = 0) {
    (self.bytesDone, self.bytesTotal) = (bytesDone, bytesTotal)
  }
}

/// The contents of a backup or of a restored store.
public struct BackupReport: Hashable, Sendable {
  /// The sequence number of the last commit in it.
  public var sequence: UInt64 = 0
  /// Number of log segments.
  public var segments = 0
  /// Number of values with files of their own.
  public var blobs = 0
  /// Bytes that were read, checked and written.
  public var bytesCopied: UInt64 = 0
  /// Bytes of files shared with the earlier backup. Segments were compared by their bytes, values
  /// by header and checksums; none was written.
  public var bytesShared: UInt64 = 0
}
