public import PerdureFileIO

/// A directory on the disk for one test. It is removed with its content when the object is
/// released.
public final class TemporaryDirectory: Sendable {
  /// The directory's path, without a slash at the end.
  public let path: String

  private let fileSystem = POSIXFileSystem()

  /// Makes an empty directory in the system's directory for temporary files.
  ///
  /// - Throws: Errors of `FileSystem.createDirectory`.
  public init() throws(FileIOError) {
    let parent = Environment.value(of: "TMPDIR") ?? "/tmp"
    let number = UInt64.random(in: 0 ... .max)
    path =
      "\(parent.hasSuffix("/") ? String(parent.dropLast()) : parent)/perdure-\(String(number, radix: 36))"
    try fileSystem.createDirectory(path)
  }

  deinit {
    // If the directory cannot be removed, the system may remove it with other temporary files.
    try? fileSystem.removeTree(path)
  }

  /// The path of `name` in the directory.
  public func file(_ name: String) -> String { "\(path)/\(name)" }
}

extension FileSystem {
  /// Removes a file, or a directory and its content.
  ///
  /// - Throws: Errors of `kind`, `contents` and `remove`. A part may have been removed.
  public func removeTree(_ path: String) throws(FileIOError) {
    if try kind(of: path) == .directory {
      for name in try contents(of: path) { try removeTree("\(path)/\(name)") }
    }
    try remove(path)
  }
}
