// An open directory.
//
// Each call that takes a path looks it up again. After a directory was moved, or removed and
// created again, the same path names another directory. So a program that keeps several files in a
// directory opens the directory once, and names its files relative to it.

/// An open directory, whose names are relative to the directory itself.
///
/// The object stays with the directory that was opened, even if that is renamed or its path names
/// another directory. A removed directory is empty, and no file can be created in it (`.notFound`).
/// The directory stays open until the object is released.
///
/// On a system without calls relative to a directory, as Windows, an implementation can hold a
/// handle that prevents renaming and removing the directory.
///
/// Every method may be called from any thread, and from several threads at once.
public protocol Directory: AnyObject, Sendable {
  /// The path that the directory was opened with, for messages only. It does not follow renames.
  var path: String { get }

  /// The names in the directory, sorted by their UTF-8 bytes, without `.` and `..`.
  ///
  /// A name that is created or removed during the call may be included or not.
  ///
  /// - Throws: `.mediaError`, `.tooManyOpenFiles`.
  /// - Complexity: O(n log n) for n names.
  func contents() throws(FileIOError) -> [String]

  /// The kind of the file named `name`, following symbolic links; nil if there is no such file.
  ///
  /// - Throws: `.permissionDenied`, `.mediaError`.
  func kind(of name: String) throws(FileIOError) -> FileKind?

  /// Opens or creates a file. Like `FileSystem.open(_:_:)`; the name of a created file is durable
  /// after `sync()`.
  ///
  /// - Throws: The errors of `FileSystem.open(_:_:)`; a file that was absent is still absent.
  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File

  /// Renames the file `source` to `destination`, and replaces a file of that name in one step. Like
  /// `FileSystem.rename(_:to:)`, within this directory.
  ///
  /// - Throws: The errors of `FileSystem.rename(_:to:)`; nothing was renamed.
  func rename(_ source: String, to destination: String) throws(FileIOError)

  /// Removes a file's name, or an empty directory. Like `FileSystem.remove(_:)`.
  ///
  /// - Throws: `.notFound`, `.directoryNotEmpty`; nothing was removed.
  func remove(_ name: String) throws(FileIOError)

  /// Makes the names in the directory durable. Like `FileSystem.syncDirectory(_:)`.
  ///
  /// - Throws: `.mediaError`; then it is unknown whether names changed since the last sync are
  ///   durable.
  func sync() throws(FileIOError)

  /// Takes the lock of the file `name`, and creates that file if it is absent. Like
  /// `FileSystem.lock(_:_:holder:)`. `FileLock.isNamed()` looks the name up in this directory.
  ///
  /// - Throws: The errors of `FileSystem.lock(_:_:holder:)`. Then no lock is held.
  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock

  /// How many bytes this process may still write on the directory's volume now. It is a hint.
  ///
  /// - Throws: `.mediaError`.
  func availableBytes() throws(FileIOError) -> UInt64
}

extension FileSystem {
  /// A directory that works by path, through this file system's own methods.
  ///
  /// - Throws: `.notFound`, `.notADirectory`.
  public func openDirectory(_ path: String) throws(FileIOError) -> any Directory {
    switch try kind(of: path) {
    case .directory: return PathDirectory(path, self)
    case nil: throw FileIOError(.notFound, operation: "openDirectory", path: path)
    case .file, .other: throw FileIOError(.notADirectory, operation: "openDirectory", path: path)
    }
  }
}

/// A substitute for an open directory if a file system has only paths: each call looks the path up
/// again.
private final class PathDirectory: Directory {
  let path: String
  private let fileSystem: any FileSystem

  init(_ path: String, _ fileSystem: any FileSystem) {
    self.path = path
    self.fileSystem = fileSystem
  }

  func contents() throws(FileIOError) -> [String] { try fileSystem.contents(of: path) }

  func kind(of name: String) throws(FileIOError) -> FileKind? { try fileSystem.kind(of: full(name)) }

  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try fileSystem.open(full(name), mode)
  }

  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try fileSystem.rename(full(source), to: full(destination))
  }

  func remove(_ name: String) throws(FileIOError) { try fileSystem.remove(full(name)) }

  func sync() throws(FileIOError) { try fileSystem.syncDirectory(path) }

  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try fileSystem.lock(full(name), kind, holder: holder)
  }

  func availableBytes() throws(FileIOError) -> UInt64 { try fileSystem.availableBytes(at: path) }

  private func full(_ name: String) -> String { path + "/" + name }
}
