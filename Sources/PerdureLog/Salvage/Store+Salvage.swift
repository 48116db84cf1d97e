import PerdureFileIO
import PerdureFormat

extension Store {
  /// Creates a new store from everything that can still be read of a damaged store. The damaged
  /// store is not changed.
  ///
  /// Finds every record whose bytes are unchanged since they were written. The superblock, headers
  /// of segments and frames, other records and blob files may be damaged or missing. For each key
  /// the new store gets the newest intact record. If that is a removal, the key stays removed. If
  /// the newest record is damaged, an older value is restored. If a removal is damaged, its key
  /// reappears. The report counts and names the keys where this is possible, and lists the damaged
  /// places. If files of several stores are present, the store of most segments is salvaged, and
  /// the report names the files of the others. The report also names files that cannot be read and
  /// entries that are not files.
  ///
  /// A commit that is damaged in part is restored in part. An unfinished commit, as after a power
  /// cut or on a full disk, is not restored. It may be restored in part if a copy of the superblock
  /// is damaged or not yet written. The new store has its own identity, numbers its commits from
  /// the start, and builds its derived indexes when it is opened.
  ///
  /// The damaged store is locked meanwhile, as far as its files allow
  /// (`SalvageReport.lockFailure`). A file without read permission is not damage: the salvage
  /// throws before it writes anything. If the medium has moved a sector, older versions of the keys
  /// in the sector can be restored. A commit can then also have more records than its count. In
  /// this case all records that only their own checksum confirms are omitted, including intact
  /// ones.
  ///
  /// A segment file from before its last compaction is recognized only by a readable checkpoint
  /// that was written after this compaction. Without such a checkpoint, removed keys of that file
  /// can reappear, and the report does not name them.
  ///
  /// - Parameter source: The damaged store's directory.
  /// - Parameter target: The new store's directory: absent or empty. The store is written to this
  ///   path with the suffix `.copy`, and renamed when it is complete and durable. After a crash the
  ///   target is a complete store or as before. The next salvage replaces an unfinished one.
  /// - Parameter options: The options of the new store; `fileSystem` is used for both.
  /// - Parameter keepsUnfinishedCommits: Whether records of commits without evidence of their end
  ///   are restored too. If true, a commit may be restored in part.
  /// - Parameter progress: Called with the number of bytes done and the total number of bytes.
  ///   Throw from it to cancel.
  /// - Returns: The damages found, and the values restored and lost.
  /// - Throws: `StoreError`: `.notAStore` if there is neither a superblock nor a segment;
  ///   `.invalidArgument` if the target is not empty; `.unsupportedFormat`, `.diskFull`; `.io`,
  ///   also if the source is absent, or if the process lacks a read permission or a file
  ///   descriptor. `.locked` while the source is open for writing, or while another process writes
  ///   a copy to the same target. Errors of `progress`. After an error the target is as before,
  ///   unless the last sync failed: then it is complete, and may be lost in a power cut.
  /// - Complexity: O(n) for n bytes of all segments, regardless of their content. Reads every
  ///   segment twice, or three times if files disagree about the store, and the blob files of all
  ///   keys. A file with the header of another segment is read up to four times more. Needs memory
  ///   for two indexes and one segment. A segment needs at most 256 MiB, or twice that if it is in
  ///   groups, regardless of the length of its file.
  public static func salvage(
    from source: String, to target: String, options: StoreOptions = StoreOptions(),
    keepsUnfinishedCommits: Bool = false,
    progress: ((_ bytesDone: UInt64, _ bytesTotal: UInt64) throws -> Void)? = nil
  ) throws -> SalvageReport {
    let fileSystem = options.fileSystem
    do {
      let source = try StorePath.fixed(source, fileSystem)
      let target = try StorePath.fixed(target, fileSystem)
      return try withoutActuallyEscaping(progress ?? { _, _ in }) { progress in
        var failure: FileIOError?
        var lock = try ClosedStoreLock(damagedStoreAt: source, fileSystem, &failure)
        defer { lock.release() }
        var salvage = try Salvage(
          source, fileSystem, keepsUnfinished: keepsUnfinishedCommits, progress: progress)
        salvage.report.lockFailure = failure?.message
        try checkIsFree(target, fileSystem)
        try salvage.findNewest()
        let draft = try CopyDraft(of: target, fileSystem)
        do { try write(&salvage, draft, options) } catch {
          throw draft.removed(after: withoutPoison(error))
        }
        try draft.rename(to: target)
        return salvage.report
      }
    } catch let error as FileIOError {
      throw StoreError.io(error, "Salvaging a store")
    }
  }

  /// Writes the new store into its draft. All of it is durable when this returns.
  private static func write(
    _ salvage: inout Salvage, _ draft: CopyDraft, _ options: StoreOptions
  ) throws {
    var options = options
    options.isReadOnly = false
    options.createsIfMissing = true
    options.indexExtractors = [:]
    options.draft = draft
    let store = try Store(at: draft.path, options: options)
    var writer = SalvageWriter(store)
    try salvage.recover(into: &writer)
    try store.close()
    try options.fileSystem.syncDirectory(draft.path)
  }

  /// The cause of an error of a poisoned store. The store is removed, so the advice to close it and
  /// open it again does not apply.
  private static func withoutPoison(_ error: any Error) -> any Error {
    guard let failure = error as? StoreError, failure.code == .poisoned else { return error }
    return failure.cause ?? failure
  }
}
