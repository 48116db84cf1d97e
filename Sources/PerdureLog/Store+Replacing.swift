import PerdureFileIO
import PerdureFormat

// Replaces one store with a copy of another. After a power cut, the old store or the new one is
// complete, and a repeated call completes the replacement.
//
//   RP1. The copy is written to a draft, `NAME.copy` (CopyDraft.swift). When the draft is complete
//        and durable, it gets a second mark. The old store is destroyed only after that.
//   RP2. If the path has no superblock, a draft with this mark is the store of the path. It is
//        renamed to the path before the path is opened for writing, copied from or replaced.
//   RP3. If the path has a superblock, the mark has no effect, because destroying has not begun.
//        The next opening for writing removes the draft. A draft that remains becomes the store of
//        the path if the store is destroyed later.

extension Store {
  /// Replaces a store with a copy of another one. The replaced store must not be open for writing.
  ///
  /// When the call returns, the copy is at `path` and durable. After a power cut the old store or
  /// the new one can be opened, and the call can be repeated.
  ///
  /// - Parameters:
  ///   - path: The directory of the store to replace. It may be absent.
  ///   - source: The store to copy.
  ///   - options: Only `fileSystem` is used, for both stores.
  /// - Throws: `StoreError` as for `copy` and `destroy`; `.invalidArgument` if the directory has a
  ///   file that does not belong to the store. Until the copy is complete, the old store is
  ///   unchanged. If destroying the old store fails, the next opening for writing or a repeated
  ///   call completes the replacement.
  /// - Complexity: O(n) for n bytes of the source.
  package static func replace(
    _ path: String, with source: String, options: StoreOptions = StoreOptions()
  ) throws {
    let fileSystem = options.fileSystem
    do {
      let path = try StorePath.fixed(path, fileSystem)
      let source = try StorePath.fixed(source, fileSystem)
      let replacement = Replacement(of: path, fileSystem)
      try replacement.complete()
      try Replacement(of: source, fileSystem).complete()
      try checkHasNoStranger(path, options)
      let draft = try makeDraft(of: path, source, fileSystem)
      do {
        try destroyFiles(of: path, fileSystem)
        try replacement.take(draft)
      } catch {
        // If the old store was not destroyed, the draft is not needed. Otherwise the draft may be
        // the only store left (RP2).
        let isIntact = Replacement.isLocked(error) && (try? replacement.isPending) == false
        if isIntact { draft.remove() } else { draft.leave() }
        throw error
      }
    } catch let error as FileIOError {
      throw StoreError.io(error, "Replacing a store")
    }
  }

  private static func makeDraft(
    of path: String, _ source: String, _ fileSystem: any FileSystem
  ) throws -> CopyDraft {
    var lock = try lockToCopy(source, fileSystem)
    defer { lock.release() }
    let draft = try CopyDraft(of: path, fileSystem)
    do {
      try copyFiles(source, draft.path, fileSystem)
      try markAsCopy(draft.path, fileSystem)
      try draft.markAsReplacement()
    } catch {
      throw draft.removed(after: error)
    }
    return draft
  }

  private static func checkHasNoStranger(_ path: String, _ options: StoreOptions) throws {
    guard let foreignFile = try foreignFile(at: path, options: options) else { return }
    throw StoreError(
      .invalidArgument,
      "The directory also has \(foreignFile), which does not belong to the store; remove it first", at: path)
  }
}

/// A replacement that a power cut may have interrupted.
struct Replacement {
  private let path: String
  private let draft: String
  private let fileSystem: any FileSystem

  init(of path: String, _ fileSystem: any FileSystem) {
    (self.path, draft, self.fileSystem) = (path, path + CopyDraft.suffix, fileSystem)
  }

  private func hasSuperblock(_ directory: String) throws(FileIOError) -> Bool {
    do throws(FileIOError) {
      return try fileSystem.kind(of: directory + "/" + StoreFileName.superblock.string) != nil
    } catch {
      // The path of the store, or of its draft, is a file.
      guard error.code == .notADirectory else { throw error }
      return false
    }
  }

