import PerdureFileIO
import PerdureFormat

extension Engine {
  /// Step 5 of a commit (Engine+Commit): writes a commit's extents to the log, in order, and
  /// advances `state.end`.
  ///
  /// The system can refuse a part of the commit (no space, no file, no address space). Then the log
  /// is rolled back to its previous end, and the store can still be used. After any other error, it
  /// is unknown which part of the commit is in the log, so the store is poisoned. The store is also
  /// poisoned if the whole commit may be in the log.
  func writeEncoded(_ state: inout CommitterState) throws(StoreError) {
    let before = LogMark(state)
    // An index extractor may have forked the process.
    try checkProcess()
    try beginChange()
    do {
      if state.encoder.byteCount >= Self.checkedLengthMin { try checkRoom(for: state.encoder) }
      try writeExtents(&state)
    } catch let error as FileIOError where error.isRefusal && !mayBeWhole(state) {
      state.rollBack(to: before)
      releaseVoidSegments(&state)
      throw .io(error, "Writing a commit")
    } catch let error as FileIOError {
      gate.poison(
        StoreError(.poisoned, "A write to the log failed. Close the store and open it again", cause: error))
      throw .unsure(error, "Writing a commit")
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("files and the gate throw no other errors")
    }
  }

  /// Shorter commits are written without a check of the free space, which is a system call.
  private static let checkedLengthMin = 64 << 10

  /// Refuses a long commit if there is clearly no space for it. A partly written commit occupies
  /// space without any use.
  ///
  /// A file system that does not report its free space reports 0.
  @inline(never)
  private func checkRoom(for encoder: borrowing LogEncoder) throws(FileIOError) {
    let length = encoder.byteCount
    guard let free = try? directory.availableBytes(), free > 0, free < length else { return }
    throw FileIOError(.noSpace, operation: .write, path: directory.path)
  }

  /// Whether all bytes of a commit may be in the log although writing them failed. Also true if the
  /// bytes cannot be read. The length of the file is no evidence, because the file may already have
  /// been longer than the log (`LogRoom`).
  private func mayBeWhole(_ state: borrowing CommitterState) -> Bool {
    guard let last = state.encoder.extents.indices.last,
      let segment = state.segments.segments[state.encoder.end.segment]
    else { return false }
    let extent = state.encoder.extents[last]
    return segment.file.holds(state.encoder.bytes(of: extent), at: extent.offset) ?? true
  }

  private func writeExtents(_ state: inout CommitterState) throws {
    for index in state.encoder.extents.indices {
      let extent = state.encoder.extents[index]
      if let capacity = extent.birthCapacity {
        try beginSegment(extent.segment, capacity: capacity, firstSequence: state.encoder.sequence, &state)
      }
      guard !extent.bufferRange.isEmpty else { continue }
      let bytes = state.encoder.bytes(of: extent)
      do throws(FileIOError) {
        try state.segments.write(bytes, at: UInt64(extent.offset), toLast: extent.segment)
      } catch {
        // The bytes that were not written may be zeros that the file already contained. Then the
        // file contains the whole extent. The next sync decides whether the extent is durable.
        guard error.isRefusal,
          state.segments.segments[extent.segment]?.file.holds(bytes, at: extent.offset) == true
        else { throw error }
      }
      state.statistics.logBytes += UInt64(bytes.count)
      state.tailBytes += UInt64(bytes.count)
      state.end = LogPosition(segment: extent.segment, offset: UInt64(extent.offset + bytes.count))
      gate.didAppend(upTo: state.end)
      if state.end.offset >= state.nextSyncAhead { syncAhead(&state) }
      if state.end.offset > state.roomEnd { try makeSpace(&state) }
    }
  }

  /// Extends the last segment's file ahead of the log, if commits wait for syncs (`LogRoom`).
  private func makeSpace(_ state: inout CommitterState) throws(FileIOError) {
    let synced = gate.syncedEnd
    guard synced.segment == state.end.segment,
      let length = options.logRoom.length(
        end: state.end.offset, synced: synced.offset, capacity: UInt64(state.segmentCapacity))
    else { return }
    state.roomEnd = length
    do {
      try withUnsafeBytes(of: UInt8(0)) { zero throws(FileIOError) in
        try state.segments.write(zero, at: length - 1, toLast: state.end.segment)
      }
      state.statistics.logBytes += 1
    } catch {
      // Without the extension, syncs take longer. The commit itself is already written.
      guard error.code.isLackOfSpace || error.code == .fileTooLarge else { throw error }
    }
  }

