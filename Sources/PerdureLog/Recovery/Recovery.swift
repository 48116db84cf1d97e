import PerdureFileIO
import PerdureFormat

/// Opening a store: the numbered steps of FORMAT.md, "Recovery", in that order.
enum Recovery {
  /// - Parameter suspectsIndex: Whether an index file is read as a whole before it is used, whatever the
  ///   options say. Of openings for reading.
  static func open(
    _ path: String, _ options: StoreOptions, suspectsIndex: Bool = false
  ) throws -> (Engine, RecoveryReport) {
    do {
      return try openChecked(path, options, suspectsIndex)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Opening the store")
    } catch let error as LogOpening.GivenUp {
      throw error.cause
    }
  }

  /// Where a store is, whatever becomes of the working directory.
  static func place(of path: String, _ options: StoreOptions) throws -> String {
    do { return try StorePath.fixed(path, options.fileSystem) } catch {
      throw StoreError.io(error, "Opening the store")
    }
  }

  private static func openChecked(
    _ path: String, _ options: StoreOptions, _ suspectsIndex: Bool
  ) throws -> (Engine, RecoveryReport) {
    if options.isReadOnly {
      try prepareDirectory(path, options)
      try checkIsStore(path, options)
      return try ReadOnlyOpening(path, options, suspectsIndex).run()
    }
    let fileSystem = options.fileSystem
    var report = RecoveryReport()
    // 1. The writer's place.
    let lock = try takeWritersPlace(path, options)
    do {
      let directory = try Directory(path, fileSystem)
      // 2. The superblock.
      let superblock = try openSuperblock(directory, path, options, &report)
      // 3 to 10. The log, from the checkpoint on if there is one.
      var opening = LogOpening(directory, superblock, path, options)
      let state = try opening.run(&report)
      return try finish(state, opening, path, options, lock, nil, &report)
    } catch {
      lock.release()
      throw error
    }
  }

  /// The files that are there.
  struct Directory {
    var segments: [UInt64] = []
    var blobs: [UInt64] = []
    var indexes: [UInt64] = []
    var reserves: [UInt64] = []
    var temporaries: [String] = []
    var hasSuperblock = false
    /// Files that are none of a store's, hidden ones left out.
    var strangers: [String] = []

    init(_ path: String, _ fileSystem: any FileSystem) throws {
      for string in try fileSystem.contents(of: path) {
        switch StoreFileName(string) {
        case .segment(let number): segments.append(number)
        case .blob(let number): blobs.append(number)
        case .index(let number): indexes.append(number)
        case .reserve(let number): reserves.append(number)
        case .temporary: temporaries.append(string)
        case .superblock: hasSuperblock = true
        case .lock, .readers: break
        case nil: if !string.hasPrefix(".") { strangers.append(string) }
        }
      }
    }
  }

  /// Who destroys the store in this moment takes its directory along, and who makes one brings it: then it
  /// begins again.
  private static func takeWritersPlace(_ path: String, _ options: StoreOptions) throws -> any FileLock {
    var attemptsLeft = 16
    while true {
      attemptsLeft -= 1
      do {
        try prepareDirectory(path, options)
        try checkIsStore(path, options)
        return try options.fileSystem.writerLock(ofStore: path)
      } catch let error as FileIOError {
        guard attemptsLeft > 0, [.notFound, .alreadyExists].contains(error.code) else { throw error }
      }
    }
  }

  private static func prepareDirectory(_ path: String, _ options: StoreOptions) throws {
    if path.isEmpty {
      throw StoreError(.invalidArgument, "The path of the store is empty; give the one of its directory")
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
          .io, "The folder that the store is to be made in is not there; make it, or check the path",
          at: path,
          cause: error)
      }
    case .file, .other:
      throw StoreError(.notAStore, "A store is a directory, and this is not one; check the path", at: path)
    }
  }

  /// Before anything is put into a directory, or removed from it, that is not a store and shall not become
  /// one: somebody else's files are no place for one.
  private static func checkIsStore(_ path: String, _ options: StoreOptions) throws {
    let directory = try Directory(path, options.fileSystem)
    if directory.hasSuperblock || !directory.segments.isEmpty { return }
    guard options.createsIfMissing, !options.isReadOnly else { throw StoreError.noStore(at: path) }
    if let stranger = directory.strangers.min() {
      throw StoreError(
        .notAStore, "The directory is no store and holds other files, as \(stranger): give a store its own",
        at: path)
    }
  }

  static func openSuperblock(
    _ directory: Directory, _ path: String, _ options: StoreOptions, _ report: inout RecoveryReport
  ) throws -> SuperblockFile {
    if directory.hasSuperblock {
      let file = try SuperblockFile.open(
        in: path, options.isReadOnly ? .read : .readWrite, options.fileSystem)
      report.wasClosed = file.current.isClosed
      guard options.isReadOnly || file.current.allowsWriting else {
        throw StoreError(
          .unsupportedFormat,
          "The store needs a newer version of Perdure to be written: \(file.current.featuresToWrite). "
            + "Open it for reading only, or with that version",
          at: path)
      }
      return file
    }
    guard directory.segments.isEmpty else {
      throw StoreError(
        .corruption, "The store \(path) has a log but no superblock; restore it from a backup",
        at: StoreFileName.superblock.string)
    }
    guard options.createsIfMissing, !options.isReadOnly else {
      throw StoreError.noStore(at: path)
    }
    report.created = true
    report.wasClosed = true
    var superblock = Superblock(
      store: options.newStoreID ?? .random(), segmentCapacity: UInt32(options.segmentCapacityBytes))
    if options.bindsRecords { superblock.incompatibleFeatures |= FormatVersion.boundRecords }
    return try SuperblockFile.create(in: path, superblock, options.fileSystem)
  }
}
