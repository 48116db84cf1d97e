// An open directory of a file system.
//
// Each call with a path looks the path up again. If the directory was moved, or removed and created
// again, the same path refers to another directory. So a program that keeps several files in a
// directory opens the directory once, and names its files relative to it.

/// An open directory, in which files are named relative to the directory.
///
/// The object always refers to the directory that was opened. It does so even if the directory is
/// renamed or its path later refers to another directory. A removed directory is empty, and no file
/// can be created in it (`.notFound`). The directory stays open until the object is released.
///
/// On a system without calls relative to a directory, such as Windows, an implementation can keep a
/// handle that prevents renaming and removing the directory.
///
/// Every method may be called from any thread, and from several threads at the same time.
public protocol Directory: AnyObject, Sendable {
  /// The path with which the directory was opened, for messages only. Renaming the directory does
  /// not change it.
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

  /// Opens or creates a file, like `FileSystem.open(_:_:)`. The name of a created file is durable
  /// after `sync()`.
  ///
  /// - Throws: The errors of `FileSystem.open(_:_:)`. After an error, no file was created.
  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File

  /// Renames the file `source` to `destination`. An existing file with the name `destination` is
  /// replaced atomically.
  ///
  /// Works like `FileSystem.rename(_:to:)`, within this directory.
  ///
  /// - Throws: The errors of `FileSystem.rename(_:to:)`. After an error, nothing was renamed.
  func rename(_ source: String, to destination: String) throws(FileIOError)

  /// Removes the name of a file, or an empty directory, like `FileSystem.remove(_:)`.
  ///
  /// - Throws: The errors of `FileSystem.remove(_:)`. After an error, nothing was removed.
  func remove(_ name: String) throws(FileIOError)

  /// Makes the names in the directory durable, like `FileSystem.syncDirectory(_:)`.
  ///
  /// - Throws: `.mediaError`. After an error, it is unknown whether names that changed since the
  ///   last sync are durable.
  func sync() throws(FileIOError)

  /// Acquires the lock of the file `name`, and creates that file if it is absent.
  ///
  /// Works like `FileSystem.lock(_:_:holder:)`. `FileLock.isNamed()` looks the name up in this
  /// directory.
  ///
  /// - Throws: The errors of `FileSystem.lock(_:_:holder:)`. After an error, no lock is held.
  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock

  /// The number of bytes that this process may still write to the directory's volume. It is a hint.
  ///
  /// - Throws: `.mediaError`.
  func availableBytes() throws(FileIOError) -> UInt64
}

extension FileSystem {
  /// Opens a directory whose methods pass paths to the methods of this file system.
  ///
  /// - Throws: `.notFound`, `.notADirectory`, and the errors of `kind(of:)`.
  public func openDirectory(_ path: String) throws(FileIOError) -> any Directory {
    switch try kind(of: path) {
    case .directory: return PathDirectory(path, self)
    case nil: throw FileIOError(.notFound, operation: .openDirectory, path: path)
    case .file, .other: throw FileIOError(.notADirectory, operation: .openDirectory, path: path)
    }
  }
}

/// An open directory of a file system that supports only paths. Each call looks the path up again.
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
