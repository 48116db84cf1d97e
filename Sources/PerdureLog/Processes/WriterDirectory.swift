import PerdureFileIO
import PerdureFormat

// The directory of a store, in the form that the store's writer uses.
//
// The writer's lock is on a file of the store. If the store's folder is removed or replaced, or
// LOCK alone is removed, another writer can lock a new file of that name. If the first writer then
// creates, renames or removes files, it may damage the other store. So before each such call the
// writer checks that the file it has locked still has the name LOCK in this directory. FORMAT.md,
// W10.
//
// The next opening needs SUPERBLOCK, so the check includes that this name exists.
//
// A folder that was moved passes the check: the directory is open, and LOCK is in it.

/// A directory that refuses to create, rename or remove files after the writer's lock file has lost
/// its name, or SUPERBLOCK was removed.
final class WriterDirectory: Directory {
  /// The same directory without the check, for the table of readers.
  let base: any Directory
  private let lock: any FileLock
  private let isChecked: Bool
  /// Nil until the store is open: a store that is being created has no SUPERBLOCK yet.
  private let didReplace = Guarded<(@Sendable (FileIOError) -> Void)?>(nil)

  /// - Parameter isChecked: False only in the proof, which must detect that the check is missing.
  init(_ base: any Directory, _ lock: any FileLock, isChecked: Bool) {
    (self.base, self.lock, self.isChecked) = (base, lock, isChecked)
  }

  /// Sets the observer that is called with `.replaced` when a check fails. From then on, SUPERBLOCK
  /// must exist.
  func whenReplaced(_ body: @escaping @Sendable (FileIOError) -> Void) {
    didReplace.withLock { $0 = body }
  }

  /// Checks that the store's folder still belongs to this writer. Only this function decides that.
  ///
  /// - Parameter operation: The operation that the writer is about to start. Errors of the check
  ///   have its name, so they count as errors of the operation.
  /// - Throws: `.replaced`; the system's error if the check is not possible.
  fileprivate func check(_ operation: FileIOError.Operation) throws(FileIOError) {
    guard isChecked else { return }
    let observer = didReplace.withLock { $0 }
    let lost: String?
    do throws(FileIOError) { lost = try lostPath(needsSuperblock: observer != nil) } catch {
      throw FileIOError(error.code, operation: operation, path: error.path, errno: error.errno)
    }
    guard let lost else { return }
    let error = FileIOError(.replaced, operation: operation, path: lost)
    observer?(error)
    throw error
  }

  /// The path of the file that lost its name; nil if both names exist.
  private func lostPath(needsSuperblock: Bool) throws(FileIOError) -> String? {
    guard try lock.isNamed() else { return path + "/" + StoreFileName.lock.string }
    let superblock = StoreFileName.superblock.string
    guard needsSuperblock, try base.kind(of: superblock) == nil else { return nil }
    return path + "/" + superblock
  }
}

extension WriterDirectory {
  var path: String { base.path }

  func contents() throws(FileIOError) -> [String] { try base.contents() }

  func kind(of name: String) throws(FileIOError) -> FileKind? { try base.kind(of: name) }

  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File {
    if mode == .create { try check(.open) }
    return try base.open(name, mode)
  }

  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try check(.rename)
    try base.rename(source, to: destination)
  }

  func remove(_ name: String) throws(FileIOError) {
    try check(.remove)
    try base.remove(name)
  }

  func sync() throws(FileIOError) { try base.sync() }

  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try base.lock(name, kind, holder: holder)
  }

  func availableBytes() throws(FileIOError) -> UInt64 { try base.availableBytes() }
}

extension Directory {
  /// Checks that the folder still belongs to this writer. Call it before a write to an open file
  /// that could damage another store, such as the header of a segment or a superblock. It does
  /// nothing in a reader's directory.
  ///
  /// - Throws: `.replaced`, and the store is poisoned; another error if the check is not possible.
  ///   The store then treats this other error as a refused write.
  func checkIsWriters() throws(FileIOError) { try (self as? WriterDirectory)?.check(.open) }
}
