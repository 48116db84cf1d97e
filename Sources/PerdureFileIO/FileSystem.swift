// The interface between Perdure and the operating system. The engine uses the system only through
// `FileSystem`, `File` and `FileLock`. So a store can run on a disk, in memory, or on the simulated
// file system of PerdureTestSupport.
//
// What the seam promises, and the engine builds upon:
//
//   FS1  Content and names are durable apart. `File.sync` makes the bytes and the length of one
//        file durable; `FileSystem.syncDirectory` makes the names in one directory durable. Neither
//        does the work of the other.
//   FS2  Before its sync returns, any subset of the pending changes may be durable, in any order. A
//        file may end up with its new length and zeros where its bytes should be.
//   FS3  A rename replaces its destination in one step: after a crash the name means the old file
//        or the new one, and always one of them.
//   FS4  After a failed sync nothing is known about the changes it covered, and a second sync that
//        succeeds proves nothing about them.
//
// Every method may be called from any thread, several at once.

/// The kind of a path's target.
public enum FileKind: Sendable, Hashable {
  /// A regular file.
  case file
  /// A directory.
  case directory
  /// Another kind: a socket, a device, a pipe.
  case other
}

/// How `FileSystem.open(_:_:)` opens a file.
public enum FileMode: Sendable, Hashable {
  /// An existing file, for reading; writes fail with `.permissionDenied`.
  case read
  /// An existing file, for reading and writing.
  case readWrite
  /// A new, empty file, for reading and writing; fails with `.alreadyExists` if the name is taken.
  case create
}

/// The number of possible holders of a lock.
public enum LockKind: Sendable, Hashable {
  /// One holder, and no shared ones.
  case exclusive
  /// Any number of shared holders, and no exclusive one.
  case shared
}

/// The strictness of `File.sync(_:)`.
public enum SyncMode: Sendable, Hashable {
  /// Everything written before the call becomes durable before anything written after it.
  ///
  /// On Apple systems a barrier, which may return before the medium has the bytes; elsewhere the
  /// same as `full`.
  case ordered
  /// When the call returns, the bytes survive a loss of power, if the medium reports syncs
  /// truthfully.
  case full
}

/// A tree of directories and files.
///
/// Paths are separated by `/`. Relative paths start at the process's working directory (POSIX) or
/// at the root (in memory). Names that are not valid UTF-8 are out of reach.
///
/// Every method may be called from any thread, several at once.
public protocol FileSystem: Sendable {
  /// The path from the root of the file or directory that `path` names now, without symbolic links
  /// where the system has them. The last name may be absent.
  ///
  /// A later change of the working directory or of a link does not change its meaning. The default
  /// implementation returns `path`, as in memory, where no path is relative to the process.
  ///
  /// - Throws: `.notFound` if the working directory does not exist, `.permissionDenied`.
  func absolutePath(_ path: String) throws(FileIOError) -> String

  /// Makes an empty directory, one level deep.
  ///
  /// Visible at once; durable after `syncDirectory` of the parent directory.
  ///
  /// - Throws: `.alreadyExists` if the name is taken, `.notFound` if the parent is absent, and
  ///   other errors of the system; nothing was created.
  func createDirectory(_ path: String) throws(FileIOError)

  /// The names in a directory, sorted by their UTF-8 bytes, without `.` and `..`.
  ///
  /// Names made or removed by others during the call may or may not be among them.
  ///
  /// - Throws: `.notFound`, `.notADirectory`.
  /// - Complexity: O(n log n) for n names.
  func contents(of directory: String) throws(FileIOError) -> [String]

  /// The kind of the target of `path`, following symbolic links; nil if the name does not exist.
  ///
  /// - Throws: `.notADirectory` if something on the way is a file; `.permissionDenied`.
  func kind(of path: String) throws(FileIOError) -> FileKind?

