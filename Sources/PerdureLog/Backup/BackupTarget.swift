import PerdureFormat

/// What a backup is written to: file after file, each from its beginning to its end, the superblock
/// last.
protocol BackupTarget: AnyObject {
  func begin(_ file: StoreFileName) throws
  /// - Parameter bytes: At most `FormatLimits.backupChunkMax`.
  func write(_ bytes: UnsafeRawBufferPointer) throws
  func end() throws
  /// Takes a file over from the earlier backup, without reading it.
  ///
  /// - Returns: False: it has to be copied.
  func share(_ file: StoreFileName, from path: String) -> Bool
}

extension BackupTarget {
  func share(_ file: StoreFileName, from path: String) -> Bool { false }
}