  /// Starts preparing the file of the next segment. If many written bytes are unsynced, also starts
  /// a sync of them in the background. Both shorten the wait of the commit that begins the next
  /// segment. If commits wait for their own syncs, few bytes are unsynced, and only the preparation
  /// of the file helps.
  private func syncAhead(_ state: inout CommitterState) {
    prepareSegment(state.nextSegment)
    let synced = gate.syncedEnd
    var from = synced.segment == state.end.segment ? synced.offset : 0
    if state.end.offset - from >= options.syncAheadBytes {
      gate.syncAhead(state.end)
      from = state.end.offset
    }
    state.nextSyncAhead = from + options.syncAheadBytes
  }

  private func prepareSegment(_ number: UInt64) {
    guard number <= FormatLimits.segmentNumberMax, (try? directory.checkIsWriters()) != nil else { return }
    preparation.begin(number) { [gate] error in
      let message = "A segment could not be prepared. Close the store and open it again"
      gate.poison(StoreError(.poisoned, message, cause: error))
    }
  }

  /// Closes the last segment before it is full, and begins a new one. Compaction may then rewrite
  /// the closed segment. Does nothing if no segment number is left. Call it only while no part of a
  /// commit is being written. If the system refuses the new segment, the store can still be used,
  /// except after a failed sync.
  func rollLog(_ state: inout CommitterState) throws {
    try beginChange()
    do {
      let number = state.nextSegment
      guard number <= FormatLimits.segmentNumberMax else { return }
      let firstSequence = state.root.pointee.sequence + 1
      try beginSegment(number, capacity: state.birthCapacity, firstSequence: firstSequence, &state)
      // The position of the next checkpoint is in the new segment.
      state.tailBytes += UInt64(SegmentHeader.length)
      showRoot(state.makeWorkingRoot(), &state)
    } catch let error as FileIOError {
      if !error.operation.isSync { throw StoreError.io(error, "Beginning a segment") }
      gate.poison(
        StoreError(
          .poisoned, "A segment could not be created. Close the store and open it again", cause: error))
      throw StoreError.unsure(error, "Beginning a segment")
    }
  }

  /// Publishes a root that differs from the previous root only in its files or in its unavailable
  /// indexes.
  func showRoot(_ next: UnsafeMutablePointer<Root>, _ state: inout CommitterState) {
    next.pointee.end = state.end
    state.replaceRoot(next)
    publish(next)
  }

  /// Creates a segment in the order that FORMAT.md prescribes. Everything before the segment is
  /// durable before the segment's header is written. So the synced offset in a frame's header
  /// refers only to the frame's own segment.
  ///
  /// The gate syncs the old segment, and runs one sync at a time. If two syncs of one file run at
  /// the same time, some systems report a failed write to only one of them.
  private func beginSegment(
    _ number: UInt64, capacity: Int, firstSequence: UInt64, _ state: inout CommitterState
  ) throws {
    try directory.checkIsWriters()
    if let last = state.segments.segments[state.end.segment] {
      try gate.waitUntilSynced(state.end)
      state.segments.setEnd(Int(state.end.offset), of: last.number)
    }
    try state.segments.reserve(number)
    var header = SegmentHeader(
      store: storeID, number: number, capacity: UInt64(capacity), firstSequence: firstSequence,
      predecessorEnd: state.end)
    if state.bindsNewRecords { header.incompatibleFeatures |= FormatVersion.boundRecords }
    let segment = try createSegment(header, &state)
    state.segmentLocks.release(before: state.root.pointee.end.segment)
    state.statistics.logBytes += UInt64(SegmentHeader.length)
    state.add(segment)
    state.end = LogPosition(segment: number, offset: UInt64(SegmentHeader.length))
    state.segmentCapacity = capacity
    state.bindsRecords = state.bindsNewRecords
    state.nextSegment = number + 1
    state.nextReserveCheck = 0
    state.nextSyncAhead = state.end.offset + options.syncAheadBytes
    state.roomEnd = 0
    gate.didBegin(segment.file, at: state.end)
    removeVoidSegments(&state)
  }

  private func createSegment(
    _ header: SegmentHeader, _ state: inout CommitterState
  ) throws(FileIOError) -> Segment {
    let prepared: SegmentPreparation.Prepared
    do { prepared = try preparation.takeOrMake(header.number) } catch {
      noteTaken(header.number, error, &state)
      throw error
    }
    let file = prepared.file
    do throws(FileIOError) {
      guard let lock = try SegmentLocks.take(header.number, in: directory) else {
        throw FileIOError(.locked, operation: .lock, path: file.path)
      }
      state.segmentLocks.hold(header.number, lock)
      var bytes = [UInt8](repeating: 0, count: SegmentHeader.length)
      bytes.withUnsafeMutableBytes { header.write(to: $0) }
      try file.write(bytes, at: 0)
      try file.sync(.full)
      if !prepared.isNameDurable { try directory.sync() }
      return try Segment(header: header, file: file)
    } catch {
      // After a failed sync the store is poisoned, and this may be its newest segment. So the
      // segment stays locked (SegmentLocks, SL1).
      if !error.operation.isSync { cancelBirth(of: header.number, file, &state) }
      throw error
    }
  }

