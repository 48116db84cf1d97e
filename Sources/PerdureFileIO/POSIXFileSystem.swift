/// The file system of the operating system, on systems that follow POSIX.
///
/// Holds no state: any two are the same.
public final class POSIXFileSystem: FileSystem {
  /// Makes a file system.
  public init() {}

  /// See `FileSystem.absolutePath(_:)`.
  public func absolutePath(_ path: String) throws(FileIOError) -> String {
    try check("absolutePath", path)
    if path.utf8.first == UInt8(ascii: "/") { return path }
    let directory = SystemCall.workingDirectory()
    guard directory.errno == 0 else {
      throw FileIOError(errno: directory.errno, operation: "absolutePath", path: path)
    }
    return directory.value == "/" ? "/" + path : directory.value + "/" + path
  }

  /// See `FileSystem.createDirectory(_:)`.
  public func createDirectory(_ path: String) throws(FileIOError) {
    try check("createDirectory", path) { SystemCall.createDirectory(path) }
  }

  /// See `FileSystem.contents(of:)`.
  public func contents(of directory: String) throws(FileIOError) -> [String] {
    try check("contents", directory)
    let result = SystemCall.names(in: directory)
    guard result.errno == 0 else {
      throw FileIOError(errno: result.errno, operation: "contents", path: directory)
    }
    return result.value.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// See `FileSystem.kind(of:)`.
  public func kind(of path: String) throws(FileIOError) -> FileKind? {
    try check("kind", path)
    let result = SystemCall.kind(of: path)
    if KnownErrno.isAbsence(result.errno) { return nil }
    guard result.errno == 0 else { throw FileIOError(errno: result.errno, operation: "kind", path: path) }
    return result.value
  }

  /// See `FileSystem.open(_:_:)`.
  public func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try check("open", path)
    let result = SystemCall.open(path, mode)
    guard result.errno == 0 else { throw Self.refusal(result.errno, "open", path) }
    let file = POSIXFile(path: path, descriptor: result.value, isWritable: mode != .read)
    if mode != .create { try Self.checkIsFile(result.value, "open", path) }
    return file
  }

  /// The system opens directories (for reading), pipes and devices as if they were files.
  static func checkIsFile(_ descriptor: Int32, _ operation: String, _ path: String) throws(FileIOError) {
    let kind = SystemCall.kind(of: descriptor)
    guard kind.errno == 0 else { throw FileIOError(errno: kind.errno, operation: operation, path: path) }
    guard kind.value == .file else {
      throw FileIOError(
        kind.value == .directory ? .isADirectory : .notAFile, operation: operation, path: path)
    }
  }

  /// Why something was not opened.
  static func refusal(_ errno: Int32, _ operation: String, _ path: String) -> FileIOError {
    if KnownErrno.isOpeningRefused(errno), SystemCall.kind(of: path).value == .other {
      return FileIOError(.notAFile, operation: operation, path: path)
    }
    return FileIOError(errno: errno, operation: operation, path: path)
  }

  /// See `FileSystem.rename(_:to:)`.
  public func rename(_ source: String, to destination: String) throws(FileIOError) {
    try check("rename", source)
    try check("rename", destination) { SystemCall.rename(source, to: destination) }
  }

  /// See `FileSystem.remove(_:)`.
  public func remove(_ path: String) throws(FileIOError) {
    try check("remove", path) { SystemCall.remove(path) }
  }

  /// See `FileSystem.syncDirectory(_:)`.
  public func syncDirectory(_ path: String) throws(FileIOError) {
    try check("syncDirectory", path)
    let directory = SystemCall.openDirectory(path)
    guard directory.errno == 0 else {
      // Nothing was asked to be synced: this is no sync that failed.
      throw FileIOError(errno: directory.errno, operation: "open", path: path)
    }
    defer { _ = SystemCall.close(directory.value) }
    try check("syncDirectory", path) { SystemCall.syncDirectory(directory.value) }
  }

  /// See `FileSystem.lock(_:_:holder:)`.
  public func lock(_ path: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try check("lock", path)
    return try POSIXFileLock(path, kind, holder: holder)
  }

  /// See `FileSystem.availableBytes(at:)`.
  public func availableBytes(at path: String) throws(FileIOError) -> UInt64 {
    try check("availableBytes", path)
    let result = SystemCall.availableBytes(at: path)
    guard result.errno == 0 else {
      throw FileIOError(errno: result.errno, operation: "availableBytes", path: path)
    }
    return result.value
  }

  /// Refuses a path that the system would read only the beginning of, then turns what the call
  /// returns, an error number or 0, into an error or nothing.
  private func check(_ operation: String, _ path: String, _ call: () -> Int32 = { 0 }) throws(FileIOError) {
    let number = path.utf8.contains(0) ? KnownErrno.invalidArgument : call()
    guard number == 0 else { throw FileIOError(errno: number, operation: operation, path: path) }
  }
}
