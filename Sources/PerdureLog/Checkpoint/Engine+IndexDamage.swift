import PerdureFileIO
import PerdureFormat

// What happens when a read finds a damaged node of the index file (FileNodes.swift).
//
// No data is lost: the index follows from the log. But the trees in use have a gap. So from then on
// every lookup throws, commits are refused, and no checkpoint is written. The file's header is made
// zero, so that the next opening does not use it, and builds the index anew. (Snapshots outlive the
// writer's place; they leave the file alone.)

extension Engine {
  /// FN3: asked after every walk in the committer's turn, before anything comes of it.
  func checkIndex() throws(StoreError) {
    if isIndexDamaged, let checkpoint { throw indexDamaged(checkpoint) }
  }

  var isIndexDamaged: Bool { indexNodes?.isDamaged ?? false }

  /// The same, for walks of one tree.
  @inline(__always)
  func check(_ file: FileNodes) throws(StoreError) {
    if file.isDamaged { try checkIndex() }
  }

  /// Calls a function that reads the index. If the index is damaged, it throws instead of returning
  /// the result.
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
      } else if giveUp(checkpoint) {
        "close the store and open it again"
      } else {
        "close the store, remove the file, and open it again"
      }
    return StoreError(
      .corruption,
      "The index file is damaged\(what); no record is lost: \(remedy), and the index is built from the log",
      at: place)
  }

  /// Whether the file is another writer's by now, and was so when this snapshot was taken
  /// (WriterPlace, WP3).
  private func isOutdated(_ checkpoint: OpenedCheckpoint) -> Bool {
    checkpoint.nodes.damage.error == Self.outdated
  }

  /// The damage that is noted for a file of another writer.
  static let outdated = FormatError(.misplaced, in: "index file of a closed store", at: 0)

  /// Keeps the next opening from using the file; false if that cannot be, or if the file may be
  /// another writer's.
  private func giveUp(_ checkpoint: OpenedCheckpoint) -> Bool {
    place.whileWriter {
      let zeros = [UInt8](repeating: 0, count: IndexFileHeader.length)
      do { try checkpoint.file.write(zeros, at: 0) } catch { return false }
      return true
    } ?? false
  }
}
