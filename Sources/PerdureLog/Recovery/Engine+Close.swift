import PerdureFileIO
import PerdureFormat

extension Engine {
  /// The last sync, a checkpoint if it is worth its while, the superblock that says so, and the end
  /// of the writer's place.
  func close() throws {
    try finish { state in
      guard !options.isReadOnly else { return }
      // S5: also where all that was acknowledged is durable, nothing more is written.
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
        // One that cannot be removed means nothing.
        if let unborn = try? preparation.take(state.nextSegment) {
          try? directory.remove(StoreFileName.segment(unborn.number).string)
        }
      } catch let error as FileIOError {
        throw StoreError.io(error, "Closing the store")
      }
    }
  }

  /// Nothing is lost when this fails: the next opening has more to read, and says so.
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
