import PerdureFileIO
import PerdureFormat

// The directory `NAME.copy`, into which a copy is written. It is renamed when the copy is complete.
//
// Another store may have that name. So an existing directory is replaced only if it is empty or
// marked as the draft of NAME. The mark is made durable before any other file is written, and
// removed after the rename. It is a `*.tmp` file, which the next writer removes. So a directory
// that was opened as a store is no longer a draft. A store that is made in the draft itself keeps
// the mark (`StoreOptions.draft`).
//
// A mark contains the name of the copy. After a crash between the rename and the removal of the
// marks, a complete copy named `OTHER.copy` still has marks. Their text shows that the copy is not
// the draft of OTHER.

/// A copy in progress, and the lock on its directory.
struct CopyDraft {
  let path: String
  private let fileSystem: any FileSystem
  /// The lock that prevents another copy to the same name, and the opening of an incomplete copy.
  private let lock: any FileLock
  /// The name of the copy, as stored in the marks.
  private var name: String { String(StorePath.name(of: path).dropLast(Self.suffix.count)) }

  /// The suffix of a draft's name.
  static let suffix = ".copy"
  private static let mark = StoreFileName.temporary("COPY")
  /// The name of a mark while its text is written.
  private static let unnamedMark = StoreFileName.temporary("MARK")
  /// Marks a complete draft that replaces the store of its name (Store+Replacing.swift).
  static let replacementMark = StoreFileName.temporary("REPLACEMENT")

  /// The lock, for a store that is made in the draft. Closing that store does not release it.
  var borrowedLock: any FileLock { BorrowedLock(lock) }

  /// Whether a file of a draft is its mark.
  static func isMark(_ name: String) -> Bool { name == mark.string }

  /// Creates a value for a draft that another process has left.
  init(_ path: String, _ fileSystem: any FileSystem, _ lock: any FileLock) {
    (self.path, self.fileSystem, self.lock) = (path, fileSystem, lock)
  }

  /// Creates the draft of a copy. It replaces the draft of an earlier unfinished copy.
  init(of target: String, _ fileSystem: any FileSystem) throws {
    try Self.checkLeadsSomewhere(target, fileSystem)
    let path = target + Self.suffix
    (self.path, self.fileSystem) = (path, fileSystem)
    lock = try Self.lockedDirectory(path, fileSystem)
    do {
      try Store.removeFiles(of: path, fileSystem, keepsLock: true)
      try write(Self.mark)
    } catch {
      throw removed(after: error)
    }
  }

  /// Locks the directory of a draft, and creates it if it is absent. If that fails, a directory
  /// that was created here is removed.
  private static func lockedDirectory(
    _ path: String, _ fileSystem: any FileSystem
  ) throws -> any FileLock {
    let isMade = try fileSystem.kind(of: path) == nil
    if isMade { try fileSystem.createDirectory(path) }
    var lock: (any FileLock)?
    do {
      try checkIsDraft(path, fileSystem)
      let held = try fileSystem.writerLock(ofStore: path)
      lock = held
      try checkIsDraft(path, fileSystem)
      return held
    } catch {
      let note = isMade ? removeNew(path, fileSystem, isLocked: lock != nil) : nil
      lock?.release()
      throw noting(note, in: error)
    }
  }

  /// Removes a directory that was just created, unless another process has created files in it.
  ///
  /// - Returns: A clause with the reason why the directory stays; nil if it was removed, or if it
  ///   is in use.
  private static func removeNew(
    _ path: String, _ fileSystem: any FileSystem, isLocked: Bool
  ) -> String? {
    do throws(FileIOError) {
      if isLocked { try fileSystem.remove(path + "/" + StoreFileName.lock.string) }
      try fileSystem.remove(path)
    } catch {
      return [.notFound, .directoryNotEmpty].contains(error.code) ? nil : stays(path, error)
    }
    return nil
  }

  /// Checks that `target` is not a symbolic link to an absent directory. With such a link, the
  /// rename fails only after all files were written.
  private static func checkLeadsSomewhere(_ target: String, _ fileSystem: any FileSystem) throws {
    guard try fileSystem.kind(of: target) == nil,
      // If the parent cannot be read, only the rename finds a link.
      let names = try? fileSystem.contents(of: StorePath.parent(of: target)),
      names.contains(StorePath.name(of: target))
    else { return }
    throw StoreError(
      .invalidArgument,
      "The path is a symbolic link to a directory that does not exist; create that directory, or remove the link",
      at: target)
  }

  /// Checks that `path` is a draft, or a directory with only LOCK and an unfinished mark.
  private static func checkIsDraft(_ path: String, _ fileSystem: any FileSystem) throws {
    if try fileSystem.kind(of: path) == .directory {
      if try has(mark, path, fileSystem) { return }
      let names = try fileSystem.contents(of: path)
      if names.allSatisfy({ [.lock, unnamedMark].contains(StoreFileName($0)) }) { return }
    }
    throw StoreError(
      .invalidArgument,
      "A copy is written to its name with .copy appended, but another file or folder has that name; choose another "
        + "name, or move that file or folder away",
      at: path)
  }

