import PerdureFileIO
import PerdureFormat

/// A backup in a folder. It is written as a draft beside the target (`CopyDraft`), and renamed to
/// the target when it is complete and durable.
final class BackupFolder: BackupTarget {
  /// The number of bytes written between two syncs. It limits the time that a commit waits for the
  /// disk.
  private static let syncLength: UInt64 = 4 << 20

  let draft: CopyDraft
  private let fileSystem: any FileSystem
  private var file: (any File)?
  private var length: UInt64 = 0
  private var syncedLength: UInt64 = 0

  init(for target: String, _ fileSystem: any FileSystem) throws {
    self.fileSystem = fileSystem
    draft = try CopyDraft(of: target, fileSystem)
  }

  func begin(_ name: StoreFileName) throws {
    file = try fileSystem.open(draft.path + "/" + name.string, .create)
    (length, syncedLength) = (0, 0)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    guard let file else { preconditionFailure("a file must begin before it is written") }
    try file.write(bytes, at: length)
    length += UInt64(bytes.count)
    guard length - syncedLength >= Self.syncLength else { return }
    try file.sync(.full)
    syncedLength = length
  }

  func end() throws {
    try file?.sync(.full)
    try file?.close()
    file = nil
  }

  func share(_ name: StoreFileName, from path: String) -> Bool {
    // After any error the file is copied instead.
    do { try fileSystem.link(path, to: draft.path + "/" + name.string) } catch { return false }
    return true
  }

  /// Renames the folder to `target`. All files must have been written.
  func take(_ target: String) throws {
    do { try fileSystem.syncDirectory(draft.path) } catch {
      throw draft.removed(after: error)
    }
    try draft.rename(to: target)
  }
}
