import PerdureFileIO
import PerdureFormat

/// Paths of stores.
package enum StorePath {
  /// The path without a slash at its end.
  package static func withoutSlash(_ path: String) -> String {
    path.count > 1 && path.last == "/" ? String(path.dropLast()) : path
  }

  /// The directory that a path's name stands in.
  static func parent(of path: String) -> String {
    let path = withoutSlash(path)
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

extension FileSystem {
  /// The lock that the writer of the store in a directory holds.
  func writerLock(ofStore directory: String) throws(FileIOError) -> any FileLock {
    try lock(directory + "/" + StoreFileName.lock.string, .exclusive, holder: LockHolderText.current)
  }
}
