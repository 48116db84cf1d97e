package import PerdureFileIO

/// A kind of call to a file system or a file. It selects the calls that fail. A call of a
/// `Directory` counts as the corresponding call of the file system.
public enum FileOperation: String, Sendable, Hashable, CaseIterable {
  /// `FileSystem.createDirectory`.
  case createDirectory
  /// `FileSystem.contents`.
  case contents
  /// `FileSystem.kind`, and `FileLock.isNamed`.
  case kind
  /// `FileSystem.open` of an existing file.
  case open
  /// `FileSystem.open` with mode `.create`.
  case create
  /// `FileSystem.openDirectory`.
  case openDirectory
  /// `FileSystem.rename`.
  case rename
  /// `FileSystem.link`.
  case link
  /// `FileSystem.remove`.
  case remove
  /// `FileSystem.syncDirectory`.
  case syncDirectory
  /// `FileSystem.lock`, `File.tryLock`, `File.unlock`, and `File.isLocked`.
  case lock
  /// `FileSystem.availableBytes`.
  case availableBytes
  /// `File.size`, and `File.linkCount`.
  case size
  /// `File.read`.
  case read
  /// `File.write`.
  case write
  /// `File.sync`.
  case sync
  /// `File.map`.
  case map
  /// `File.close`.
  case close
}

extension FileOperation {
  /// The operation in the errors of the call.
  package var reported: FileIOError.Operation {
    switch self {
    case .createDirectory: .createDirectory
    case .contents: .contents
    case .kind: .kind
    case .open: .open
    case .create: .create
    case .openDirectory: .openDirectory
    case .rename: .rename
    case .link: .link
    case .remove: .remove
    case .syncDirectory: .syncDirectory
    case .lock: .lock
    case .availableBytes: .availableBytes
    case .size: .size
    case .read: .read
    case .write: .write
    case .sync: .sync
    case .map: .map
    case .close: .close
    }
  }
}
