import PerdureFileIO

extension Store {
  /// Lists the damaged places of a store, even if the store cannot be opened. Changes nothing.
  ///
  /// Reads the same data as `salvage(from:to:options:keepsUnfinishedCommits:progress:)`, so one
  /// damaged segment does not hide the damage of the next one. For an intact store it reports no
  /// damage. It reads no index: `verify(progress:)` of an open store checks more.
  ///
  /// Like a salvage, the survey locks the store. So no writer changes files between two reads. Such
  /// a change looks like damage. Readers are not excluded.
  ///
  /// - Parameter path: The store's directory.
  /// - Parameter options: Only `fileSystem` is used.
  /// - Parameter progress: Called with the number of bytes done and the total number of bytes.
  ///   Throw from it to cancel.
  /// - Returns: A report with the damages, and counts of segments, frames and records. It has no
  ///   `contents`, because no value is restored.
  /// - Throws: `StoreError`: `.notAStore` if there is neither a superblock nor a segment;
  ///   `.unsupportedFormat`; `.io`, also if the process has no permission to read a file of the
  ///   store. `.locked` while the store is open for writing. Errors of `progress`.
  /// - Complexity: O(n) for the bytes of all segments and the blob files of all keys. Needs memory
  ///   for an index and one segment, like a salvage.
  public static func survey(
    at path: String, options: StoreOptions = StoreOptions(),
    progress: ((_ bytesDone: UInt64, _ bytesTotal: UInt64) throws -> Void)? = nil
  ) throws -> SalvageReport {
    do {
      let path = try StorePath.fixed(path, options.fileSystem)
      return try withoutActuallyEscaping(progress ?? { _, _ in }) { progress in
        var failure: FileIOError?
        var lock = try ClosedStoreLock(damagedStoreAt: path, options.fileSystem, &failure)
        defer { lock.release() }
        // A salvage reads everything twice, a survey only once.
        var salvage = try Salvage(path, options.fileSystem, keepsUnfinished: false) {
          try progress($0, $1 / 2)
        }
        salvage.report.lockFailure = failure?.message
        try salvage.findNewest()
        return salvage.report
      }
    } catch let error as FileIOError {
      throw StoreError.io(error, "Searching for damage")
    }
  }
}
