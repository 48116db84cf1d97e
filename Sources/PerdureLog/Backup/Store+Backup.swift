import PerdureFileIO
import PerdureFormat

// Backups of an open store. What is copied is the state of one commit (`BackupSource`); commits,
// compactions and checkpoints go on meanwhile.

extension Store {
  /// Makes a backup of the store in a folder, while others read and write it.
  ///
  /// The backup is a store: what was committed when this was called, whole commits in order,
  /// durable in the store itself and in the backup. Frames, records and values are verified as they
  /// are copied. The index is not copied: the first opening of a backup makes it from the log.
  /// Never write to a backup: restore it, with `restore(from:to:options:progress:)`, or copy it.
  /// Opened for writing it is a store of its own.
  ///
  /// With an earlier backup, files that have not changed since are shared with it, as hard links,
  /// if the file system has them; else they are copied. Both backups are whole by themselves, and
  /// either may be removed. Shared files are not read: damage to one is damage in both backups.
  ///
  /// Also of a store that was opened for reading, beside a writer in another process. It has the
  /// state that was opened or refreshed then, of which the last commits may not be durable in the
  /// store yet (`refresh()`). Register as a reader (`StoreOptions.registersAsReader`), or files of
  /// values may be gone when they are to be copied.
  ///
  /// Until it is done the store keeps files that compaction replaces or commits remove, as for a
  /// snapshot. A store that is closed meanwhile keeps them too.
  ///
  /// - Parameters:
  ///   - target: The backup's directory: nothing, or an empty directory, may have that name. It
  ///     grows at the name with `.copy` behind, and gets its name when it is whole and durable:
  ///     after a crash there is a whole backup of that name, or none. What an unfinished one has
  ///     left is replaced.
  ///   - earlier: An earlier backup of this store, which no writer has opened. It is not changed,
  ///     and locked meanwhile.
  ///   - options: How fast, and in which file system.
  ///   - progress: Called on this thread after each mebibyte, or less. What it throws gives the
  ///     backup up and is thrown. It must not wait for another backup to the same name.
  /// - Returns: What the backup has.
  /// - Throws: `StoreError`: `.corruption` when the store is damaged, and where; `.invalidArgument`
  ///   when the target is taken or the earlier backup is of another store or another branch of it;
  ///   `.diskFull`, `.io`, `.locked`, `.closed`, `.poisoned`, `.unsupportedFormat`;
  ///   `CancellationError` in a task that is cancelled; what `progress` throws. There is no backup
  ///   then, unless the last sync failed, and the store continues.
  /// - Complexity: O(n) for n bytes of the store that are not shared; memory for a few mebibytes,
  ///   and 24 bytes for each value with a file of its own.
  @discardableResult
  public func backup(
    to target: String, since earlier: String? = nil, options: BackupOptions = BackupOptions(),
    progress: (BackupProgress) throws -> Void = { _ in }
  ) throws -> BackupReport {
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

  /// Makes a backup of the store as one sequence of bytes, while others read and write it: to send
  /// it, or to compress it. `restore(to:options:progress:read:)` makes a store of it.
  ///
  /// As `backup(to:since:options:progress:)` for the rest. The bytes describe themselves, and each
  /// piece has a checksum (FORMAT.md, "Backup stream"); a sequence that was cut off is found to be.
  ///
  /// - Parameters:
  ///   - options: How fast.
  ///   - progress: As for a backup in a folder.
  ///   - write: Takes the next bytes, at most 1 MiB at once. What it throws gives the backup up and
  ///     is thrown.
  /// - Throws: As for a backup in a folder. What was written is no backup then, and is found to be
  ///   none.
  @discardableResult
  public func backup(
    options: BackupOptions = BackupOptions(), progress: (BackupProgress) throws -> Void = { _ in },
    write: (RawSpan) throws -> Void
  ) throws -> BackupReport {
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

  /// Copies to a folder that gets its name at the end.
  static func copy(
    _ source: BackupSource, to target: String, since earlier: EarlierBackup?, _ fileSystem: any FileSystem,
    _ pacer: Pacer, _ progress: (BackupProgress) throws -> Void
  ) throws -> BackupReport {
    let folder = try BackupFolder(for: target, fileSystem)
    let report: BackupReport
    do {
      report = try withoutActuallyEscaping(progress) { progress in
        var pacer = pacer
        return try BackupRun(source, to: folder, since: earlier) { bytes, done in
          try progress(done)
          try pacer.pass(bytes)
        }.run()
      }
    } catch {
      folder.draft.remove()
      throw error
    }
    try folder.take(target)
    return report
  }

  static func backingUp<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as FileIOError {
      if error.code.isLackOfRoom {
        throw StoreError(
          .diskFull, "The backup found no room, and was removed; make room, or choose another place",
          at: error.path, cause: error)
      }
      throw StoreError.io(error, "Making a backup or a restored store")
    }
  }
}

/// Keeps a backup to its speed, and ends it with its task.
struct Pacer {
  /// Nil: as fast as it can.
  private var pace: BackupPace?
  private let activity: () -> UInt64
  private let lock = Lock()
  private let condition = Condition()
  /// How long it sleeps before it asks whether its task was cancelled.
  private static let sliceNanoseconds: UInt64 = 100_000_000

  init(_ options: BackupOptions, _ engine: Engine) {
    activity = { engine.version }
    pace = BackupPace(
      bytesPerSecond: options.bytesPerSecond, activity: activity(), now: Clock.nowNanoseconds())
  }

  /// As fast as it can.
  init() { activity = { 0 } }

  /// A piece was copied.
  mutating func pass(_ bytes: Int) throws {
    try Task.checkCancellation()
    guard let end = pace?.pass(bytes, activity: activity(), now: Clock.nowNanoseconds()) else { return }
    while true {
      let now = Clock.nowNanoseconds()
      guard now < end else { return }
      lock.withLock { while condition.wait(lock, untilNanoseconds: min(end, now + Self.sliceNanoseconds)) {} }
      try Task.checkCancellation()
    }
  }
}
