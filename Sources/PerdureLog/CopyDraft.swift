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

  /// What follows a name in the name of its draft.
  static let suffix = ".copy"
  private static let mark = StoreFileName.temporary("COPY")
  /// Says that the draft is whole, and replaces the store of its name (Store+Replacing.swift).
  static let replacementMark = StoreFileName.temporary("REPLACEMENT")

  /// A draft that an earlier process has left.
  init(_ path: String, _ fileSystem: any FileSystem, _ lock: any FileLock) {
    (self.path, self.fileSystem, self.lock) = (path, fileSystem, lock)
  }

  /// Makes the draft of a copy, in place of what an unfinished one has left.
  init(of target: String, _ fileSystem: any FileSystem) throws {
    let path = target + Self.suffix
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
    try didTake(target)
  }

  private func didTake(_ target: String) throws(FileIOError) {
    // Of no account: opening removes them.
    defer {
      for mark in [Self.mark, Self.replacementMark] { _ = try? fileSystem.remove(target + "/" + mark.string) }
      _ = try? fileSystem.syncDirectory(target)
      lock.release()
    }
    try fileSystem.syncDirectory(StorePath.parent(of: target))
  }

  // MARK: Of a replacement

  /// From here on the copy is whole: it replaces the store of its name.
  func markAsReplacement() throws(FileIOError) {
    // The name of the draft: the store that it replaces is destroyed next.
    try fileSystem.syncDirectory(StorePath.parent(of: path))
    try fileSystem.open(path + "/" + Self.replacementMark.string, .create).close()
    try fileSystem.syncDirectory(path)
  }

  /// The copy gets its name, or stays: it may be all that there is.
  func takeAsReplacement(_ target: String) throws(FileIOError) {
    try fileSystem.rename(path, to: target)
    try didTake(target)
  }

  /// The draft stays as it is.
  func leave() { lock.release() }

  /// Gives back the room of a copy that failed, as far as that can be done.
  func remove() {
    _ = try? Store.removeFiles(of: path, fileSystem)
    lock.release()
  }
}
