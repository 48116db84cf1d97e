import PerdureFileIO
import PerdureFormat

extension Store {
  /// Creates a new store from everything that can still be read of a damaged store. The damaged
  /// store is not changed.
  ///
  /// Restores every record whose bytes are unchanged since they were written. The superblock,
  /// headers of segments and frames, other records and blob files may be damaged or missing. For
  /// each key the new store gets the newest intact record. If that is a removal, the key stays
  /// removed. If the newest record is damaged, an older value is restored. If a removal is damaged,
  /// its key reappears. The report counts and names the keys where this is possible, and lists the
  /// damaged places. If files of several stores are present, the store of most segments is
  /// salvaged, and the report names the files of the others. The report also names files that
  /// cannot be read and entries that are not files.
  ///
  /// A commit that is damaged in part is restored in part. An unfinished commit, as after a power
  /// cut or on a full disk, is not restored. It may be restored in part if a copy of the superblock
  /// is damaged or not yet written. The new store has its own identity, numbers its commits from
  /// the start, and builds its derived indexes when it is opened.
  ///
  /// The damaged store must not be open meanwhile. A moved sector can bring older versions of the
  /// keys in it. It can also make a commit have more records than its count. In this case all
  /// records that only their own checksum confirms are omitted, including intact ones.
  ///
  /// A segment file from before its last compaction is recognized only by a readable checkpoint
  /// that was written after this compaction. Without such a checkpoint, removed keys of that file
  /// can reappear, and the report does not name them.
  ///
  /// - Parameter source: The damaged store's directory.
  /// - Parameter target: The new store's directory: absent or empty.
  /// - Parameter options: The options of the new store; `fileSystem` is used for both.
  /// - Parameter keepsUnfinishedCommits: Whether records of commits without evidence of their end
  ///   are restored too. Then a commit may be restored in part.
  /// - Parameter progress: Called with the number of bytes done and the total number of bytes.
  ///   Throw from it to cancel.
  /// - Returns: The damages found, and the values restored and lost.
  /// - Throws: `StoreError`: `.notAStore` if there is neither a superblock nor a segment;
  ///   `.invalidArgument` if the target is not empty; `.unsupportedFormat`, `.diskFull`; `.io`,
  ///   also if the source is absent or the process has no file descriptor left. Errors of
  ///   `progress`. After these errors the target is removed. `.locked` if another process made a
  ///   store in the target meanwhile; that store is not changed.
  /// - Complexity: O(n) for the bytes of all segments, whatever they contain. Reads every segment
  ///   twice, or three times if files disagree about the store, and the blob files of all keys.
  ///   Needs memory for one segment and two indexes.
  public static func salvage(
    from source: String, to target: String, options: StoreOptions = StoreOptions(),
    keepsUnfinishedCommits: Bool = false,
    progress: ((_ bytesDone: UInt64, _ bytesTotal: UInt64) throws -> Void)? = nil
  ) throws -> SalvageReport {
    var targetOptions = options
    targetOptions.isReadOnly = false
    targetOptions.createsIfMissing = true
    targetOptions.indexExtractors = [:]
    do {
      let source = try StorePath.fixed(source, options.fileSystem)
      let target = try StorePath.fixed(target, options.fileSystem)
      return try withoutActuallyEscaping(progress ?? { _, _ in }) { progress in
        var salvage = try Salvage(
          source, options.fileSystem, keepsUnfinished: keepsUnfinishedCommits, progress: progress)
        let isMade = try checkTarget(target, options.fileSystem)
        do {
          let store = try Store(at: target, options: targetOptions)
          var writer = SalvageWriter(store)
          try salvage.findNewest()
          try salvage.recover(into: &writer)
          try store.close()
          return salvage.report
        } catch let error as StoreError where error.code == .locked {
          // The existing content of the target belongs to another process.
          throw error
        } catch {
          try remove(target, options.fileSystem, directoryToo: isMade)
          // The new store can no longer be used, so the cause is thrown: the advice to close and
          // open the store again does not apply.
          guard let failure = error as? StoreError, failure.code == .poisoned, let cause = failure.cause
          else {
            throw error
          }
          throw cause
        }
      }
    } catch let error as FileIOError {
      throw StoreError.io(error, "Salvaging a store")
    }
  }

  /// Returns whether the directory must be created.
  private static func checkTarget(_ path: String, _ fileSystem: any FileSystem) throws -> Bool {
    guard let kind = try fileSystem.kind(of: path) else { return true }
    guard kind == .directory, try fileSystem.contents(of: path).isEmpty else {
      throw StoreError(
        .invalidArgument, "A salvage needs a new or empty directory; name another",
        at: path)
    }
    return false
  }

  /// Removes the unfinished target.
  private static func remove(_ path: String, _ fileSystem: any FileSystem, directoryToo: Bool) throws {
    guard try fileSystem.kind(of: path) == .directory else { return }
    for name in try fileSystem.contents(of: path) where StoreFileName(name) != nil {
      try fileSystem.remove(path + "/" + name)
    }
    if directoryToo { try fileSystem.remove(path) }
  }
}
