import PerdureFileIO
import PerdureFormat

extension Engine {
  /// The last sync, the superblock that says so, and the end of the writer's place.
  func close() throws {
    try finish { state in
      guard !options.isReadOnly else { return }
      // S5: also where all that was acknowledged is durable, nothing more is written.
      if let poison = gate.poison { throw poison }
      do {
        try gate.waitUntilSynced(state.end)
        let (end, sequence, nextBlob) = (state.end, state.root.pointee.sequence, state.nextBlob)
        try state.superblock?.replace { superblock in
          superblock.durableEnd = end
          superblock.durableSequence = sequence
          superblock.nextBlob = nextBlob
          superblock.isClosed = true
        }
        removeUnreachableBlobs(&state)
      } catch let error as FileIOError {
        throw StoreError.io(error, "Closing the store")
      }
    }
  }
}
