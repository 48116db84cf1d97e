import PerdureFileIO
import PerdureFormat

// A checkpoint, step by step.
//
//  1  in a turn: pin the newest root, and take the slots that the arena has freed
//  2  sync the log up to that root. If only the newest superblock references the previous
//     checkpoint, write another superblock that references it. Then the units of older checkpoints
//     may be reused, so the file holds two states, not three
//  3  write the nodes that are not in the index file yet, and the root block; sync the file
//  4  write a superblock that references the root block
//  5  in a turn: subtract the covered bytes from the tail
//
// Only steps 1 and 5 run in the committer's turn, and neither uses a file.

extension Engine {
  /// Writes a checkpoint, unless the newest one covers the whole log. At most one call runs at a
  /// time.
  ///
  /// - Returns: Whether a checkpoint was written.
  func writeCheckpoint(with writer: inout CheckpointWriter) throws -> Bool {
    try directory.checkIsWriters()
    // Refuses the checkpoint while the reserve is incomplete. Otherwise the index file uses the
    // space that is reserved for removals and compaction.
    do { try checkRoom() } catch {
      retryLater()
      throw error
    }
    let beginsAnew = writer.beginsAnew
    guard let (source, pin) = try inTurn({ state in try takeSource(&state, beginsAnew) }) else {
      return false
    }
    defer { release(pin) }
    do {
      try beginChange()
      try gate.waitUntilSynced(source.root.pointee.end)
      if writer.isUnconfirmed {
        try name(nil, source)
        writer.didConfirm()
      }
      let reference = try writer.write(source)
      try name(reference, source)
    } catch {
      retryLater()
      // Damage that only the checkpoint has found is treated like damage that a read has found: the
      // file can no longer be used.
      try checkIndex()
      throw error
    }
    writer.didReference()
    let indexBytes = writer.byteCountInUse
    try inTurn { state in
      state.tailBytes -= source.tailBytes
      state.indexFileByteCount = indexBytes
      state.nextTailCheck = options.checkpoints.nextLookBytes(indexBytes: state.indexByteCount)
      noteTail(&state)
    }
    return true
  }

  private func takeSource(
    _ state: inout CommitterState, _ beginsAnew: Bool
  ) throws -> (CheckpointSource, Pin)? {
    guard state.tailBytes > 0, state.end > .start else { return nil }
    let (pin, root) = pinRoot()
    precondition(root == state.root, "In a turn, the newest root must be the committer's")
    return (state.checkpointSource(held(state), beginsAnew), pin)
  }

  /// Step 4. Without a reference, the new superblock references the previous checkpoint again.
  private func name(_ reference: CheckpointReference?, _ source: CheckpointSource) throws {
    let root = source.root
    try replaceSuperblock { superblock in
      superblock.durableEnd = max(superblock.durableEnd, root.pointee.end)
      superblock.durableSequence = max(superblock.durableSequence, root.pointee.sequence)
      superblock.nextBlob = max(superblock.nextBlob, source.nextBlob)
      if let reference { superblock.checkpoint = reference }
    }
  }

  /// A failed checkpoint is retried when the tail has grown enough for the next one.
  private func retryLater() {
    try? inTurn { state in
      let due = options.checkpoints.dueTailBytes(indexBytes: state.indexByteCount)
      state.nextTailCheck =
        state.tailBytes.addingReportingOverflow(due).overflow ? .max : state.tailBytes + due
    }
  }

  /// Notifies the checkpointer if a checkpoint is due, now or as soon as the store is idle. Call in
  /// a turn.
  func noteTail(_ state: inout CommitterState) {
    guard state.tailBytes >= state.nextTailCheck, !options.isReadOnly else { return }
    let due = options.checkpoints.dueTailBytes(indexBytes: state.indexByteCount)
    let hasThread = checkpointer.note(isDue: state.tailBytes >= due, for: self)
    state.nextTailCheck = state.tailBytes < due ? due : hasThread ? .max : state.tailBytes + due
  }
}

extension CommitterState {
  /// The length of the index in memory or in the file, whichever is greater, in bytes.
  var indexByteCount: Int { max(arena.liveByteCount, indexFileByteCount) }

  /// The source of a checkpoint of the published root.
  ///
  /// - Parameter beginsAnew: Whether the checkpoint begins a new file.
  mutating func checkpointSource(_ pinned: PinnedVersions, _ beginsAnew: Bool) -> CheckpointSource {
    reclaim(pinned)
    if beginsAnew { arena.forgetSlots() }
    return CheckpointSource(
      root: root, catalog: catalog, untrusted: indexes.unavailable, duplicated: duplicatedIndexes,
      blobs: liveBlobs, nextBlob: nextBlob, freed: arena.takeFreedSlots(), segmentUsage: usage.encode(),
      tailBytes: tailBytes)
  }
}

extension Store {
  /// Writes a checkpoint of all commits so far. The next opening then reads only the log after it.
  ///
  /// Stores write checkpoints automatically (`StoreOptions.checkpoints`). Reads and commits
  /// continue meanwhile. When this returns, the commits and the checkpoint are durable.
  ///
  /// - Throws: `StoreError`: `.corruption` if the index file is damaged: no record is lost, and the
  ///   next opening builds the index from the log. `.diskFull` or `.io` if the index file could not
  ///   be written: the store can be used, and a later checkpoint can succeed. After a failed sync,
  ///   that checkpoint is written to another file. Also `.poisoned`, `.closed`, `.readOnly`,
  ///   `.forked`.
  /// - Complexity: Writes the nodes that changed since the last checkpoint, or the whole index if
  ///   it begins a new file. Usually three syncs.
  public func checkpoint() throws {
    try engine.checkWritable()
    do {
      try engine.checkpointer.perform(for: engine)
    } catch let error as FileIOError {
      throw StoreError.io(error, "Writing a checkpoint")
    } catch is IndexFile.Cancelled {
      throw StoreError.closed
    } catch is SlotAllocator.Full {
      throw StoreError(
        .io, "The index file is full; write another checkpoint, which begins a new file")
    }
  }
}
