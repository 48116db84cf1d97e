// The interface between Perdure and the operating system. The engine uses the system only through
// `FileSystem`, `Directory`, `File` and `FileLock`. So a store can run on a disk, in memory, or on
// the simulated file system of PerdureTestSupport.
//
// The engine relies on these guarantees of the interface:
//
//   FS1  Content and names become durable separately. `File.sync` makes the bytes and the length of
//        one file durable. `FileSystem.syncDirectory` makes the names in one directory durable.
//        Neither call does the work of the other.
//   FS2  Before a sync returns, any subset of the pending changes may be durable, in any order. A
//        file may have its new length and zeros instead of its bytes.
//   FS3  A rename replaces its destination atomically. After a crash the name refers to the old
//        file or to the new file. It never disappears.
//   FS4  After a failed sync nothing is known about the changes that it covered. A second sync that
//        succeeds proves nothing about them.
//
// Every method may be called from any thread, and from several threads at the same time.

/// The kind of the file to which a path refers.
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
  /// Opens an existing file for reading. Writes fail with `.permissionDenied`.
  case read
  /// Opens an existing file for reading and writing.
  case readWrite
  /// Creates an empty file for reading and writing. Fails with `.alreadyExists` if the name exists.
  case create
}

/// How many holders a lock can have at a time.
public enum LockKind: Sendable, Hashable {
  /// One holder, and no shared holders at the same time.
  case exclusive
  /// Any number of shared holders, and no exclusive holder at the same time.
  case shared
}

/// The strictness of `File.sync(_:)`.
public enum SyncMode: Sendable, Hashable {
  /// Everything written before the call becomes durable before anything written after it.
  ///
  /// On Apple systems this is a barrier, which may return before the medium has the bytes. On other
  /// systems it is the same as `full`.
  case ordered
  /// When the call returns, the bytes survive a power loss if the medium reports syncs truthfully.
  case full
}

/// A tree of directories and files.
///
/// Paths are separated by `/`. Relative paths start at the process's working directory (POSIX) or
/// at the root (in memory). Names that are not valid UTF-8 cannot be accessed.
///
/// The engine concludes from the `operation` of an error what the failed call may have changed:
///
/// - `.sync` from `File.sync(_:)`, and `.syncDirectory` from `syncDirectory(_:)` and
///   `Directory.sync()`: it is unknown which earlier changes are durable (FS4). A call that fails
///   before the sync, for example because the directory cannot be opened, may report `.open`.
/// - `.write` from `File.write(_:at:)`: some of the bytes may be in the file.
/// - `.open` from `open(_:_:)` (with the mode `.create` also `.create`), `.lock` from
///   `lock(_:_:holder:)`, `.map` from `File.map(_:)`, `.tryLock` from `File.tryLock(_:)`: the
///   caller got nothing, and all synced bytes are unchanged.
/// - `.kind` from `kind(of:)`. `FileLock.isNamed()` reports `.kind` or `.lock`. Its error counts as
///   an error of the operation before which the engine checks the name.
/// - The other methods report the operation that has their name: `.absolutePath`,
///   `.createDirectory`, `.contents`, `.openDirectory`, `.rename`, `.remove`, `.link` and
///   `.availableBytes`; of `File`: `.size`, `.linkCount`, `.read`, `.nextData`, `.allocate`,
///   `.unlock`, `.isLocked` and `.close`. `Directory` reports the same operations.
///
/// Every method may be called from any thread, and from several threads at the same time.
public protocol FileSystem: Sendable {
  /// The absolute path of the file or directory to which `path` refers now.
  ///
  /// The last name in `path` need not exist. The result contains no symbolic links, unless another
  /// part of `path` does not exist or cannot be searched. Then `path` is only made absolute.
  ///
  /// A later change of the working directory or of a link does not change the meaning of the
  /// result. The default implementation returns `path` unchanged. It is right for file systems in
  /// memory, where no path is relative to the process.
  ///
  /// - Throws: `.notFound` if the working directory does not exist, `.permissionDenied`.
  func absolutePath(_ path: String) throws(FileIOError) -> String

  /// Creates an empty directory. Its parent directory must exist.
  ///
  /// The directory is visible immediately, and durable after `syncDirectory` of its parent.
  ///
  /// - Throws: `.alreadyExists` if the name exists, `.notFound` if the parent is absent, and other
  ///   errors of the system. After an error, nothing was created.
  func createDirectory(_ path: String) throws(FileIOError)

  /// The names in a directory, sorted by their UTF-8 bytes, without `.` and `..`.
  ///
  /// A name that is created or removed during the call may be included or not.
  ///
  /// - Throws: `.notFound`, `.notADirectory`.
  /// - Complexity: O(n log n) for n names.
  func contents(of directory: String) throws(FileIOError) -> [String]

