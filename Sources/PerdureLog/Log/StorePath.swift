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

  /// The directory that a path's name stands in.
  static func parent(of path: String) -> String {
    let path = withoutSlash(path)
    guard let place = path.utf8.lastIndex(of: slash) else { return "." }
    return place == path.startIndex ? "/" : withoutSlash(String(path[..<place]))
  }

  /// The same place, wherever the process goes: every path that comes from outside passes here, once.
  static func fixed(_ path: String, _ fileSystem: any FileSystem) throws(FileIOError) -> String {
    // An empty one is no place, and refused as what it is.
    path.isEmpty ? path : withoutSlash(try fileSystem.absolutePath(path))
  }
}

extension Directory {
  /// Takes the writer's lock of the store in this directory.
  func writerLock() throws(FileIOError) -> any FileLock {
    try lock(StoreFileName.lock.string, .exclusive, holder: LockHolderText.current)
  }
}

extension FileSystem {
  /// The lock that the writer of the store in a directory holds.
  func writerLock(ofStore directory: String) throws(FileIOError) -> any FileLock {
    try lock(directory + "/" + StoreFileName.lock.string, .exclusive, holder: LockHolderText.current)
  }
}
