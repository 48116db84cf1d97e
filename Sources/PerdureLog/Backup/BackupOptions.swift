public import PerdureFileIO

/// How a backup of a store is made. Making it refuses what is out of range with code
/// `.invalidArgument`.
public struct BackupOptions: Sendable {
  /// How fast the backup reads while others commit. While nothing is committed it is not limited.
  ///
  /// Unit: bytes in a second; nil: as fast as it can. Range: 65,536 (64 KiB) up. Default: 32 MiB.
  /// Why: commits wait for the same disk, and a backup is rarely urgent.
  public var bytesPerSecond: Int? = 32 << 20

  /// Where the backup goes.
  ///
  /// Default: nil, the file system of the store. Why: only a store in memory has its backup
  /// elsewhere.
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

/// How far a backup or a restore is.
public struct BackupProgress: Hashable, Sendable {
  /// Bytes of files that are in the backup so far, or were read from it.
  public var bytesDone: UInt64 = 0
  /// Bytes of files in all, as far as is known. It grows while values with files of their own are
  /// found.
  public var bytesTotal: UInt64 = 0

  /// Nothing is done yet, if nothing else is said.
  public init(bytesDone: UInt64 = 0, bytesTotal: UInt64 = 0) {
    (self.bytesDone, self.bytesTotal) = (bytesDone, bytesTotal)
  }
}

/// What a backup or a restored store has.
public struct BackupReport: Hashable, Sendable {
  /// The sequence number of the last commit in it.
  public var sequence: UInt64 = 0
  /// Segments of the log.
  public var segments = 0
  /// Values with files of their own.
  public var blobs = 0
  /// Bytes that were read, checked and written.
  public var bytesCopied: UInt64 = 0
  /// Bytes of files that are shared with the earlier backup, and were neither read nor written.
  public var bytesShared: UInt64 = 0
}