  /// Opens or creates a file.
  ///
  /// The caller owns the result and closes it; a file that is released without being closed is
  /// closed then, and its errors are lost. A created file is visible at once. Its name is durable
  /// after `syncDirectory` of its directory, its bytes after `File.sync`.
  ///
  /// Never waits: other than regular files are refused.
  ///
  /// - Throws: `.notFound`, `.alreadyExists` (mode `.create`), `.isADirectory`, `.notAFile`,
  ///   `.permissionDenied`, `.readOnly`, `.noSpace`, `.tooManyOpenFiles`; a file that was absent is
  ///   still absent.
  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File

  /// Opens the directory that `path` names now. Later changes of the path do not affect it.
  ///
  /// The default implementation returns a directory that works by path, through this file system's
  /// other methods. It suits file systems that wrap another one, and those that have only paths.
  ///
  /// - Throws: `.notFound`, `.notADirectory`, `.permissionDenied`, `.tooManyOpenFiles`.
  func openDirectory(_ path: String) throws(FileIOError) -> any Directory

  /// Renames the file or directory at `source` to `destination`, and replaces a file or an empty
  /// directory of that name in one step.
  ///
  /// Visible at once; durable after `syncDirectory` of the directory of `destination` and, if
  /// another, of `source`. A crash before that leaves the old state, the new one, or the file under
  /// both names. An existing `destination` never disappears. Open files stay open, and a replaced
  /// file lives until its last opener closes it.
  ///
  /// - Throws: `.notFound`, `.isADirectory`, `.notADirectory`, `.directoryNotEmpty`,
  ///   `.invalidArgument` (into itself, or to another volume); nothing was renamed.
  func rename(_ source: String, to destination: String) throws(FileIOError)

  /// Removes a file's name, or an empty directory.
  ///
  /// Visible at once; durable after `syncDirectory` of the directory. Open files and mappings stay
  /// usable, and the bytes are freed when the last of them is closed.
  ///
  /// - Throws: `.notFound`, `.directoryNotEmpty`; nothing was removed.
  func remove(_ path: String) throws(FileIOError)

  /// Adds a second name, `name`, to the file at `source`: a hard link. Both names lead to the same
  /// file and the same bytes.
  ///
  /// Visible at once; durable after `syncDirectory` of the directory of `name`. Optional: throws
  /// `.notSupported` by default, and where a file can have one name only.
  ///
  /// - Throws: `.notFound`, `.alreadyExists`, `.isADirectory`, `.notSupported`, `.invalidArgument`
  ///   (another volume), `.permissionDenied`; the name was not created.
  func link(_ source: String, to name: String) throws(FileIOError)

  /// Makes the names in a directory durable: everything created, renamed and removed in it before
  /// the call.
  ///
  /// Says nothing about the bytes of the files named. Does nothing on systems that cannot sync a
  /// directory.
  ///
  /// - Throws: `.notFound`, `.notADirectory`, `.mediaError`; after `.mediaError` nothing is known
  ///   about the names changed since the last sync, and a second try proves nothing (FS4).
  func syncDirectory(_ path: String) throws(FileIOError)

  /// Acquires the lock of the file at `path`, creating that file if absent. Never waits.
  ///
  /// The lock excludes other openers in this process and in others, on systems that respect the
  /// lock. It ends with `FileLock.release()`, when the object is freed, or when the process ends.
  /// The file stays; its presence has no meaning.
  ///
  /// - Parameter holder: A line of text, kept with the lock (on a disk: written into the file) and
  ///   quoted in the error of refused callers.
  /// - Throws: `.locked`, whose message quotes the holder (the latest one, if shared);
  ///   `.permissionDenied`, `.readOnly`, `.notSupported`. Then no lock is held.
  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock

  /// How many bytes this process may still write on the volume that holds `path`, at this moment.
  ///
  /// A hint: others write too, and a file system may need room for its own records.
  ///
  /// - Throws: `.notFound`.
  func availableBytes(at path: String) throws(FileIOError) -> UInt64
}

extension FileSystem {
  /// The path as it is.
  public func absolutePath(_ path: String) throws(FileIOError) -> String { path }

  /// Throws `.notSupported`.
  public func link(_ source: String, to name: String) throws(FileIOError) {
    throw FileIOError(.notSupported, operation: "link", path: name)
  }
}
