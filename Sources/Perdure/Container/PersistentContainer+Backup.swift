// Backups of stores that are open.

internal import PerdureFileIO
public import PerdureLog

extension PersistentContainer {
  /// Makes a backup of an open store in a folder. Contexts can read and save at the same time.
  ///
  /// The backup contains every save that had returned before the call. It contains only whole
  /// saves, and no pending changes of contexts. It is a store with the identity of the original, so
  /// ids mean the same object in both. Do not open it for writing: copy it with
  /// `copyPersistentStore(at:to:)` first. The copied bytes are verified.
  ///
  /// - Parameters:
  ///   - store: The store to back up; nil for the first.
  ///   - target: The backup's directory. It must be absent or empty. After a crash, the backup is
  ///     complete or does not exist.
  ///   - earlier: An earlier backup of this store that was not opened for writing. Files with the
  ///     same content are shared with it, if the file system supports hard links. Segments are
  ///     compared byte by byte, files of values by their checksums.
  ///   - options: The speed and the file system. A store in memory is backed up to the disk.
  ///   - progress: Called on this thread after each piece of at most 1 MiB, and after each shared
  ///     file. An error that it throws cancels the backup, and is the `cause` of the thrown error.
  ///     A `CancellationError` is thrown as it is.
  /// - Returns: The contents of the backup.
  /// - Throws: `PerdureError` with code 134060 if the store is not open or the backup cannot be
  ///   made. `CancellationError` if the calling task is cancelled, or `progress` throws it. If the
  ///   call throws, the store can still be used. There is no backup then, except that one may exist
  ///   if only the last sync failed.
  /// - Complexity: O(n) for n bytes of the store, without the values whose files are shared. Blocks
  ///   the caller's thread.
  @discardableResult
  public func backup(
    _ store: LoadedStore? = nil, to target: String, since earlier: String? = nil,
    options: BackupOptions = BackupOptions(), progress: (BackupProgress) throws -> Void = { _ in }
  ) throws -> BackupReport {
    let (member, engine) = try backedUp(store)
    var options = options
    if options.fileSystem == nil, member.name.persistentStoreDescription.location == .memory {
      options.fileSystem = POSIXFileSystem()
    }
    return try backingUp("to \(target)") { try engine.backUp(to: target, since: earlier, options, progress) }
  }

  /// Makes a backup of an open store as a stream of bytes, to send or to compress. Contexts can
  /// read and save at the same time.
  ///
  ///     try container.backup { bytes in
  ///       try bytes.withUnsafeBytes { try fileHandle.write(contentsOf: Data($0)) }
  ///     }
  ///
  /// Otherwise this function works like `backup(_:to:since:options:progress:)`.
  /// `Store.restore(to:options:progress:read:)` (PerdureLog) and `perdure restore` make a store
  /// from the stream. They refuse a stream that was cut off or changed.
  ///
  /// - Parameters:
  ///   - store: The store to back up; nil for the first.
  ///   - options: The speed. The file system is not used.
  ///   - progress: As for a backup in a folder.
  ///   - write: Receives the next bytes, at most 1 MiB at a time, on this thread. An error it
  ///     throws cancels the backup, and is the `cause` of the thrown error. A `CancellationError`
  ///     is thrown as it is.
  /// - Returns: The contents of the backup.
  /// - Throws: As for a backup in a folder. The bytes written until then are not a backup.
  /// - Complexity: O(n) for n bytes of the store. Blocks the caller's thread.
  @discardableResult
  public func backup(
    _ store: LoadedStore? = nil, options: BackupOptions = BackupOptions(),
    progress: (BackupProgress) throws -> Void = { _ in }, write: (RawSpan) throws -> Void
  ) throws -> BackupReport {
    let (_, engine) = try backedUp(store)
    return try backingUp("as a stream") { try engine.backUp(options, progress, write: write) }
  }

  private func backingUp<R>(_ place: String, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as CancellationError { throw error } catch {
      var failure = PerdureError(.readFailed, "The store could not be backed up \(place).")
      failure.cause = error
      throw failure
    }
  }

  private func backedUp(
    _ store: LoadedStore?
  ) throws(PerdureError) -> (OpenStores.Member, any BackupMaking) {
    let member = try openMember(store)
    guard let engine = member.store as? any BackupMaking else {
      throw PerdureError(.readFailed, "This kind of store cannot be backed up.")
    }
    return (member, engine)
  }
}
