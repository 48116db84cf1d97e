package import PerdureFileIO
import PerdureTestSupport

/// A deliberate error that the campaign of folders must detect.
package enum FoldersCanary: String, CaseIterable, Sendable {
  /// Writers do not check that they still own their folder.
  case uncheckedFolder
  /// Every lock on a segment is granted, so that only LOCK excludes another writer.
  case unlockedSegments
  /// The path of the folder is looked up again for each file.
  case paths
  /// Like `paths`, and writers do not check their folder either.
  case uncheckedPaths

  package var checksFolder: Bool { self != .uncheckedFolder && self != .uncheckedPaths }

  /// The file system with the error.
  package func spoiled(_ fileSystem: any FileSystem) -> any FileSystem {
    switch self {
    case .uncheckedFolder: fileSystem
    case .unlockedSegments: UnlockedFileSystem(fileSystem)
    case .paths, .uncheckedPaths: PathFileSystem(fileSystem)
    }
  }
}

/// A file system without handles of directories. It uses the default of `FileSystem.openDirectory`,
/// which looks up paths.
private final class PathFileSystem: ForwardingFileSystem {
  let behind: any FileSystem

  init(_ behind: any FileSystem) { self.behind = behind }
}

/// A file system that grants every lock on a range of a file.
private final class UnlockedFileSystem: ForwardingFileSystem {
  let behind: any FileSystem

  init(_ behind: any FileSystem) { self.behind = behind }

  func open(_ path: String, _ mode: FileMode) throws(FileIOError) -> any File {
    UnlockedFile(try behind.open(path, mode))
  }

  func openDirectory(_ path: String) throws(FileIOError) -> any Directory {
    UnlockedDirectory(try behind.openDirectory(path))
  }
}

private final class UnlockedDirectory: Directory {
  private let behind: any Directory
  var path: String { behind.path }

  init(_ behind: any Directory) { self.behind = behind }

  func contents() throws(FileIOError) -> [String] { try behind.contents() }
  func kind(of name: String) throws(FileIOError) -> FileKind? { try behind.kind(of: name) }
  func open(_ name: String, _ mode: FileMode) throws(FileIOError) -> any File {
    UnlockedFile(try behind.open(name, mode))
  }
  func rename(_ source: String, to destination: String) throws(FileIOError) {
    try behind.rename(source, to: destination)
  }
  func remove(_ name: String) throws(FileIOError) { try behind.remove(name) }
  func sync() throws(FileIOError) { try behind.sync() }
  func lock(_ name: String, _ kind: LockKind, holder: String) throws(FileIOError) -> any FileLock {
    try behind.lock(name, kind, holder: holder)
  }
  func availableBytes() throws(FileIOError) -> UInt64 { try behind.availableBytes() }
}

private final class UnlockedFile: ForwardingFile {
  let behind: any File

  init(_ behind: any File) { self.behind = behind }

  func tryLock(_ range: Range<UInt64>) throws(FileIOError) -> Bool { true }
  func unlock(_ range: Range<UInt64>) throws(FileIOError) {}
  func isLocked(_ range: Range<UInt64>) throws(FileIOError) -> Bool { false }
}
