import PerdureFileIO
import PerdureFormat

// The directory of a store, as its writer uses it.
//
// The writer's lock is a file of the store. When the store's folder is removed or replaced, or LOCK alone is
// removed, another writer can take the lock of the same name. A writer that creates, renames or removes files
// from then on may damage the other store. So the writer asks before each such call whether the file that it
// has locked still has the name LOCK in this directory. FORMAT.md, W10.
//
// A folder that was moved is not replaced: the directory is open, and LOCK is in it.

/// A directory that changes no name after the writer's lock has lost its own.
final class WriterDirectory: Directory {
  /// The same directory without the check, for readers: they change nothing of the writer's.
  let base: any Directory
  private let lock: any FileLock
  private let isChecked: Bool
  private let didReplace = Guarded<@Sendable (FileIOError) -> Void>({ _ in })

  /// - Parameter isChecked: False only in the proof.
  init(_ base: any Directory, _ lock: any FileLock, isChecked: Bool) {
    (self.base, self.lock, self.isChecked) = (base, lock, isChecked)
  }

  /// Has `body` called with the error of a check that fails.
  func whenReplaced(_ body: @escaping @Sendable (FileIOError) -> Void) {
    didReplace.withLock { $0 = body }
  }

  /// The one place where it is decided whether the store's folder still is the writer's.
  ///
  /// - Parameter operation: What the writer is about to do: an error of the check counts as a refusal of that.
  /// - Throws: `.replaced`; what the system says if the check is not possible.
  fileprivate func check(_ operation: String) throws(FileIOError) {
    guard isChecked else { return }
    do throws(FileIOError) { if try lock.isNamed() { return } } catch {
      throw FileIOError(error.code, operation: operation, path: error.path, errno: error.errno)
    }
    let error = FileIOError(.replaced, operation: operation, path: path)
    didReplace.withLock { $0 }(error)
    throw error
  }
}

extension WriterDirectory {
  var path: String { base.path }

  func contents() throws(FileIOError) -> [String] { try base.contents() }

  func kind(of name: String) throws(FileIOError) -> FileKind? { try base.kind(of: name) }

  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File {
    if mode == .create { try check("open") }
    return try base.open(name, mode)
  }

  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try check("rename")
    try base.rename(source, to: destination)
  }

  func remove(_ name: String) throws(FileIOError) {
    try check("remove")
    try base.remove(name)
  }

  func sync() throws(FileIOError) { try base.sync() }

  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try base.lock(name, kind, holder: holder)
  }

  func availableBytes() throws(FileIOError) -> UInt64 { try base.availableBytes() }
}

extension Directory {
  /// Checks that the folder still is the writer's, before something is written that names no file: the header
  /// of a segment, a superblock. Does nothing in a directory that is only read.
  ///
  /// - Throws: `.replaced`, and the store is poisoned; another error, as of a write that was refused.
  func checkIsWriters() throws(FileIOError) { try (self as? WriterDirectory)?.check("open") }
}
