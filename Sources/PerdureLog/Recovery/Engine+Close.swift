import PerdureFileIO
import PerdureFormat

extension Engine {
  /// The last sync, a checkpoint if it is worth its cost, the superblock that names it, and the end
  /// of the writer's place.
  func close() throws {
    try finish { state in
      guard !options.isReadOnly else { return }
      // S5: even if all acknowledged commits are durable, nothing more is written.
      if let poison = gate.poison { throw poison }
      do {
        try directory.checkIsWriters()
        try gate.waitUntilSynced(state.end)
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
        // A file that cannot be removed has no effect.
        if let unborn = try? preparation.take(state.nextSegment) {
          try? directory.remove(StoreFileName.segment(unborn.number).string)
        }
      } catch let error as FileIOError {
        throw StoreError.io(error, "Closing the store")
      }
    }
  }

  /// A failure loses nothing: the next opening reads more, and reports that.
  private func writeLastCheckpoint(_ state: inout CommitterState) -> CheckpointReference? {
    guard options.checkpoints.isDueAtClose(tail: state.tailBytes), state.end > .start else { return nil }
    if reserve.isShort && !reserve.restore() { return nil }
    let source = state.checkpointSource(held(state), checkpointer.writer.beginsAnew)
    checkpointer.writer.isCancelled = { false }
    let result = Result { try checkpointer.writer.write(source) }
    checkpointer.count(result.map { _ in true })
    // A damaged file is abandoned here; the next opening reports the damage.
    if isIndexDamaged { _ = try? checkIndex() }
    return try? result.get()
  }
}
