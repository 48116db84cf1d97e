import PerdureFileIO
import PerdureFormat

extension Store {
  /// Makes a store of a backup in a folder or a file, or of any store that is not open for writing.
  ///
  /// The new store has the identity and the history of the one that was backed up. What is copied
  /// is verified. The backup is not changed. The two, and the store that was backed up, go on
  /// independently: the first opening for writing of the new store makes it a branch of its own, of
  /// which the earlier backups are none.
  ///
  /// - Parameters:
  ///   - backup: The backup's directory, or a file with a backup stream.
  ///   - target: The new store's directory: nothing, or an empty directory, may have that name. As
  ///     in `backup(to:since:options:progress:)` it is there whole or not at all.
  ///   - options: Its `fileSystem` is that of both; nothing else counts.
  ///   - progress: Called on this thread after each mebibyte, or less. What it throws cancels and
  ///     is thrown.
  /// - Throws: `StoreError`: `.notAStore`, `.corruption` and where, `.invalidArgument` when the
  ///   target is taken, `.locked`, `.diskFull`, `.io`, `.unsupportedFormat`; `CancellationError`;
  ///   what `progress` throws. There is no new store then, unless the last sync failed.
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

  /// Makes a store of a backup that is one sequence of bytes (`backup(options:progress:write:)`).
  ///
  /// As `restore(from:to:options:progress:)` for the rest.
  ///
  /// - Parameters:
  ///   - target: The new store's directory.
  ///   - options: Its `fileSystem` is where the store goes; nothing else counts.
  ///   - progress: Hears of the bytes that were restored; how many there are is not known before.
  ///   - read: Gives the next bytes of the backup: at most as many as it is asked for, and none at
  ///     the end only.
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
        folder.draft.remove()
        throw error
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
      // How much of it is files of the store is not known before: what was read says how far it is.
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
    // That the segments follow on each other: their contents were checked when they were backed up.
    _ = try BackupSource(ofBackupAt: folder.draft.path, superblock, fileSystem)
    return reader.report
  }

  /// Of a store that is no backup, or no more: where its log ends has to be found.
  private static func copyOfStore(
    at path: String, to target: String, _ options: StoreOptions, _ progress: (BackupProgress) throws -> Void
  ) throws -> BackupReport {
    var reading = StoreOptions()
    reading.fileSystem = options.fileSystem
    reading.isReadOnly = true
    reading.registersAsReader = false
    let store = try Store(at: path, options: reading)
    defer { try? store.close() }
    var backup = BackupOptions()
    backup.bytesPerSecond = nil
    return try store.backup(to: target, options: backup, progress: progress)
  }

  /// A backup on a read-only medium cannot be changed, and needs no lock.
  private static func lockUnlessReadOnly(
    _ path: String, _ fileSystem: any FileSystem
  ) throws(FileIOError) -> (any FileLock)? {
    do { return try fileSystem.writerLock(ofStore: path) } catch {
      guard [.readOnly, .permissionDenied, .notSupported].contains(error.code) else { throw error }
      return nil
    }
  }
}