  /// Creating a file can fail after its directory entry exists. Such a file is not a segment of the
  /// log. It stays until the next opening, and later commits use other numbers.
  private func noteTaken(_ number: UInt64, _ error: FileIOError, _ state: inout CommitterState) {
    if error.code == .alreadyExists { state.nextSegment = max(state.nextSegment, number + 1) }
  }

  /// Removes the file of a segment that was not created completely.
  ///
  /// The written part of its header may reappear after a power cut. The header contains the
  /// position at which the log ended, so the log must not continue there. Therefore the next frame
  /// begins a new segment.
  private func cancelBirth(of number: UInt64, _ file: any File, _ state: inout CommitterState) {
    if !isBlank(file) { state.segmentCapacity = 0 }
    // The segment never contained a frame, so its number may be used again if the file's name is
    // removed.
    if (try? directory.remove(StoreFileName.segment(number).string)) == nil {
      // If the header is complete, this is the newest segment, and it stays locked (SegmentLocks,
      // SL1).
      state.nextSegment = number + 1
    } else {
      state.segmentLocks.release(number)
    }
  }

  /// Whether a file contains no part of a header. The length of the file is no evidence: a prepared
  /// file has the length of a header before the header is written.
  private func isBlank(_ file: any File) -> Bool {
    guard let bytes = try? file.read(SegmentHeader.length, at: 0) else { return false }
    return bytes.allSatisfy { $0 == 0 }
  }

  /// Removes the segments of a commit that was rolled back: they occupy space, and may have filled
  /// the volume. Their numbers must not be used again (FORMAT.md, M8), so an empty file takes the
  /// next number before the segments are removed. The segment with the highest number is removed
  /// first, so that no remaining segment references a missing segment. If this fails, the files
  /// stay until the next segment is created.
  private func releaseVoidSegments(_ state: inout CommitterState) {
    let number = state.nextSegment
    let voids = state.voidSegments.sorted(by: >)
    guard !voids.isEmpty, number < FormatLimits.segmentNumberMax else { return }
    do {
      let prepared = try preparation.takeOrMake(number)
      // The number counts as used now, even if a later step fails.
      state.nextSegment += 1
      state.voidSegments.append(number)
      try prepared.file.close()
      try directory.sync()
      for void in voids {
        try directory.remove(StoreFileName.segment(void).string)
        state.segmentLocks.release(void)
        try directory.sync()
      }
      state.voidSegments = [number]
    } catch {
      noteTaken(number, error, &state)
      guard error.operation.isSync else { return }
      gate.poison(
        StoreError(
          .poisoned, "Syncing the store's directory failed. Close the store and open it again", cause: error))
    }
  }

  /// Removes the segments of commits that were rolled back. The new segment has a greater number,
  /// and its header contains the end of the log. So the void segments are no longer needed, and can
  /// be removed in any order. FORMAT.md, B5, B8 and R12
  private func removeVoidSegments(_ state: inout CommitterState) {
    for number in state.voidSegments {
      // Files that cannot be removed now are removed by the next opening.
      try? directory.remove(StoreFileName.segment(number).string)
      state.segmentLocks.release(number)
    }
    state.voidSegments = []
  }
}

extension FileIOError {
  /// Whether the system refused the operation and all synced bytes are unchanged. This is true for
  /// creating, locking or mapping a file, for reserving memory, and for a write without space. A
  /// failed sync is never a refusal, regardless of its code.
  fileprivate var isRefusal: Bool { operation.isAcquisition || isRefusedWrite }
}

extension File {
  /// Whether the file has these bytes at an offset; nil if they cannot be read.
  fileprivate func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool? {
    for start in stride(from: 0, to: bytes.count, by: 64 << 10) {
      let expected = bytes.part(start, min(64 << 10, bytes.count - start))
      guard let found = try? read(expected.count, at: UInt64(offset + start)) else { return nil }
      if !found.elementsEqual(expected) { return false }
    }
    return true
  }
}

/// The end of the log before a commit.
struct LogMark {
  fileprivate let end: LogPosition
  fileprivate let tailBytes: UInt64
  fileprivate let logBytes: UInt64

  init(_ state: borrowing CommitterState) {
    end = state.end
    tailBytes = state.tailBytes
    logBytes = state.statistics.logBytes
  }
}

extension CommitterState {
  /// Resets the end of the log to its position before a partly written commit. The commit's bytes
  /// in the files count as a torn tail. The next frame begins a new segment, whose header contains
  /// the end of the log (FORMAT.md, B7).
  mutating func rollBack(to mark: LogMark) {
    for number in segments.segments.keys where number > mark.end.segment {
      forgetSegment(number)
      voidSegments.append(number)
    }
    end = mark.end
    segmentCapacity = 0
    tailBytes = mark.tailBytes
    statistics.logBytes = mark.logBytes
  }
}
