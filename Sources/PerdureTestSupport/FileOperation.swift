/// A kind of call to a file system or a file. It selects the calls that fail.
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
  /// `FileSystem.lock`.
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
