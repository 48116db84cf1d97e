import PerdureFileIO
import PerdureFormat

// The directory that a copy grows in, `NAME.copy`, until it is whole and gets its own name.
//
// Somebody's store may have that name, so what stands there is replaced only if it is marked as a draft. The mark
// is made, and durable, before anything else, and removed when the copy has its name. It is a `*.tmp`, which the
// next writer removes: what has been opened as a store is a draft no more.

/// What is held while a copy grows.
struct CopyDraft {
  let path: String
  private let fileSystem: any FileSystem
  /// Keeps others from copying to the same name, and from opening what is not whole.
  private let lock: any FileLock

  private static let mark = StoreFileName.temporary("COPY")

  /// Makes the draft of a copy, in place of what an unfinished one has left.
  init(of target: String, _ fileSystem: any FileSystem) throws {
    let path = target + ".copy"
    if try fileSystem.kind(of: path) == nil { try fileSystem.createDirectory(path) }
    try Self.checkIsDraft(path, fileSystem)
    let lock = try fileSystem.writerLock(ofStore: path)
    do {
      try Self.checkIsDraft(path, fileSystem)
      try Store.removeFiles(of: path, fileSystem, keepsLock: true)
      try fileSystem.open(path + "/" + Self.mark.string, .create).close()
      try fileSystem.syncDirectory(path)
    } catch {
      lock.release()
      throw error
    }
    (self.path, self.fileSystem, self.lock) = (path, fileSystem, lock)
  }

  /// A directory that has nothing in it, or the mark.
  private static func checkIsDraft(_ path: String, _ fileSystem: any FileSystem) throws {
    if try fileSystem.kind(of: path) == .directory {
      let names = try fileSystem.contents(of: path)
      if names.contains(where: { StoreFileName($0) == mark }) { return }
      if names.allSatisfy({ StoreFileName($0) == .lock }) { return }
    }
    throw StoreError(
      .invalidArgument,
      "A copy grows at its name with .copy behind, and something stands there; name another, or move it away",
      at: path)
  }

  /// The copy is whole and gets its name, or is removed. When this throws because of the last sync, it has it.
  func take(_ target: String) throws(FileIOError) {
    do throws(FileIOError) { try fileSystem.rename(path, to: target) } catch {
      remove()
      throw error
    }
    // Of no account: opening removes it.
    defer {
      _ = try? fileSystem.remove(target + "/" + Self.mark.string)
      _ = try? fileSystem.syncDirectory(target)
      lock.release()
    }
    try fileSystem.syncDirectory(StorePath.parent(of: target))
  }

  /// Gives back the room of a copy that failed, as far as that can be done.
  func remove() {
    _ = try? Store.removeFiles(of: path, fileSystem)
    lock.release()
  }
}
