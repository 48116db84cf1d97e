import PerdureFileIO
import PerdureFormat

// Puts a copy of one store in the place of another. A power cut leaves the old store or the new one, and a repetition
// does the rest.
//
//   R1. The copy grows as a draft, `NAME.copy` (CopyDraft.swift). When it is whole and durable it gets a second mark. The
//       old store is destroyed only after that.
//   R2. A draft with this mark beside a path that has no superblock is the store of that path: before the path is opened
//       for writing, copied from or replaced, the draft gets the path's name.
//   R3. Beside a path that has a superblock the mark means nothing: the replacement did not begin to destroy. The
//       next opening for writing removes the draft, so that it does not reappear when the store is destroyed later.

extension Store {
  /// Puts a copy of a store in the place of another one, which must not be open for writing.
  ///
  /// The copy is in its place, and durable, when the call returns. After a power cut the old store or the new one opens,
  /// and the call can be repeated.
  ///
  /// - Parameters:
  ///   - path: The directory of the store that is replaced, or of none.
  ///   - source: The store that is copied.
  ///   - options: Its `fileSystem` is that of both; nothing else counts.
  /// - Throws: `StoreError` as for `copy` and `destroy`, and `.invalidArgument` when the directory holds a file that is
  ///   not the store's. Before the copy is whole the old store is as it was. If destroying the old store fails, the next
  ///   opening for writing, or a repetition, completes the replacement.
  /// - Complexity: O(n) for n bytes of the source.
  package static func replace(
    _ path: String, with source: String, options: StoreOptions = StoreOptions()
  ) throws {
    let fileSystem = options.fileSystem
    do {
      let path = try StorePath.fixed(path, fileSystem)
      let source = try StorePath.fixed(source, fileSystem)
      for place in [path, source] { try Replacement(of: place, fileSystem).complete() }
      try checkHasNoStranger(path, options)
      let draft = try makeDraft(of: path, source, fileSystem)
      do {
        try destroyFiles(of: path, fileSystem)
        try draft.takeAsReplacement(path)
      } catch {
        // A store that is open is as it was, and stays. After another error the draft may be all that there is (R2).
        let isIntact = (error as? FileIOError)?.code == .locked || (error as? StoreError)?.code == .locked
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
      draft.remove()
      throw error
    }
    return draft
  }

  private static func checkHasNoStranger(_ path: String, _ options: StoreOptions) throws {
    guard let stranger = try stranger(at: path, options: options) else { return }
    throw StoreError(
      .invalidArgument,
      "The directory holds \(stranger) too, which is none of the store's; take it away first", at: path)
  }
}

/// A replacement of the store of a path that a power cut has left.
struct Replacement {
  private let path: String
  private let draft: String
  private let fileSystem: any FileSystem

  init(of path: String, _ fileSystem: any FileSystem) {
    (self.path, draft, self.fileSystem) = (path, path + CopyDraft.suffix, fileSystem)
  }

  private func has(_ name: StoreFileName, in directory: String) throws(FileIOError) -> Bool {
    try fileSystem.kind(of: directory + "/" + name.string) != nil
  }

  /// Whether the draft is the store of the path (R2).
  var isPending: Bool {
    get throws(FileIOError) {
      if try has(.superblock, in: path) { return false }
      guard try has(CopyDraft.replacementMark, in: draft) else { return false }
      return try has(.superblock, in: draft)
    }
  }

  /// Gives the draft the path's name, if it is the store of the path (R2).
  ///
  /// - Throws: `FileIOError`, with code `.locked` while another process replaces the store; `StoreError`.
  func complete() throws {
    guard try isPending else { return }
    let lock = try fileSystem.writerLock(ofStore: draft)
    let held = CopyDraft(draft, fileSystem, lock)
    do {
      if try isPending {
        try Store.destroyFiles(of: path, fileSystem)
        return try held.takeAsReplacement(path)
      }
      held.leave()
    } catch {
      held.leave()
      throw error
    }
  }

  /// Removes a draft that never replaced the store (R3).
  func abandon() {
    // What cannot be removed now is removed by a later opening.
    guard (try? has(CopyDraft.replacementMark, in: draft)) == true,
      let lock = try? fileSystem.writerLock(ofStore: draft)
    else { return }
    CopyDraft(draft, fileSystem, lock).remove()
  }

  /// Does what an opening has to do about an unfinished replacement (R2, R3).
  ///
  /// - Complexity: two looks at the file system where there is none.
  static func settle(_ path: String, _ options: StoreOptions) throws {
    do {
      let replacement = Replacement(of: path, options.fileSystem)
      guard try replacement.isPending else {
        if !options.isReadOnly { replacement.abandon() }
        return
      }
      guard options.isReadOnly else { return try replacement.complete() }
      throw StoreError(
        .notAStore,
        "The store was being replaced by a copy when the power went; open it for writing once, which completes that",
        at: path)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Opening the store")
    }
  }
}
