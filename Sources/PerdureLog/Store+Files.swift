import PerdureFileIO
import PerdureFormat

// Copies and destroys whole stores. Both operations hold the writer's lock, so that no writer opens
// the store meanwhile.
//
// A copy is written to a directory with another name, and renamed when it is complete and durable.
// So after a power cut there is a complete store with the new name, or none. The superblock of a
// store is destroyed first. So a power cut never leaves a part of the store that can be opened.

extension Store {
  /// Copies a store that is not open for writing, file by file. The copy has the same identity and
  /// history. `backup(to:since:options:progress:)` copies a store that is open.
  ///
  /// The copy is durable when the call returns. Reserves and the table of readers are not copied.
  ///
  /// - Parameters:
  ///   - source: The store's directory.
  ///   - target: The copy's directory. It must be absent or empty. The copy is written to this path
  ///     with the suffix `.copy`. That directory must be absent, empty, or left by an unfinished
  ///     copy, which is then replaced.
  ///   - options: Only `fileSystem` is used, for both stores.
  /// - Throws: `StoreError`: `.locked` while a writer has the source open; `.notAStore`;
  ///   `.invalidArgument` if the target is not empty, or if its `.copy` directory is not a draft of
  ///   this copy; `.unsupportedFormat` if the store has a feature of a newer version; `.diskFull`,
  ///   `.io`. The files copied so far are then removed. If only the last sync failed, the complete
  ///   copy is kept, and may be lost in a power cut.
  /// - Complexity: O(n) for n bytes of files.
  public static func copy(
    at source: String, to target: String, options: StoreOptions = StoreOptions()
  ) throws {
    let fileSystem = options.fileSystem
    do {
      let source = try StorePath.fixed(source, fileSystem)
      let target = try StorePath.fixed(target, fileSystem)
      try Replacement(of: source, fileSystem).complete()
      try checkIsFree(target, fileSystem)
      var lock = try lockToCopy(source, fileSystem)
      defer { lock.release() }
      let draft = try CopyDraft(of: target, fileSystem)
      do {
        try copyFiles(source, draft.path, fileSystem)
        try markAsCopy(draft.path, fileSystem)
      } catch {
        throw draft.removed(after: error)
      }
      try draft.rename(to: target)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Copying a store")
    }
  }

  /// Removes a store that is not open for writing, with all its files. Does nothing if there is no
  /// store.
  ///
  /// Readers can still read the files that they have open; other reads throw. Files that do not
  /// belong to the store are kept, and in that case the directory is kept too.
  ///
  /// - Parameter path: The directory of the store.
  /// - Parameter options: Only `fileSystem` is used.
  /// - Throws: `StoreError`: `.locked` while a writer has it open; `.io`. After `.io`, or after a
  ///   power cut, some files may remain. They are a store only if the superblock is among them.
  ///   Call this again to remove them.
  public static func destroy(at path: String, options: StoreOptions = StoreOptions()) throws {
    let fileSystem = options.fileSystem
    do {
      let path = try StorePath.fixed(path, fileSystem)
      // The draft is removed first. Otherwise it becomes the store at this path (RP3).
      Replacement(of: path, fileSystem).abandon()
      try destroyFiles(of: path, fileSystem)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Destroying a store")
    }
  }

  static func destroyFiles(of path: String, _ fileSystem: any FileSystem) throws {
    guard var lock = try lockToDestroy(path, fileSystem) else { return }
    defer { lock.release() }
    try removeFiles(of: path, fileSystem)
  }

  /// The name of a file in a store's directory that does not belong to the store; nil if there is
  /// none. `destroy` keeps this file.
  package static func foreignFile(
    at path: String, options: StoreOptions = StoreOptions()
  ) throws -> String? {
    do {
      guard try options.fileSystem.kind(of: path) == .directory else { return nil }
      let names = try options.fileSystem.contents(of: path)
      return Set(names).subtracting(StoreFileName.ownNames(among: names)).min()
    } catch {
      throw StoreError.io(error, "Reading the directory of a store")
    }
  }

  // MARK: Steps

