// Names in the form that system calls expect: a path, and the open directory at which a relative
// path starts. A `POSIXFileSystem` uses the working directory, and a `POSIXDirectory` uses its own
// descriptor.

/// The descriptor of an open directory. It is closed when the object is freed.
final class DirectoryDescriptor: Sendable {
  let number: Int32

  /// Takes ownership of an open descriptor.
  init(_ number: Int32) { self.number = number }

  // The result is ignored: closing a directory reports no write errors.
  deinit { _ = SystemCall.close(number) }
}

/// The location of a file: its name, relative to a directory.
struct POSIXPlace: Sendable {
  /// Nil means the working directory.
  let directory: DirectoryDescriptor?
  let name: String
  /// The whole path, for messages.
  let path: String

  /// A path that starts at the root or at the working directory.
  init(_ path: String) { (directory, name, self.path) = (nil, path, path) }

  init(_ name: String, in directory: DirectoryDescriptor, of path: String) {
    (self.directory, self.name, self.path) = (directory, name, path + "/" + name)
  }

  /// Calls `body` with the descriptor and the name. The descriptor stays open during the call.
  func call<Value>(_ body: (Int32, String) -> Value) -> Value {
    withExtendedLifetime(directory) { body(directory?.number ?? SystemCall.workingDirectoryNumber, name) }
  }
}

// The operations on one name, which the file system and the directory share.
extension POSIXPlace {
  func kind() throws(FileIOError) -> FileKind? {
    try check(.kind)
    let result = call { SystemCall.kind(of: $1, in: $0) }
    if KnownErrno.isAbsence(result.errno) { return nil }
    guard result.errno == 0 else { throw failure(result.errno, .kind) }
    return result.value
  }

  func open(_ mode: FileMode) throws(FileIOError) -> any File {
    try check(.open)
    let result = call { SystemCall.open($1, in: $0, mode) }
    guard result.errno == 0 else { throw refusal(result.errno, .open) }
    let file = POSIXFile(path: path, descriptor: result.value, isWritable: mode != .read)
    if mode != .create { try checkIsFile(result.value, .open) }
    return file
  }

  /// Throws for a directory, a pipe or a device: the system opens them like files.
  func checkIsFile(_ descriptor: Int32, _ operation: FileIOError.Operation) throws(FileIOError) {
    let kind = SystemCall.kind(of: descriptor)
    guard kind.errno == 0 else { throw failure(kind.errno, operation) }
    guard kind.value == .file else {
      throw FileIOError(
        kind.value == .directory ? .isADirectory : .notAFile, operation: operation, path: path)
    }
  }

  /// The error of an `open` call that the system rejected.
  func refusal(_ errno: Int32, _ operation: FileIOError.Operation) -> FileIOError {
    if KnownErrno.isOpeningRefused(errno), call({ SystemCall.kind(of: $1, in: $0) }).value == .other {
      return FileIOError(.notAFile, operation: operation, path: path)
    }
    return failure(errno, operation)
  }

  func rename(to destination: POSIXPlace) throws(FileIOError) {
    try check(.rename)
    try destination.check(.rename)
    let number = call { from, source in
      destination.call { SystemCall.rename(source, in: from, to: $1, in: $0) }
    }
    guard number == 0 else { throw destination.failure(KnownErrno.ofRename(number), .rename) }
  }

  func remove() throws(FileIOError) {
    try check(.remove)
    let number = call { SystemCall.remove($1, in: $0) }
    guard number == 0 else { throw failure(number, .remove) }
  }

  func lock(_ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try check(.lock)
    return try POSIXFileLock(self, kind, holder: holder)
  }

  /// Throws if the name contains a zero byte, because the system uses only the part before it.
  func check(_ operation: FileIOError.Operation) throws(FileIOError) {
    if name.utf8.contains(0) { throw failure(KnownErrno.invalidArgument, operation) }
  }

  func failure(_ errno: Int32, _ operation: FileIOError.Operation) -> FileIOError {
    FileIOError(errno: errno, operation: operation, path: path)
  }
}

/// An open directory of the operating system.
final class POSIXDirectory: Directory {
  let path: String
  private let descriptor: DirectoryDescriptor

  init(_ path: String) throws(FileIOError) {
    self.path = path
    let result = SystemCall.openDirectory(path)
    guard result.errno == 0 else {
      throw FileIOError(errno: result.errno, operation: .openDirectory, path: path)
    }
    descriptor = DirectoryDescriptor(result.value)
  }

  func contents() throws(FileIOError) -> [String] {
    let result = SystemCall.names(in: ".", of: descriptor.number)
    guard result.errno == 0 else { throw failure(result.errno, .contents) }
    return result.value.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  func kind(of name: String) throws(FileIOError) -> FileKind? { try place(of: name).kind() }

  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File {
    try place(of: name).open(mode)
  }

  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try place(of: source).rename(to: place(of: destination))
  }

  func remove(_ name: String) throws(FileIOError) { try place(of: name).remove() }

  func sync() throws(FileIOError) {
    let number = SystemCall.syncDirectory(descriptor.number)
    guard number == 0 else { throw failure(number, .syncDirectory) }
  }

  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try place(of: name).lock(kind, holder: holder)
  }

  func availableBytes() throws(FileIOError) -> UInt64 {
    let result = SystemCall.availableBytes(for: descriptor.number)
    guard result.errno == 0 else { throw failure(result.errno, .availableBytes) }
    return result.value
  }

  private func place(of name: String) -> POSIXPlace { POSIXPlace(name, in: descriptor, of: path) }

  private func failure(_ errno: Int32, _ operation: FileIOError.Operation) -> FileIOError {
    FileIOError(errno: errno, operation: operation, path: path)
  }
}
