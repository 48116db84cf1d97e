// An open directory.
//
// A path is looked up anew by every call that takes it: when a directory is moved, or removed and made again,
// the same path names another one. A program that keeps several files in a directory therefore opens the
// directory once, and names its files relative to it.

/// An open directory, whose names are relative to the directory itself.
///
/// The directory may be renamed, or its path given to another directory: the object stays with the directory
/// that was opened. After its removal the directory is empty, and nothing can be created in it (`.notFound`).
/// The directory stays open until the object is released.
///
/// A system whose directories cannot be used this way, as Windows, comes close with a handle that forbids
/// renaming and removing the directory while it is open.
///
/// Every method may be called from any thread, several at once.
public protocol Directory: AnyObject, Sendable {
  /// The path the directory was opened with. It isn't followed through renames: for messages only.
  var path: String { get }

  /// The names in the directory, sorted by their UTF-8 bytes, without `.` and `..`.
  ///
  /// Names made or removed by others during the call may or may not be among them.
  ///
  /// - Throws: `.mediaError`, `.tooManyOpenFiles`.
  /// - Complexity: O(n log n) for n names.
  func contents() throws(FileIOError) -> [String]

  /// What `name` names, following symbolic links; nil if nothing has that name.
  ///
  /// - Throws: `.permissionDenied`, `.mediaError`.
  func kind(of name: String) throws(FileIOError) -> FileKind?

  /// Opens or creates a file. As `FileSystem.open(_:_:)`; the name of a created file is durable after `sync()`.
  ///
  /// - Throws: What `FileSystem.open(_:_:)` throws; a file that was absent is still absent.
  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File

  /// Gives the file `source` the name `destination`, replacing a file of that name in one step. As
  /// `FileSystem.rename(_:to:)`, within this directory.
  ///
  /// - Throws: What `FileSystem.rename(_:to:)` throws; nothing was renamed.
  func rename(_ source: String, to destination: String) throws(FileIOError)

  /// Removes a file's name, or an empty directory. As `FileSystem.remove(_:)`.
  ///
  /// - Throws: `.notFound`, `.directoryNotEmpty`; nothing was removed.
  func remove(_ name: String) throws(FileIOError)

  /// Makes the names in the directory durable. As `FileSystem.syncDirectory(_:)`.
  ///
  /// - Throws: `.mediaError`; then nothing is known about the names changed since the last sync.
  func sync() throws(FileIOError)

  /// Takes the lock of the file `name`, creating that file if absent. As
  /// `FileSystem.lock(_:_:holder:)`. The lock answers `FileLock.isNamed()` for this directory.
  ///
  /// - Throws: What `FileSystem.lock(_:_:holder:)` throws. Nothing is held.
  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock

  /// How many bytes this process may still write on the directory's volume, at this moment. A hint.
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

/// The nearest thing to an open directory where a file system has only paths: each call looks the path up anew.
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