  /// Locks a store; nil if there is no store, or if another process has removed it meanwhile.
  private static func lockToDestroy(
    _ path: String, _ fileSystem: any FileSystem
  ) throws -> ClosedStoreLock? {
    do {
      guard try fileSystem.kind(of: path) == .directory else { return nil }
      let names = try fileSystem.contents(of: path)
      guard !StoreFileName.ownNames(among: names).isEmpty else { return nil }
      return try ClosedStoreLock(of: path, fileSystem)
    } catch let error as FileIOError {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }

  /// Checks that a copy may get the name `path`. If a power cut has interrupted a replacement of
  /// the store with that name, it completes the replacement first. The draft of the replacement has
  /// the same name as the copy's draft, and may be the only store left (RP2).
  static func checkIsFree(_ path: String, _ fileSystem: any FileSystem) throws {
    if path.isEmpty {
      throw StoreError(
        .invalidArgument, "The path of the new store is empty; give the path of its directory")
    }
    try Replacement(of: path, fileSystem).complete()
    guard let kind = try fileSystem.kind(of: path) else { return }
    guard kind == .directory, try fileSystem.contents(of: path).isEmpty else {
      throw StoreError(
        .invalidArgument,
        "A new store needs a new or empty directory; choose another one, or destroy the store there",
        at: path)
    }
  }

  static func lockToCopy(_ path: String, _ fileSystem: any FileSystem) throws -> ClosedStoreLock {
    let superblock = path + "/" + StoreFileName.superblock.string
    guard try fileSystem.kind(of: path) == .directory, try fileSystem.kind(of: superblock) == .file else {
      throw StoreError(.notAStore, "There is no store to copy; check the path", at: path)
    }
    var lock = try ClosedStoreLock(of: path, fileSystem)
    do { try checkIsKnown(path, fileSystem) } catch {
      lock.release()
      throw error
    }
    return lock
  }

  /// Checks that a store has no feature of a newer version. Such a store may have files that this
  /// version does not copy, and this version cannot mark the copy's superblock.
  private static func checkIsKnown(_ path: String, _ fileSystem: any FileSystem) throws {
    let superblock: Superblock
    do {
      superblock = try SuperblockFile.open(in: fileSystem.openDirectory(path), .read).current
    } catch let error as StoreError {
      // A damaged store may be copied, for a salvage.
      guard error.code == .corruption else { throw error }
      return
    }
    guard superblock.allowsWriting else {
      throw StoreError(
        .unsupportedFormat,
        "A copy by this version of Perdure would lose a feature of the store: \(superblock.featuresToWrite). "
          + "Copy it with a newer version", at: path)
    }
  }

  static func copyFiles(_ source: String, _ target: String, _ fileSystem: any FileSystem) throws {
    for string in try fileSystem.contents(of: source) {
      switch StoreFileName(string) {
      case .superblock, .segment, .blob, .index:
        try copyFile(source + "/" + string, target + "/" + string, fileSystem)
      case .lock, .readers, .reserve, .temporary, nil: break
      }
    }
    try fileSystem.syncDirectory(target)
  }

  /// Records in the superblock that no writer has opened the copy yet. A superblock that cannot be
  /// read is not changed.
  static func markAsCopy(_ path: String, _ fileSystem: any FileSystem) throws {
    let superblock: SuperblockFile
    do {
      superblock = try SuperblockFile.open(in: fileSystem.openDirectory(path), .readWrite)
    } catch is StoreError {
      return
    }
    try superblock.replace { $0.branch.isUnopenedCopy = true }
  }

  private static func copyFile(_ source: String, _ target: String, _ fileSystem: any FileSystem) throws {
    let from = try fileSystem.open(source, .read)
    let to = try fileSystem.open(target, .create)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    var offset: UInt64 = 0
    while true {
      let count = try from.readToEnd(into: buffer, at: offset)
      if count == 0 { break }
      try to.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
      offset += UInt64(count)
    }
    try to.sync(.full)
    try to.close()
    try from.close()
  }

  /// Removes a store's files: the superblock first, then files with content, then temporary files,
  /// and the lock last. Then the directory is removed if it is empty.
  ///
  /// - Parameter keepsLock: Whether the lock file and the directory are kept.
  static func removeFiles(
    of path: String, _ fileSystem: any FileSystem, keepsLock: Bool = false
  ) throws {
    guard try fileSystem.kind(of: path) == .directory else { return }
    let names = try fileSystem.contents(of: path)
    if names.contains(where: { StoreFileName($0) == .superblock }) {
      try fileSystem.remove(path + "/" + StoreFileName.superblock.string)
      try fileSystem.syncDirectory(path)
    }
    for name in names {
      switch StoreFileName(name) {
      case .superblock, .lock, .temporary, nil: break
      case .readers, .segment, .blob, .index, .reserve: try fileSystem.remove(path + "/" + name)
      }
    }
    // The mark of a copy's draft is one of these. It is removed after the files to which it refers.
    let temporaries = names.filter { if case .temporary = StoreFileName($0) { true } else { false } }
    if !temporaries.isEmpty { try fileSystem.syncDirectory(path) }
    for name in temporaries { try fileSystem.remove(path + "/" + name) }
    if keepsLock { return }
    // Without LOCK, a temporary file could be a file of the user (`StoreFileName.ownNames`).
    if !temporaries.isEmpty { try fileSystem.syncDirectory(path) }
    for name in try fileSystem.contents(of: path) where StoreFileName(name) == .lock {
      try fileSystem.remove(path + "/" + name)
    }
    try removeDirectory(path, fileSystem)
  }

  /// Removes an empty directory. The file LOCK is already removed, so another process may create a
  /// store in the directory meanwhile.
  private static func removeDirectory(_ path: String, _ fileSystem: any FileSystem) throws {
    do throws(FileIOError) {
      guard try fileSystem.contents(of: path).isEmpty else { return try fileSystem.syncDirectory(path) }
      try fileSystem.remove(path)
    } catch {
      guard [.notFound, .directoryNotEmpty].contains(error.code) else { throw error }
    }
    try fileSystem.syncDirectory(StorePath.parent(of: path))
  }
}
