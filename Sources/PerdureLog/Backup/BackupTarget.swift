import PerdureFormat

/// The destination of a backup. Files are written one at a time, each front to back. The superblock
/// is written last.
protocol BackupTarget: AnyObject {
  func begin(_ file: StoreFileName) throws
  /// - Parameter bytes: At most `FormatLimits.backupChunkMax`.
  func write(_ bytes: UnsafeRawBufferPointer) throws
  func end() throws
  /// Shares a file with the earlier backup, without reading the file.
  ///
  /// - Returns: Whether the file is shared. If not, it must be copied.
  func share(_ file: StoreFileName, from path: String) -> Bool
}

extension BackupTarget {
  func share(_ file: StoreFileName, from path: String) -> Bool { false }
}