  /// The kind of the file at `path`, following symbolic links; nil if the name does not exist.
  ///
  /// - Throws: `.notADirectory` if a parent in the path is a file; `.permissionDenied`.
  func kind(of path: String) throws(FileIOError) -> FileKind?

  /// Opens or creates a file.
  ///
  /// The caller owns the result and closes it. If the file is released without `close()`, it is
  /// closed then, and errors of closing are ignored. A created file is visible immediately. Its
  /// name is durable after `syncDirectory` of its directory, and its bytes are durable after
  /// `File.sync`.
  ///
  /// The call never waits, because it rejects files that are not regular files.
  ///
  /// - Throws: `.notFound`, `.alreadyExists` (mode `.create`), `.isADirectory`, `.notAFile`,
  ///   `.permissionDenied`, `.readOnly`, `.noSpace`, `.tooManyOpenFiles`. After an error, no file
  ///   was created.
  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File

  /// Opens the directory to which `path` refers now. Later changes of the path do not affect the
  /// result.
  ///
  /// The default implementation returns a directory whose methods pass paths to the other methods
  /// of this file system. It is right for file systems that wrap another file system or have only
  /// paths.
  ///
  /// - Throws: `.notFound`, `.notADirectory`, `.permissionDenied`, `.tooManyOpenFiles`.
  func openDirectory(_ path: String) throws(FileIOError) -> any Directory

  /// Renames the file or directory at `source` to `destination`.
  ///
  /// A file or an empty directory with the name `destination` is replaced atomically.
  ///
  /// The change is visible immediately. It is durable after `syncDirectory` of the directory of
  /// `destination` and, if that is another directory, of the directory of `source`. A crash before
  /// that leaves the old state, the new state, or the file under both names. An existing
  /// `destination` never disappears. Open files stay open, and a replaced file exists until it is
  /// closed everywhere.
  ///
  /// - Throws: `.notFound`, `.isADirectory`, `.notADirectory`, `.directoryNotEmpty`,
  ///   `.invalidArgument` (into itself, or to another volume). After an error, nothing was renamed.
  func rename(_ source: String, to destination: String) throws(FileIOError)

  /// Removes the name of a file, or an empty directory.
  ///
  /// The removal is visible immediately, and durable after `syncDirectory` of the directory. Open
  /// files and mappings stay usable, and the bytes are freed when the last of them is closed.
  ///
  /// - Throws: `.notFound`, `.directoryNotEmpty`. After an error, nothing was removed.
  func remove(_ path: String) throws(FileIOError)

  /// Creates a hard link: gives the file at `source` the second name `name`. A symbolic link is
  /// followed.
  ///
  /// The name is visible immediately, and durable after `syncDirectory` of its directory. Support
  /// is optional: the default implementation throws `.notSupported`, and so does a file system
  /// without hard links.
  ///
  /// - Throws: `.notFound`, `.alreadyExists`, `.isADirectory`, `.notSupported`, `.invalidArgument`
  ///   (another volume), `.permissionDenied`. After an error, the name was not created.
  func link(_ source: String, to name: String) throws(FileIOError)

  /// Makes the names in a directory durable: all names created, renamed or removed before the call.
  ///
  /// It does not make the bytes of these files durable. It does nothing on systems that cannot sync
  /// a directory.
  ///
  /// - Throws: `.notFound`, `.notADirectory`, `.mediaError`. After `.mediaError` nothing is known
  ///   about the names that changed since the last sync, and a successful retry proves nothing
  ///   (FS4).
  func syncDirectory(_ path: String) throws(FileIOError)

  /// Acquires the lock of the file at `path`, and creates that file if it is absent. Never waits.
  ///
  /// The lock excludes other callers in this process. It also excludes other processes, if the
  /// system enforces the lock. It ends with `FileLock.release()`, when the object is freed, or when
  /// the process ends. The file is not removed; its presence has no meaning.
  ///
  /// - Parameter holder: A line of text that is stored with the lock (on a disk: in the file). If
  ///   another caller is rejected, its error quotes the text.
  /// - Throws: `.locked`, whose message quotes the holder (the latest one, if shared);
  ///   `.permissionDenied`, `.readOnly`, `.notSupported`. After an error, no lock is held.
  func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock

  /// The number of bytes that this process may still write to the volume that contains `path`.
  ///
  /// It is a hint: other processes write too, and a file system may need space for its metadata.
  ///
  /// - Throws: `.notFound`.
  func availableBytes(at path: String) throws(FileIOError) -> UInt64
}

extension FileSystem {
  /// Returns the path unchanged.
  public func absolutePath(_ path: String) throws(FileIOError) -> String { path }

  /// Throws `.notSupported`.
  public func link(_ source: String, to name: String) throws(FileIOError) {
    throw FileIOError(.notSupported, operation: .link, path: name)
  }
}
