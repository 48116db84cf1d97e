import PerdureFileIO
import PerdureFormat

// The sync points of a compaction pass (CompactionPass, steps 2 and 3).

extension Engine {
  /// Step 2: makes the log durable up to the end of `promise`. The superblock then states this and
  /// the fact that segments are rewritten. After that, no opening uses a checkpoint from before the
  /// end of `promise`. FORMAT.md, T5, T6 and T8.
  ///
  /// - Parameter withGroups: Whether frames may be put into groups.
  func promiseDurability(
    upTo promise: (end: LogPosition, sequence: UInt64, nextBlob: UInt64), withGroups: Bool
  ) throws {
    try gate.waitUntilSynced(promise.end)
    // Waits for a checkpoint that began before the pass and that no superblock references yet.
    // Otherwise the segment with the checkpoint's position could be rewritten first, and a
    // superblock could then reference the checkpoint. Such a checkpoint cannot be used (T4).
    checkpointer.waitForRunning()
    guard let superblock = try readingState({ $0.superblock }) else { return }
    if superblock.current.checkpoint != nil { try renewCheckpoint() }
    try replaceSuperblock { superblock in
      superblock.incompatibleFeatures |= FormatVersion.rewrittenSegments
      if withGroups { superblock.incompatibleFeatures |= FormatVersion.groupedSegments }
      guard superblock.durableEnd < promise.end else { return }
      superblock.durableEnd = promise.end
      superblock.durableSequence = max(superblock.durableSequence, promise.sequence)
      superblock.nextBlob = max(superblock.nextBlob, promise.nextBlob)
    }
  }

  /// Writes a checkpoint of the newest state. If there is no space for it, the superblock's
  /// reference to the old checkpoint is removed. Then compaction can still free space, but the next
  /// opening reads the whole log. Any other failure is thrown, and the compaction does not begin.
  private func renewCheckpoint() throws {
    do {
      try checkpointer.perform(for: self)
    } catch let error as StoreError where error.code == .closed || error.code == .poisoned {
      throw error
    } catch {
      try checkIndex()
      guard Self.isLackOfSpace(error) else {
        guard let error = error as? FileIOError else { throw error }
        throw StoreError.io(error, "Writing a checkpoint for a compaction (the store is unchanged)")
      }
      try replaceSuperblock { $0.checkpoint = nil }
      // Makes the next checkpoint due as soon as there is space.
      try inTurn { state in state.tailBytes = max(state.tailBytes, state.logLengths.all) }
    }
  }

  private static func isLackOfSpace(_ error: any Error) -> Bool {
    if let error = error as? StoreError { return error.code == .diskFull }
    guard let code = (error as? FileIOError)?.code else { return error is SlotAllocator.Full }
    return code.isLackOfSpace || code == .fileTooLarge
  }

  /// Syncs the directory after a rename. After a failed sync its content is unknown, and the store
  /// is poisoned.
  ///
  /// If an operation other than the sync failed, the store can still be used. The name refers to
  /// the new file, or to the old file after a power cut. Both have the same meaning (CM4), and no
  /// other file depends on the name yet. The next compaction rewrites the segment again.
  func makeNamesDurable() throws {
    do { try directory.sync() } catch {
      let action = "Syncing the store's directory"
      guard error.operation.isSync else { throw StoreError.io(error, action) }
      gate.poison(
        StoreError(.poisoned, "\(action) failed. Close the store and open it again", cause: error))
      throw StoreError.unsure(error, action)
    }
  }
}

extension CommitterState {
  /// The number of segments whose frames end before half of the capacity of a new segment. The last
  /// segment is not counted. For a segment in groups, the unpacked length counts.
  var shortSegmentCount: Int {
    var count = 0
    for (number, segment) in segments.segments where number != end.segment {
      let length = segment.footer.map { Int($0.dataEnd) } ?? segments.entries[Int(number)].end
      if length < birthCapacity / 2 { count += 1 }
    }
    return count
  }
}
