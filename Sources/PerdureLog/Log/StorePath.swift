import PerdureFileIO
import PerdureFormat

/// Paths of stores.
package enum StorePath {
  private static let slash = UInt8(ascii: "/")

  /// The path without the slashes at its end.
  package static func withoutSlash(_ path: String) -> String {
    var path = path
    while path.utf8.count > 1, path.utf8.last == slash { path.unicodeScalars.removeLast() }
    return path
  }

  /// The directory that contains the path's last component.
  static func parent(of path: String) -> String {
    let path = withoutSlash(path)
    guard let place = path.utf8.lastIndex(of: slash) else { return "." }
    return place == path.startIndex ? "/" : withoutSlash(String(path[..<place]))
  }

  /// The last component of a path.
  static func name(of path: String) -> String {
    let path = withoutSlash(path)
    guard let place = path.utf8.lastIndex(of: slash) else { return path }
    return String(path[path.utf8.index(after: place)...])
  }

  /// The absolute path without symbolic links. Every path from a caller passes through here once.
  /// So `path.copy` is beside the directory itself. Replacing or destroying a store affects the
  /// directory itself, not a link to it.
  static func fixed(_ path: String, _ fileSystem: any FileSystem) throws(FileIOError) -> String {
    // Each caller refuses an empty path itself.
    path.isEmpty ? path : withoutSlash(try fileSystem.absolutePath(path))
  }
}

extension Directory {
  /// Acquires the writer's lock of the store in this directory.
  func writerLock() throws(FileIOError) -> any FileLock {
    try lock(StoreFileName.lock.string, .exclusive, holder: LockHolderText.current)
  }
}

extension FileSystem {
  /// Acquires the writer's lock of the store in a directory.
  func writerLock(ofStore directory: String) throws(FileIOError) -> any FileLock {
    try lock(directory + "/" + StoreFileName.lock.string, .exclusive, holder: LockHolderText.current)
  }
}
