/// The file system of the operating system, on POSIX systems. It has no state.
public final class POSIXFileSystem: FileSystem {
  /// Makes a file system.
  public init() {}

  /// See `FileSystem.absolutePath(_:)`.
  public func absolutePath(_ path: String) throws(FileIOError) -> String {
    try check(.absolutePath, path)
    if let resolved = Self.resolved(path) { return resolved }
    if path.utf8.first == UInt8(ascii: "/") { return path }
    let directory = SystemCall.workingDirectory()
    guard directory.errno == 0 else {
      throw FileIOError(errno: directory.errno, operation: .absolutePath, path: path)
    }
    return directory.value == "/" ? "/" + path : directory.value + "/" + path
  }

  /// The path without symbolic links; nil if it cannot be resolved. The last name may be absent, so
  /// that the path of a new file or directory can be resolved.
  private static func resolved(_ path: String) -> String? {
    let whole = SystemCall.resolved(path)
    if whole.errno == 0 { return whole.value }
    var names = path.split(separator: "/", omittingEmptySubsequences: false)
    while names.count > 1, names.last == "" { names.removeLast() }
    guard KnownErrno.isAbsence(whole.errno), let name = names.popLast(), !["", ".", ".."].contains(name)
    else {
      return nil
    }
    let parent = SystemCall.resolved(names.isEmpty ? "." : names.joined(separator: "/") + "/")
    guard parent.errno == 0 else { return nil }
    return parent.value == "/" ? "/" + name : parent.value + "/" + name
  }

  /// See `FileSystem.createDirectory(_:)`.
  public func createDirectory(_ path: String) throws(FileIOError) {
    try check(.createDirectory, path) { SystemCall.createDirectory(path) }
  }

  /// See `FileSystem.contents(of:)`.
  public func contents(of directory: String) throws(FileIOError) -> [String] {
    try check(.contents, directory)
    let result = SystemCall.names(in: directory)
    guard result.errno == 0 else {
      throw FileIOError(errno: result.errno, operation: .contents, path: directory)
    }
    return result.value.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// See `FileSystem.kind(of:)`.
  public func kind(of path: String) throws(FileIOError) -> FileKind? { try POSIXPlace(path).kind() }

  /// See `FileSystem.open(_:_:)`.
  public func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try POSIXPlace(path).open(mode)
  }

  /// Opens the directory. The result uses the descriptor-relative calls (`openat` and similar).
  public func openDirectory(_ path: String) throws(FileIOError) -> any Directory {
    try check(.openDirectory, path)
    return try POSIXDirectory(path)
  }

  /// See `FileSystem.rename(_:to:)`.
  public func rename(_ source: String, to destination: String) throws(FileIOError) {
    try POSIXPlace(source).rename(to: POSIXPlace(destination))
  }

  /// See `FileSystem.link(_:to:)`.
  public func link(_ source: String, to name: String) throws(FileIOError) {
    try check(.link, source)
    try check(.link, name) { SystemCall.link(source, to: name) }
  }

  /// See `FileSystem.remove(_:)`.
  public func remove(_ path: String) throws(FileIOError) { try POSIXPlace(path).remove() }

  /// See `FileSystem.syncDirectory(_:)`.
  public func syncDirectory(_ path: String) throws(FileIOError) {
    try check(.syncDirectory, path)
    let directory = SystemCall.openDirectory(path)
    guard directory.errno == 0 else {
      // No sync was attempted, so the error must not count as a failed sync.
      throw FileIOError(errno: directory.errno, operation: .open, path: path)
    }
    defer { _ = SystemCall.close(directory.value) }
    try check(.syncDirectory, path) { SystemCall.syncDirectory(directory.value) }
  }

  /// See `FileSystem.lock(_:_:holder:)`.
  public func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try POSIXPlace(path).lock(kind, holder: holder)
  }

  /// See `FileSystem.availableBytes(at:)`.
  public func availableBytes(at path: String) throws(FileIOError) -> UInt64 {
    try check(.availableBytes, path)
    let result = SystemCall.availableBytes(at: path)
    guard result.errno == 0 else {
      throw FileIOError(errno: result.errno, operation: .availableBytes, path: path)
    }
    return result.value
  }

  /// Throws if the path contains a zero byte, because the system ends the path there.
  /// Otherwise calls `call`, and throws if it returns an error number.
  private func check(_ operation: FileIOError.Operation, _ path: String, _ call: () -> Int32 = { 0 })
    throws(FileIOError)
  {
    let number = path.utf8.contains(0) ? KnownErrno.invalidArgument : call()
    guard number == 0 else { throw FileIOError(errno: number, operation: operation, path: path) }
  }
}
