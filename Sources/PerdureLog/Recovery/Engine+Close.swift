import PerdureFileIO
import PerdureFormat

extension Engine {
  /// Closes the store: runs the last sync, writes a checkpoint if it is worth its cost, and writes
  /// the superblock, which references the checkpoint. Then the writer leaves (WriterPlace). Writes
  /// nothing if the superblock is still that of the previous close, unless a checkpoint is due.
  func close() throws {
    try finish { state in
      guard !options.isReadOnly else { return }
      // S5: after a failed sync nothing more is written, even if all acknowledged commits are
      // durable.
      if let poison = gate.poison { throw poison }
      do {
        try directory.checkIsWriters()
        try gate.waitUntilSynced(state.end)
        // The superblock is still that of the last close.
        if promise.isPending, !isCheckpointDue(state) { return }
        try beginChange()
        let checkpoint = writeLastCheckpoint(&state)
        let (end, sequence, nextBlob) = (state.end, state.root.pointee.sequence, state.nextBlob)
        try state.superblock?.replace { superblock in
          superblock.durableEnd = end
          superblock.durableSequence = sequence
          superblock.nextBlob = nextBlob
          superblock.isClosed = true
          if let checkpoint { superblock.checkpoint = checkpoint }
        }
        removeUnreachableBlobs(&state)
        // If this file cannot be removed, it has no effect.
        if let unborn = try? preparation.take(state.nextSegment) {
          try? directory.remove(StoreFileName.segment(unborn.number).string)
        }
      } catch let error as FileIOError {
        throw StoreError.io(error, "Closing the store")
      }
    }
  }

  private func isCheckpointDue(_ state: borrowing CommitterState) -> Bool {
    options.checkpoints.isDueAtClose(tail: state.tailBytes) && state.end > .start
  }

  /// Writes the last checkpoint. Returns nil if none is due, if the reserve is incomplete, or if
  /// writing fails. No data is lost then, but the next opening reads more of the log.
  private func writeLastCheckpoint(_ state: inout CommitterState) -> CheckpointReference? {
    guard isCheckpointDue(state) else { return nil }
    if reserve.isShort && !reserve.restore() { return nil }
    let source = state.checkpointSource(held(state), checkpointer.writer.beginsAnew)
    checkpointer.writer.isCancelled = { false }
    let result = Result { try checkpointer.writer.write(source) }
    checkpointer.count(result.map { _ in true })
    // A damaged index file is abandoned here. The next opening reports the damage.
    if isIndexDamaged { _ = try? checkIndex() }
    return try? result.get()
  }
}
