import PerdureFileIO
import PerdureFormat

extension Store {
  /// Makes a new store of everything that can still be read of a damaged one, which is not changed.
  ///
  /// Restores every record whose bytes are as they were written, whatever else is damaged: superblock,
  /// headers of segments and frames, other records, blob files, missing files. For each key the new
  /// store gets the newest intact record; a key whose newest intact record is a removal stays
  /// removed. Where the newest record is damaged, an older one takes its place, and a key whose
  /// removal is damaged reappears: the report counts and names the keys where this is possible, and
  /// lists the damaged places. Where files disagree about the store, that of most segments is
  /// salvaged, and the report names the others. The report also names a file that cannot be read
  /// and an entry that is not a file.
  ///
  /// A commit that is damaged in part is restored in part. A commit that was never finished, as
  /// after a power cut or on a full disk, is not restored, unless a copy of the superblock is
  /// damaged or not yet written: then it may be restored in part, too. The new store has an identity
  /// of its own, numbers its commits anew, and builds its derived indexes when it is opened.
  ///
  /// The damaged store must not be open meanwhile. A sector that was moved can bring older versions
  /// of the keys in it. Where such a sector makes a commit look as if it had more records than its
  /// count, records that only their own checksum confirms are left out, intact ones among them.
  ///
  /// - Parameter source: The damaged store's directory.
  /// - Parameter target: The new store's directory: absent or empty.
  /// - Parameter options: How the new store is made; `fileSystem` is that of both.
  /// - Parameter keepsUnfinishedCommits: Whether records of commits without evidence of their end are
  ///   restored too. Then half of a commit may be among them.
  /// - Parameter progress: Called with the bytes done and the bytes in all. Throw from it to cancel.
  /// - Returns: What was found, restored, and lost.
  /// - Throws: `StoreError`: `.notAStore` when there is neither a superblock nor a segment,
  ///   `.invalidArgument` when the target is not empty, `.unsupportedFormat`, `.io` (also when nothing
  ///   is there, or the process has no file descriptor left), `.diskFull`; what `progress`
  ///   throws. The target is then removed. `.locked` when another process made a
  ///   store in the target meanwhile: that stays as it is.
  /// - Complexity: O(n) for the bytes of all segments, whatever they contain; reads every segment
  ///   twice, and once more where files disagree about the store, and the blob files of all keys;
  ///   memory for one segment and two indexes.
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
          try salvage.giveBack(to: &writer)
          try store.close()
          return salvage.report
        } catch let error as StoreError where error.code == .locked {
          // What is in the target is not ours.
          throw error
        } catch {
          try remove(target, options.fileSystem, directoryToo: isMade)
          // There is no store any more that could be closed and opened again.
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

  /// Says whether the directory has to be made.
  private static func checkTarget(_ path: String, _ fileSystem: any FileSystem) throws -> Bool {
    guard let kind = try fileSystem.kind(of: path) else { return true }
    guard kind == .directory, try fileSystem.contents(of: path).isEmpty else {
      throw StoreError(
        .invalidArgument, "What is salvaged goes into a new directory, or an empty one; name another",
        at: path)
    }
    return false
  }

  /// Removes what was begun.
  private static func remove(_ path: String, _ fileSystem: any FileSystem, directoryToo: Bool) throws {
    guard try fileSystem.kind(of: path) == .directory else { return }
    for name in try fileSystem.contents(of: path) where StoreFileName(name) != nil {
      try fileSystem.remove(path + "/" + name)
    }
    if directoryToo { try fileSystem.remove(path) }
  }
}
