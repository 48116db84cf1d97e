import PerdureFileIO
import PerdureFormat

extension Engine {
  /// Step 5: brings a commit's extents into the log, in order, and moves `state.end`. What fails
  /// here poisons the store: nobody knows what of the commit is in the log.
  func write(_ encoder: borrowing LogEncoder, _ state: inout CommitterState) throws(StoreError) {
    do {
      try writeExtents(of: encoder, &state)
    } catch let error as FileIOError {
      gate.poison(
        StoreError(.poisoned, "A write to the log failed. Close the store and open it again", cause: error))
      throw .io(error, "Writing a commit")
    } catch let error as StoreError {
      throw error
    } catch {
      preconditionFailure("files and the gate throw nothing else")
    }
  }

  private func writeExtents(of encoder: borrowing LogEncoder, _ state: inout CommitterState) throws {
    for extent in encoder.extents {
      if let capacity = extent.birthCapacity {
        try beginSegment(extent.segment, capacity: capacity, firstSequence: encoder.sequence, &state)
      }
      guard !extent.bufferRange.isEmpty else { continue }
      guard let segment = state.segments.segments[extent.segment] else {
        preconditionFailure("an extent belongs to the last segment or to one that was just born")
      }
      let bytes = encoder.bytes(of: extent)
      try segment.file.write(bytes, at: UInt64(extent.offset))
      state.statistics.logBytes += UInt64(bytes.count)
      state.tailBytes += UInt64(bytes.count)
      state.end = LogPosition(segment: extent.segment, offset: UInt64(extent.offset + bytes.count))
      gate.didAppend(upTo: state.end, in: segment.file)
    }
  }

  /// Begins a new segment though the last one is not full, so that compaction may have that one.
  func rollLog(_ state: inout CommitterState) throws {
    do {
      let number = state.nextSegment
      guard number <= FormatLimits.segmentNumberMax else { return }
      let firstSequence = state.root.pointee.sequence + 1
      try beginSegment(number, capacity: state.birthCapacity, firstSequence: firstSequence, &state)
      if let segment = state.segments.segments[number] {
        gate.didAppend(upTo: state.end, in: segment.file)
      }
      // A checkpoint from now on has its place in the new segment.
      state.tailBytes += UInt64(SegmentHeader.length)
      showRoot(state.makeWorkingRoot(for: state.catalog), &state)
    } catch let error as FileIOError {
      gate.poison(
        StoreError(.poisoned, "A segment was not born. Close the store and open it again", cause: error))
      throw StoreError.io(error, "Beginning a segment")
    }
  }

  /// Publishes a root that differs from the one before in what it knows of the files.
  func showRoot(_ next: UnsafeMutablePointer<Root>, _ state: inout CommitterState) {
    next.pointee.end = state.end
    state.replaceRoot(next)
    publish(next)
  }

  /// The birth of a segment, in the order that FORMAT.md prescribes: all before it is durable
  /// when its header is, so a frame's promises never reach into another segment.
  ///
  /// The sync of the old segment goes through the gate. Of two syncs of one file that are under way
  /// at once, some systems tell only one that writing failed.
  private func beginSegment(
    _ number: UInt64, capacity: Int, firstSequence: UInt64, _ state: inout CommitterState
  ) throws {
    if let last = state.segments.segments[state.end.segment] {
      try gate.waitUntilSynced(state.end)
      state.segments.setEnd(Int(state.end.offset), of: last.number)
    }
    let header = SegmentHeader(
      store: storeID, number: number, capacity: UInt64(capacity), firstSequence: firstSequence,
      predecessorEnd: state.end)
    let segment = try Self.createSegment(header, in: directory, fileSystem)
    state.add(segment)
    state.end = LogPosition(segment: number, offset: UInt64(SegmentHeader.length))
    state.segmentCapacity = capacity
    state.nextSegment = number + 1
  }

  private static func createSegment(
    _ header: SegmentHeader, in directory: String, _ fileSystem: any FileSystem
  ) throws(FileIOError) -> Segment {
    let file = try fileSystem.open(directory + "/" + StoreFileName.segment(header.number).string, .create)
    var bytes = [UInt8](repeating: 0, count: SegmentHeader.length)
    bytes.withUnsafeMutableBytes { header.write(to: $0) }
    try file.write(bytes, at: 0)
    try file.sync(.full)
    try fileSystem.syncDirectory(directory)
    return try Segment(header: header, file: file)
  }
}