  /// Renames the complete copy to `target`, or removes the copy if that fails.
  ///
  /// - Throws: `FileIOError` if the copy was removed; `StoreError` if it was renamed, and the last
  ///   sync failed.
  func rename(to target: String) throws {
    do throws(FileIOError) { try fileSystem.rename(path, to: target) } catch {
      throw error.noting(remove())
    }
    do throws(FileIOError) { try didTake(target) } catch {
      throw StoreError(
        .io,
        "The copy is complete, but a power cut may remove it: its name could not be synced. Open it and use it, or "
          + "destroy it and copy again",
        at: target, cause: error)
    }
  }

  private func didTake(_ target: String) throws(FileIOError) {
    // Errors are ignored, because opening the store for writing removes the marks too.
    defer {
      for mark in [Self.mark, Self.replacementMark] { _ = try? fileSystem.remove(target + "/" + mark.string) }
      _ = try? fileSystem.syncDirectory(target)
      lock.release()
    }
    try fileSystem.syncDirectory(StorePath.parent(of: target))
  }

  // MARK: Marks

  /// Creates a mark that is durable when the call returns. The mark is renamed to its final name
  /// after its text is durable, because a torn text could name another copy.
  private func write(_ mark: StoreFileName) throws {
    let unnamed = path + "/" + Self.unnamedMark.string
    let file = try fileSystem.open(unnamed, .create)
    var text = name + "\n"
    try text.withUTF8 { try file.write(UnsafeRawBufferPointer($0), at: 0) }
    try file.sync(.full)
    try file.close()
    try fileSystem.rename(unnamed, to: path + "/" + mark.string)
    try fileSystem.syncDirectory(path)
  }

  /// Whether the directory `path` has a mark with the name of its copy, which is `path` without the
  /// suffix.
  ///
  /// An empty mark is accepted too, because earlier versions wrote empty marks.
  static func has(
    _ mark: StoreFileName, _ path: String, _ fileSystem: any FileSystem
  ) throws(FileIOError) -> Bool {
    let file: any File
    do throws(FileIOError) { file = try fileSystem.open(path + "/" + mark.string, .read) } catch {
      guard [.notFound, .notADirectory].contains(error.code) else { throw error }
      return false
    }
    // Errors are ignored, because the file was only read.
    defer { try? file.close() }
    let expected = StorePath.name(of: path).dropLast(suffix.count) + "\n"
    // Reads one byte more than the length of a complete mark, so that a longer text does not match.
    let text = try file.read(expected.utf8.count + 1, at: 0)
    return text.isEmpty || text.elementsEqual(expected.utf8)
  }

  // MARK: Replacements

  /// Marks the complete copy as the replacement of the store with its name.
  func markAsReplacement() throws {
    // The draft's name must be durable before the old store is destroyed.
    try fileSystem.syncDirectory(StorePath.parent(of: path))
    try write(Self.replacementMark)
  }

  /// Renames the copy to `target`. If that fails, the copy is kept, because it may be the only
  /// store left.
  func takeAsReplacement(_ target: String) throws(FileIOError) {
    try fileSystem.rename(path, to: target)
    try didTake(target)
  }

  /// Keeps the draft, and releases its lock.
  func leave() { lock.release() }

  // MARK: Failures

  /// Removes the files of a copy that failed, as far as possible.
  ///
  /// - Returns: A clause with the reason why the draft stays; nil if it was removed.
  @discardableResult
  func remove() -> String? {
    defer { lock.release() }
    do { try Store.removeFiles(of: path, fileSystem) } catch { return Self.stays(path, error) }
    return nil
  }

  /// Removes the files of a copy that failed, and returns the error to throw. If the draft stays,
  /// the error also has the reason for that.
  func removed(after error: any Error) -> any Error { Self.noting(remove(), in: error) }

  private static func stays(_ path: String, _ refusal: any Error) -> String {
    let reason = (refusal as? FileIOError).map { "\($0.operation) failed there (\($0.code))" } ?? "\(refusal)"
    return "the unfinished copy stays in \(path), because \(reason); the next copy to this name replaces it"
  }

  /// Errors of the caller's handlers are not changed.
  private static func noting(_ note: String?, in error: any Error) -> any Error {
    switch error {
    case let error as FileIOError: error.noting(note)
    case let error as StoreError: error.noting(note)
    default: error
    }
  }
}

extension FileIOError {
  /// The same error, with a clause added to its message.
  fileprivate func noting(_ note: String?) -> FileIOError {
    guard let note else { return self }
    let detail = detail.map { "\($0); \(note)" } ?? note
    return FileIOError(code, operation: operation, path: path, offset: offset, errno: errno, detail: detail)
  }
}

extension StoreError {
  /// The same error, with a clause added to its message.
  fileprivate func noting(_ note: String?) -> StoreError {
    guard let note else { return self }
    return StoreError(code, "\(message); \(note)", at: place, cause: cause, conflicts: conflicts)
  }
}

/// A lock that another object owns. Only the owner releases it.
private final class BorrowedLock: FileLock {
  private let lock: any FileLock

  init(_ lock: any FileLock) { self.lock = lock }

  func release() {}

  func isNamed() throws(FileIOError) -> Bool { try lock.isNamed() }
}
