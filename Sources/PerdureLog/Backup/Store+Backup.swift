import PerdureFileIO
import PerdureFormat

// Backups of an open store. A backup copies the state of one commit (`BackupSource`). Commits,
// compactions and checkpoints continue meanwhile.

extension Store {
  /// Makes a backup of the store in a folder, while the store is read and written.
  ///
  /// The backup is a store. It contains every commit made before the call. When the call returns,
  /// these commits are durable in the store and in the backup. Frames, records and values are
  /// verified as they are copied. The index is not copied: the first opening of a backup builds it
  /// from the log. Never write to a backup: restore it, with `restore(from:to:options:progress:)`,
  /// or copy it. A backup that is opened for writing becomes a separate store, and cannot be the
  /// `earlier` backup of another backup.
  ///
  /// If an earlier backup is given, unchanged files are shared with it as hard links. If a hard
  /// link cannot be made, the files are copied. Each backup is complete, and either backup may be
  /// removed. Each segment except the last is shared if its bytes in the store and in the earlier
  /// backup are equal. A file of a value is shared if its header and checksums are equal; the value
  /// is not read. Later damage to a shared file is damage in both backups.
  ///
  /// A store that was opened for reading can also be backed up, while another process writes to it.
  /// The backup then contains the state of the last opening or `refresh()`. The last commits of
  /// that state may not be durable in the store yet. Register as a reader
  /// (`StoreOptions.registersAsReader`): otherwise the writer may remove files of values before
  /// they are copied.
  ///
  /// Until the backup is finished, the store keeps files that compaction replaces and files that
  /// commits make unnecessary. A snapshot has the same effect. If the store is closed during the
  /// backup, these files are also kept.
  ///
  /// - Parameters:
  ///   - target: The backup's directory. It must be absent or empty. The backup is written to this
  ///     path with the suffix `.copy`, and renamed when it is complete and durable. After a crash
  ///     the target is a complete backup or absent. A later backup replaces an unfinished one.
  ///   - earlier: An earlier backup of this store that no writer has opened. It is locked during
  ///     the call, and not changed.
  ///   - options: The speed and the file system.
  ///   - progress: Called on this thread after each copied or compared piece of at most 1 MiB, and
  ///     after each shared file. An error it throws cancels the backup and is rethrown. The closure
  ///     must not wait for another backup to the same target.
  /// - Returns: The contents of the backup.
  /// - Throws: `StoreError`: `.corruption` if the store is damaged, with file and offset;
  ///   `.notAStore` if `earlier` is not a store; `.invalidArgument` if an option is out of range,
  ///   the target is not empty, or `earlier` is newer than the store, was opened for writing, or is
  ///   a backup of another store or of another copy of this store (FORMAT.md, P6); `.diskFull`,
  ///   `.io`, `.locked`, `.closed`, `.poisoned`, `.forked`, `.unsupportedFormat`.
  ///   `CancellationError` if the task is cancelled.
  ///   Errors of `progress`. After an error the target contains no backup, except that it may
  ///   contain one if the last sync failed. The store can still be used.
  /// - Complexity: O(n) for n bytes of the store, without the values whose files are shared. Needs
  ///   a few mebibytes of memory, and 24 bytes for each value in a separate file.
  @discardableResult
  public func backup(
    to target: String, since earlier: String? = nil, options: BackupOptions = BackupOptions(),
    progress: (BackupProgress) throws -> Void = { _ in }
  ) throws -> BackupReport {
    // This check is first: an access to the target may complete an interrupted replacement of the
    // target, which a forked child must not do. FK2
    try checkProcess()
    try options.validate()
    let engine = engine
    let fileSystem = options.fileSystem ?? engine.options.fileSystem
    return try Self.backingUp {
      let target = try StorePath.fixed(target, fileSystem)
      try Self.checkIsFree(target, fileSystem)
      let source = try BackupSource(of: engine)
      let shared = try earlier.map {
        try EarlierBackup(at: StorePath.fixed($0, fileSystem), for: source.superblock, fileSystem)
      }
      defer { shared?.release() }
      return try Self.copy(source, to: target, since: shared, fileSystem, Pacer(options, engine), progress)
    }
  }

  /// Makes a backup of the store as a stream of bytes, to send or to compress, while the store is
  /// read and written. `restore(to:options:progress:read:)` makes a store from the stream.
  ///
  /// In all other respects this is like `backup(to:since:options:progress:)`. Each piece of the
  /// stream has a checksum (FORMAT.md, "Backup stream"). Restoring detects an incomplete stream.
  ///
  /// - Parameters:
  ///   - options: The speed.
  ///   - progress: As for a backup in a folder.
  ///   - write: Receives the next bytes, at most 1 MiB at a time. An error it throws cancels the
  ///     backup and is rethrown.
  /// - Throws: As for a backup in a folder. The bytes that were written before the error are not a
  ///   backup, and restoring them throws `.corruption`.
  @discardableResult
  public func backup(
    options: BackupOptions = BackupOptions(), progress: (BackupProgress) throws -> Void = { _ in },
    write: (RawSpan) throws -> Void
  ) throws -> BackupReport {
    try checkProcess()
    try options.validate()
    let engine = engine
    return try Self.backingUp {
      let source = try BackupSource(of: engine)
      return try withoutActuallyEscaping(write) { write in
        try withoutActuallyEscaping(progress) { progress in
          let target = try BackupStreamWriter(source.superblock.store) { try write($0.bytes) }
          var pacer = Pacer(options, engine)
          let run = BackupRun(source, to: target, since: nil) { bytes, done in
            try progress(done)
            try pacer.pass(bytes)
          }
          let report = try run.run()
          try target.finish()
          return report
        }
      }
    }
  }

  /// Copies to a draft folder, and renames it to `target` at the end.
  static func copy(
    _ source: BackupSource, to target: String, since earlier: EarlierBackup?, _ fileSystem: any FileSystem,
    _ pacer: Pacer, _ progress: (BackupProgress) throws -> Void
  ) throws -> BackupReport {
    let folder = try BackupFolder(for: target, fileSystem)
    let report: BackupReport
    do {
      report = try withoutActuallyEscaping(progress) { progress in
        var pacer = pacer
        let run = BackupRun(source, to: folder, since: earlier) { bytes, done in
          try progress(done)
          try pacer.pass(bytes)
        }
        let report = try run.run()
        try checkHasLiveBlobs(folder.draft.path, without: run.absentBlobs, fileSystem)
        return report
      }
    } catch {
      throw folder.draft.removed(after: error)
    }
    try folder.take(target)
    return report
  }

  static func backingUp<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as FileIOError {
      if error.code.isLackOfSpace {
        throw StoreError(
          .diskFull, "The backup ran out of space; free space, or choose another place",
          at: error.path, cause: error)
      }
      throw StoreError.io(error, "Making a backup or a restored store")
    }
  }
}
