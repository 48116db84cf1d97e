import PerdureFileIO
import PerdureFormat

// The handling of a damaged node of the index file (FileNodes.swift).
//
// No data is lost, because the index can be built from the log. But a part of the trees cannot be
// read. So every later lookup throws, commits are refused, and no checkpoint is written. The writer
// overwrites the file's header with zeros, or removes the name of a shared file. The next opening
// then does not use the file, and builds the index from the log. (The file stays unchanged if the
// store was opened for reading, or if the writer has already released its lock.)

extension Engine {
  /// Throws if a walk has found damage. Call it before the result of a walk is used (FN3).
  func checkIndex() throws(StoreError) {
    if isIndexDamaged, let checkpoint { throw indexDamaged(checkpoint) }
  }

  var isIndexDamaged: Bool { indexNodes?.isDamaged ?? false }

  /// Like `checkIndex()`, for walks of one tree.
  @inline(__always)
  func check(_ file: FileNodes) throws(StoreError) {
    if file.isDamaged { try checkIndex() }
  }

  /// Calls a function that reads the index. If the index is damaged, throws the error for that,
  /// instead of returning the result or rethrowing an error of `body`.
  func checkingIndex<R>(_ body: () throws -> R) throws -> R {
    do {
      let result = try body()
      try checkIndex()
      return result
    } catch {
      try checkIndex()
      throw error
    }
  }

  @inline(never)
  private func indexDamaged(_ checkpoint: OpenedCheckpoint) -> StoreError {
    if isOutdated(checkpoint) {
      return StoreError(
        .closed, "The store was closed, and has been opened for writing elsewhere since; open it again")
    }
    let name = StoreFileName.index(checkpoint.reference.indexFile).string
    let what = checkpoint.nodes.damage.error.map { ": \($0.reason.rawValue)" } ?? ""
    let place = checkpoint.nodes.damage.error.map { "\(name), byte \($0.offset)" } ?? name
    let remedy =
      if options.isReadOnly {
        "refresh the store"
      } else if abandon(checkpoint) {
        "close the store and open it again"
      } else {
        "close the store, remove the file, and open it again"
      }
    return StoreError(
      .corruption,
      "The index file is damaged\(what). No record is lost. To build the index from the log, \(remedy)",
      at: place)
  }

  /// Whether another writer may already have owned the file when a snapshot was taken (WriterPlace,
  /// WP3).
  private func isOutdated(_ checkpoint: OpenedCheckpoint) -> Bool {
    checkpoint.nodes.damage.error == Self.outdated
  }

  /// The error for an index file that another writer may own.
  static let outdated = FormatError(.misplaced, in: "index file of a closed store", at: 0)

  /// Overwrites the file's header, or removes the name of a shared file, so that the next opening
  /// does not use the file. Returns false if that fails, or if another writer may own the file.
  private func abandon(_ checkpoint: OpenedCheckpoint) -> Bool {
    place.whileWriter {
      if checkpoint.isShared { return removeName(of: checkpoint) }
      let zeros = [UInt8](repeating: 0, count: IndexFileHeader.length)
      do { try checkpoint.file.write(zeros, at: 0) } catch { return false }
      return true
    } ?? false
  }

  /// Removes the name of an index file that has a second name (SharedFiles, SF3).
  private func removeName(of checkpoint: OpenedCheckpoint) -> Bool {
    do { try directory.remove(StoreFileName.index(checkpoint.reference.indexFile).string) } catch {
      return error.code == .notFound
    }
    return true
  }
}
