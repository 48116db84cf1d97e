import PerdureFormat

/// The destination of a backup. Files are written one after the other, each from its beginning to
/// its end, the superblock last.
protocol BackupTarget: AnyObject {
  func begin(_ file: StoreFileName) throws
  /// - Parameter bytes: At most `FormatLimits.backupChunkMax`.
  func write(_ bytes: UnsafeRawBufferPointer) throws
  func end() throws
  /// Shares a file with the earlier backup, without reading it.
  ///
  /// - Returns: False if the file has to be copied.
  func share(_ file: StoreFileName, from path: String) -> Bool
}

extension BackupTarget {
  func share(_ file: StoreFileName, from path: String) -> Bool { false }
}