  /// Whether the draft is the store of the path (RP2).
  var isPending: Bool {
    get throws(FileIOError) {
      if try hasSuperblock(path) { return false }
      guard try CopyDraft.has(CopyDraft.replacementMark, draft, fileSystem) else { return false }
      return try hasSuperblock(draft)
    }
  }

  /// Renames the draft to the path, if the draft is the store of the path (RP2).
  ///
  /// - Throws: `FileIOError`, with code `.locked` while another process replaces the store;
  ///   `StoreError`.
  func complete() throws {
    guard try isPending else { return }
    let lock: any FileLock
    do throws(FileIOError) { lock = try fileSystem.writerLock(ofStore: draft) } catch {
      // Another process has renamed the draft to the path.
      guard error.code == .notFound else { throw error }
      return
    }
    let held = CopyDraft(draft, fileSystem, lock)
    do {
      if try isPending {
        try Store.destroyFiles(of: path, fileSystem)
        return try take(held)
      }
      held.leave()
    } catch {
      held.leave()
      throw error
    }
  }

  /// Renames the draft to the path whose store was destroyed. Openings that create the directory of
  /// the path at the same time find the replacement (`checkIsNotPending`) and throw an error. They
  /// leave an empty directory, which is removed here.
  ///
  /// - Throws: `StoreError` or `FileIOError` with code `.locked` if another process still has the
  ///   lock of the path after one second; `FileIOError` with code `.directoryNotEmpty` if the
  ///   directory has other files; `CancellationError`. In these cases the draft is kept. Also other
  ///   errors of the file system.
  func take(_ held: CopyDraft) throws {
    var wait = LockWait(.seconds(1))
    while true {
      do throws(FileIOError) {
        return try held.takeAsReplacement(path)
      } catch {
        guard error.code == .directoryNotEmpty, try isPending else { throw error }
        var refusal: any Error = error
        do { try Store.destroyFiles(of: path, fileSystem) } catch let locked where Self.isLocked(locked) {
          refusal = locked
        }
        guard try wait.next() else { throw refusal }
      }
    }
  }

  static func isLocked(_ error: any Error) -> Bool {
    (error as? FileIOError)?.code == .locked || (error as? StoreError)?.code == .locked
  }

  /// Removes a draft that never replaced the store (RP3).
  func abandon() {
    // If the draft cannot be removed now, a later opening removes it.
    guard (try? CopyDraft.has(CopyDraft.replacementMark, draft, fileSystem)) == true,
      let lock = try? fileSystem.writerLock(ofStore: draft)
    else { return }
    CopyDraft(draft, fileSystem, lock).remove()
  }

  /// Checks that no replacement has begun at a path since `finish`, before a store is created
  /// there. A replacement may already have destroyed the old store. The caller holds the writer's
  /// lock.
  ///
  /// - Throws: `StoreError` with code `.locked`.
  static func checkIsNotPending(_ path: String, _ options: StoreOptions) throws {
    guard try Replacement(of: path, options.fileSystem).isPending else { return }
    throw StoreError(
      .locked, "Another process is replacing the store; open it again, or set lockTimeout", at: path)
  }

  /// Completes or removes an unfinished replacement before an opening (RP2, RP3).
  ///
  /// - Throws: `StoreError` with code `.notAStore` for a reader, which must not complete a
  ///   replacement.
  /// - Complexity: Two file system calls if there is no unfinished replacement.
  static func finish(_ path: String, _ options: StoreOptions) throws {
    do {
      let replacement = Replacement(of: path, options.fileSystem)
      guard try replacement.isPending else {
        if !options.isReadOnly { replacement.abandon() }
        return
      }
      guard options.isReadOnly else { return try replacement.complete() }
      throw StoreError(
        .notAStore,
        "The replacement of the store by a copy is incomplete; open the store for writing once to complete it",
        at: path)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Opening the store")
    }
  }
}
