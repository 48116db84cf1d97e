// System calls with names. A relative path starts at the directory that the caller passes: an open
// descriptor or `workingDirectoryNumber`.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

extension SystemCall {
  /// The working directory, for calls that take the descriptor of a directory.
  static let workingDirectoryNumber = Int32(AT_FDCWD)

  /// The absolute path of the process's working directory.
  static func workingDirectory() -> SystemResult<String> {
    // Without a buffer argument, getcwd allocates one of sufficient length.
    guard let path = getcwd(nil, 0) else { return SystemResult(value: "", errno: errno) }
    defer { free(path) }
    return SystemResult(value: String(cString: path), errno: 0)
  }

  /// The absolute path without symbolic links. All names in the path must exist.
  static func resolved(_ path: String) -> SystemResult<String> {
    guard let resolved = realpath(path, nil) else { return SystemResult(value: "", errno: errno) }
    defer { free(resolved) }
    return SystemResult(value: String(cString: resolved), errno: 0)
  }

  static func createDirectory(_ path: String) -> Int32 {
    repeating { mkdir(path, 0o755) }.errno
  }

  static func kind(of path: String, in directory: Int32) -> SystemResult<FileKind> {
    var status = stat()
    let result = repeating { fstatat(directory, path, &status, 0) }
    return SystemResult(value: kind(status), errno: result.errno)
  }

  static func kind(_ status: stat) -> FileKind {
    switch status.st_mode & S_IFMT {
    case S_IFREG: .file
    case S_IFDIR: .directory
    default: .other
    }
  }

  /// Whether a path still refers to the open file. The name may have been removed, or may now refer
  /// to another file.
  static func isNamed(_ descriptor: Int32, _ path: String, in directory: Int32) -> SystemResult<Bool> {
    var (opened, named) = (stat(), stat())
    let result = repeating { fstat(descriptor, &opened) }
    guard result.errno == 0 else { return SystemResult(value: false, errno: result.errno) }
    let look = repeating { fstatat(directory, path, &named, 0) }
    if KnownErrno.isAbsence(look.errno) { return SystemResult(value: false, errno: 0) }
    return SystemResult(
      value: opened.st_dev == named.st_dev && opened.st_ino == named.st_ino, errno: look.errno)
  }

  static func rename(
    _ source: String, in directory: Int32, to destination: String, in other: Int32
  ) -> Int32 {
    repeating { renameat(directory, source, other, destination) }.errno
  }

  /// Adds a second name to a file. If `source` is a symbolic link, the name is added to the link's
  /// target.
  static func link(_ source: String, to name: String) -> Int32 {
    repeating {
      linkat(workingDirectoryNumber, source, workingDirectoryNumber, name, Int32(AT_SYMLINK_FOLLOW))
    }.errno
  }

  /// Removes a file's name, or an empty directory.
  static func remove(_ path: String, in directory: Int32) -> Int32 {
    let number = repeating { unlinkat(directory, path, 0) }.errno
    guard KnownErrno.isUnlinkingRefused(number) else { return number }
    let second = repeating { unlinkat(directory, path, Int32(AT_REMOVEDIR)) }.errno
    // The entry is not a directory, so the error of the first call is the right one.
    return KnownErrno.isNoDirectory(second) ? number : second
  }

  /// The names in a directory, in the system's order.
  static func names(in path: String, of directory: Int32 = workingDirectoryNumber) -> SystemResult<[String]> {
    // Use a new descriptor, so that no other call moves its read offset.
    let opened = openDirectory(path, in: directory)
    guard opened.errno == 0 else { return SystemResult(value: [], errno: opened.errno) }
    guard let stream = fdopendir(opened.value) else {
      let number = errno
      _ = close(opened.value)
      return SystemResult(value: [], errno: number)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { return SystemResult(value: names, errno: errno) }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
  }

  static func availableBytes(at path: String) -> SystemResult<UInt64> {
    var status = statvfs()
    let result = repeating { statvfs(path, &status) }
    return SystemResult(value: availableBytes(status), errno: result.errno)
  }

  static func availableBytes(for descriptor: Int32) -> SystemResult<UInt64> {
    var status = statvfs()
    let result = repeating { fstatvfs(descriptor, &status) }
    return SystemResult(value: availableBytes(status), errno: result.errno)
  }

  private static func availableBytes(_ status: statvfs) -> UInt64 {
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflow ? .max : bytes
  }
}
