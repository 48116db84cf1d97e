import PerdureFileIO
import PerdureFormat

/// Opens a store: the numbered steps of FORMAT.md, "Recovery", in that order.
enum Recovery {
  static func open(_ path: String, _ options: StoreOptions) throws -> (Engine, RecoveryReport) {
    var wait = LockWait(options.isReadOnly ? .zero : options.lockTimeout)
    while true {
      do {
        // The draft is locked already, so no other copy can replace it.
        if options.draft == nil { try Replacement.finish(path, options) }
        return try openNow(path, options)
      } catch let error as StoreError where error.code == .locked {
        guard try wait.next() else { throw error }
      }
    }
  }

  private static func openNow(_ path: String, _ options: StoreOptions) throws -> (Engine, RecoveryReport) {
    do {
      return try openChecked(path, options)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Opening the store")
    } catch let error as LogOpening.Abandoned {
      throw error.cause
    }
  }

  /// The absolute path of a store, independent of later changes of the working directory.
  static func place(of path: String, _ options: StoreOptions) throws -> String {
    do { return try StorePath.fixed(path, options.fileSystem) } catch {
      throw StoreError.io(error, "Opening the store")
    }
  }

  /// Opens a store for reading again, in the directory that is already open.
  ///
  /// - Parameter suspectsIndex: Whether an index file is verified completely before it is used,
  ///   regardless of the options.
  static func reopen(
    _ directory: any Directory, _ options: StoreOptions, suspectsIndex: Bool
  ) throws -> (Engine, RecoveryReport) {
    do {
      return try ReadOnlyOpening(directory, options, suspectsIndex).run()
    } catch let error as StoreError where error.code == .notAStore {
      throw StoreError(
        .notAStore,
        "The store's folder was removed or replaced; close this store, and open the intended store by its path",
        at: directory.path, cause: error.cause)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Opening the store")
    } catch let error as LogOpening.Abandoned {
      throw error.cause
    }
  }

  private static func openChecked(_ path: String, _ options: StoreOptions) throws -> (Engine, RecoveryReport)
  {
    if options.isReadOnly {
      try prepareDirectory(path, options)
      let directory = try options.fileSystem.openDirectory(path)
      try checkIsStore(directory, options)
      return try ReadOnlyOpening(directory, options, false).run()
    }
    var report = RecoveryReport()
    // 1. Acquire the writer's lock.
    let (opened, lock) = try takeWritersPlace(path, options)
    do {
      let directory = WriterDirectory(opened, lock, isChecked: options.checksFolder)
      let files = try StoreFiles(in: directory)
      if !files.hasSuperblock { try Replacement.checkIsNotPending(path, options) }
      // 2. Open the superblock.
      let superblock = try openSuperblock(files, directory, options, &report)
      // 3 to 10. Read the log; if there is a checkpoint, only the log after it.
      var opening = LogOpening(files, superblock, directory, options)
      let state = try opening.run(&report)
      return try finish(state, opening, directory, options, lock, nil, &report)
    } catch {
      lock.release()
      throw error
    }
  }

  /// Opens the directory and acquires the writer's lock. Tries again if another process removes or
  /// creates the directory at the same time.
  ///
  /// - Returns: The directory at the path, and the lock in it. After this the path is used in
  ///   messages only.
  private static func takeWritersPlace(
    _ path: String, _ options: StoreOptions
  ) throws -> (any Directory, any FileLock) {
    var attemptsLeft = 16
    while true {
      attemptsLeft -= 1
      do {
        try prepareDirectory(path, options)
        let directory = try options.fileSystem.openDirectory(path)
        try checkIsStore(directory, options)
        return (directory, try options.draft?.borrowedLock ?? directory.writerLock())
      } catch let error as FileIOError {
        guard attemptsLeft > 0, [.notFound, .alreadyExists].contains(error.code) else { throw error }
      }
    }
  }

  private static func prepareDirectory(_ path: String, _ options: StoreOptions) throws {
    if path.isEmpty {
      throw StoreError(
        .invalidArgument, "The path of the store is empty; give the path of the store's directory")
    }
    switch try options.fileSystem.kind(of: path) {
    case .directory: return
    case nil:
      guard options.createsIfMissing, !options.isReadOnly else {
        throw StoreError.noStore(at: path)
      }
      do throws(FileIOError) {
        try options.fileSystem.createDirectory(path)
      } catch {
        guard error.code == .notFound else { throw error }
        throw StoreError(
          .io, "The folder for the new store does not exist; create it, or check the path",
          at: path,
          cause: error)
      }
    case .file, .other:
      throw StoreError(.notAStore, "A store is a directory, but this is not one; check the path", at: path)
    }
  }

  /// Checks that a directory is a store, or may become a store, before anything in it is changed. A
  /// directory that is not a store is refused if it contains other files.
  private static func checkIsStore(_ directory: any Directory, _ options: StoreOptions) throws {
    let files = try StoreFiles(in: directory)
    if files.hasSuperblock || !files.segments.isEmpty { return }
    guard options.createsIfMissing, !options.isReadOnly else { throw StoreError.noStore(at: directory.path) }
    if let foreignFile = files.foreignFiles.min() {
      throw StoreError(
        .notAStore,
        "The directory is not a store and contains other files, such as \(foreignFile): use a "
          + "separate directory for the store",
        at: directory.path)
    }
  }

  static func openSuperblock(
    _ files: StoreFiles, _ directory: any Directory, _ options: StoreOptions, _ report: inout RecoveryReport
  ) throws -> SuperblockFile {
    if files.hasSuperblock {
      let file = try SuperblockFile.open(in: directory, options.isReadOnly ? .read : .readWrite)
      report.wasClosed = file.current.isClosed
      guard options.isReadOnly || file.current.allowsWriting else {
        throw StoreError(
          .unsupportedFormat,
          "The store needs a newer version of Perdure to be written: \(file.current.featuresToWrite). "
            + "Open it for reading only, or with that version",
          at: directory.path)
      }
      return file
    }
    guard files.segments.isEmpty else {
      throw StoreError(
        .corruption,
        "The store \(directory.path) has a log but no superblock; \(StoreError.beyondRepair)",
        at: StoreFileName.superblock.string)
    }
    guard options.createsIfMissing, !options.isReadOnly else {
      throw StoreError.noStore(at: directory.path)
    }
    report.created = true
    report.wasClosed = true
    var superblock = Superblock(
      store: options.newStoreID ?? .random(), segmentCapacity: UInt32(options.segmentCapacityBytes))
    if options.bindsRecords { superblock.incompatibleFeatures |= FormatVersion.boundRecords }
    return try SuperblockFile.create(in: directory, superblock)
  }
}
