import PerdureFileIO
import PerdureFormat

extension Store {
  /// Makes a store from a backup in a folder or a file, or from any store that is not open for
  /// writing.
  ///
  /// The new store has the identity and the history of the store that was backed up. Files are
  /// verified as they are copied. The call first completes an interrupted replacement at the
  /// backup's path. Apart from that, it does not change the backup. The new store is independent of
  /// the backup and of the original store: its first opening for writing makes it a new branch.
  /// Earlier backups do not belong to that branch.
  ///
  /// - Parameters:
  ///   - backup: The backup's directory, or a file with a backup stream.
  ///   - target: The new store's directory. It must be absent or empty. As in
  ///     `backup(to:since:options:progress:)`, a crash leaves a complete store or none.
  ///   - options: Only `fileSystem` is used, for the backup and the new store.
  ///   - progress: Called on this thread after each piece of at most 1 MiB. An error it throws
  ///     cancels the restore and is rethrown.
  /// - Returns: The contents of the new store.
  /// - Throws: `StoreError`: `.notAStore`; `.corruption`, with file and offset; `.invalidArgument`
  ///   if the target is not empty; `.locked`, `.diskFull`, `.io`, `.unsupportedFormat`.
  ///   `CancellationError`. Errors of `progress`. After an error there is no new store, except that
  ///   one may exist if the last sync failed.
  /// - Complexity: O(n) for n bytes of the backup.
  @discardableResult
  public static func restore(
    from backup: String, to target: String, options: StoreOptions = StoreOptions(),
    progress: (BackupProgress) throws -> Void = { _ in }
  ) throws -> BackupReport {
    let fileSystem = options.fileSystem
    return try backingUp {
      let backup = try StorePath.fixed(backup, fileSystem)
      let target = try StorePath.fixed(target, fileSystem)
      try checkIsFree(target, fileSystem)
      try Replacement(of: backup, fileSystem).complete()
      if try fileSystem.kind(of: backup) == .file {
        return try restore(fromFileAt: backup, to: target, options, progress)
      }
      guard try fileSystem.kind(of: backup) == .directory,
        try StoreFiles(in: fileSystem.openDirectory(backup)).hasSuperblock
      else { throw StoreError(.notAStore, "There is no backup here; check the path", at: backup) }
      let lock = try lockUnlessReadOnly(backup, fileSystem)
      defer { lock?.release() }
      let superblock = try SuperblockFile.open(in: fileSystem.openDirectory(backup), .read).current
      guard superblock.branch.isUnopenedCopy else {
        return try copyOfStore(at: backup, to: target, options, progress)
      }
      let source = try BackupSource(ofBackupAt: backup, superblock, fileSystem)
      return try copy(source, to: target, since: nil, fileSystem, Pacer(), progress)
    }
  }

  /// Makes a store from a backup stream (`backup(options:progress:write:)`).
  ///
  /// In all other respects this is like `restore(from:to:options:progress:)`.
  ///
  /// - Parameters:
  ///   - target: The new store's directory.
  ///   - options: Only `fileSystem` is used, for the new store.
  ///   - progress: Called with the bytes restored so far. The total is not known in advance.
  ///   - read: Returns the next bytes of the backup, at most `count`. An empty array means that the
  ///     backup ends.
  @discardableResult
  public static func restore(
    to target: String, options: StoreOptions = StoreOptions(),
    progress: (BackupProgress) throws -> Void = { _ in }, read: (_ count: Int) throws -> [UInt8]
  ) throws -> BackupReport {
    let fileSystem = options.fileSystem
    return try backingUp {
      let target = try StorePath.fixed(target, fileSystem)
      try checkIsFree(target, fileSystem)
      let folder = try BackupFolder(for: target, fileSystem)
      let report: BackupReport
      do {
        report = try withoutActuallyEscaping(read) { read in
          try withoutActuallyEscaping(progress) { progress in
            try restore(to: folder, fileSystem, progress, read)
          }
        }
      } catch {
        throw folder.draft.removed(after: error)
      }
      try folder.take(target)
      return report
    }
  }

  private static func restore(
    fromFileAt path: String, to target: String, _ options: StoreOptions,
    _ progress: (BackupProgress) throws -> Void
  ) throws -> BackupReport {
    let file = try options.fileSystem.open(path, .read)
    defer { try? file.close() }
    let length = try file.size()
    var place: UInt64 = 0
    return try restore(to: target, options: options) { done in
      // Progress counts bytes of the stream: the length of the restored files is not known yet.
      try progress(BackupProgress(bytesDone: place, bytesTotal: max(place, length)))
    } read: { count in
      let bytes = try file.read(count, at: place)
      place += UInt64(bytes.count)
      return bytes
    }
  }

  private static func restore(
    to folder: BackupFolder, _ fileSystem: any FileSystem,
    _ progress: @escaping (BackupProgress) throws -> Void, _ read: @escaping (_ count: Int) throws -> [UInt8]
  ) throws -> BackupReport {
    var pacer = Pacer()
    var reader = BackupStreamReader(to: folder, read) { bytes, done in
      try progress(done)
      try pacer.pass(bytes)
    }
    let superblock = try reader.run()
    // Checks that no segment is missing. The contents of the segments were already verified.
    _ = try BackupSource(ofBackupAt: folder.draft.path, superblock, fileSystem)
    return reader.report
  }

  /// Copies a store that is not an unopened backup. The store is opened, because that finds the end
  /// of its log.
  private static func copyOfStore(
    at path: String, to target: String, _ options: StoreOptions, _ progress: (BackupProgress) throws -> Void
  ) throws -> BackupReport {
    let store = try Store(at: path, options: readingOptions(options.fileSystem))
    defer { try? store.close() }
    var backup = BackupOptions()
    backup.bytesPerSecond = nil
    return try store.backup(to: target, options: backup, progress: progress)
  }

  /// Checks that no live record of a copy references a blob file in `absent`. Dead records may
  /// reference such files, because a backup does not contain the blob files of dead records.
  ///
  /// - Complexity: O(1) if `absent` is empty; otherwise the complexity of opening the copy, which
  ///   builds its index.
  static func checkHasLiveBlobs(
    _ path: String, without absent: Set<UInt64>, _ fileSystem: any FileSystem
  ) throws {
    if absent.isEmpty { return }
    let store = try Store(at: path, options: readingOptions(fileSystem))
    defer { try? store.close() }
    guard let number = try store.engine.readingState({ $0.liveBlobs.intersection(absent).min() }) else {
      return
    }
    throw StoreError(
      .corruption, "The backup lacks the file of a value; restore another one, or salvage this one",
      at: StoreFileName.blob(number).string)
  }

  private static func readingOptions(_ fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.isReadOnly = true
    options.registersAsReader = false
    return options
  }

  /// Acquires the writer's lock; nil if the medium or the lock file is read-only for this process,
  /// or if the file system has no locks.
  private static func lockUnlessReadOnly(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(FileIOError) -> (any FileLock)? {
    do { return try fileSystem.writerLock(ofStore: path) } catch {
      guard [.readOnly, .permissionDenied, .notSupported].contains(error.code) else { throw error }
      return nil
    }
  }
}
