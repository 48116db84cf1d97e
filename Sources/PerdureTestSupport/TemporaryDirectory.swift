public import PerdureFileIO

/// A directory on the disk for one test, removed with all that is in it when the object is
/// released.
public final class TemporaryDirectory: Sendable {
  /// The directory's path, without a slash at the end.
  public let path: String

  private let fileSystem = POSIXFileSystem()

  /// Makes an empty directory in the system's place for temporary files.
  ///
  /// - Throws: What `FileSystem.createDirectory` throws.
  public init() throws(FileIOError) {
    let parent = Environment.value(of: "TMPDIR") ?? "/tmp"
    let number = UInt64.random(in: 0 ... .max)
    path =
      "\(parent.hasSuffix("/") ? String(parent.dropLast()) : parent)/perdure-\(String(number, radix: 36))"
    try fileSystem.createDirectory(path)
  }

  deinit {
    // A directory that can't be removed is left to the system's cleanup of temporary files.
    try? fileSystem.removeTree(path)
  }

  /// The path of `name` in the directory.
  public func file(_ name: String) -> String { "\(path)/\(name)" }
}

extension FileSystem {
  /// Removes a file, or a directory and all that is in it.
  ///
  /// - Throws: What `kind`, `contents` and `remove` throw; a part may be removed.
  public func removeTree(_ path: String) throws(FileIOError) {
    if try kind(of: path) == .directory {
      for name in try contents(of: path) { try removeTree("\(path)/\(name)") }
    }
    try remove(path)
  }
}
