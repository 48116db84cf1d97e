import PerdureFileIO
import PerdureFormat

/// Reads the log from its beginning or from a checkpoint, and passes each complete commit to a
/// closure, in order: FORMAT.md, "Recovery", step 6. It changes nothing. Its input is mapped
/// memory.
struct LogScan {
  /// A frame and its payload.
  struct Part {
    var header: FrameHeader
    var payload: UnsafeRawBufferPointer
    /// The position of the payload. For a segment in groups, the offset is in the unpacked groups.
    var position: LogPosition
    /// For a rewritten segment: the map between original and current offsets.
    var map: OffsetMap?

    /// The offset in the address word of the record at `offset` in the payload: in a rewritten
    /// segment, its original offset. Nil if the map and the frames of a rewritten segment do not
    /// agree.
    func recordOffset(at offset: Int) -> Int? {
      let place = Int(position.offset) + offset
      guard let map else { return place }
      return map.originalOffset(of: place)
    }
  }

  let superblock: Superblock
  /// The end of the last complete commit or mark frame. If a later segment begins between two
  /// commits, the start of its frames. Not updated in rewritten segments, which are never the last.
  private(set) var end = LogPosition.start
  private(set) var sequence: UInt64 = 0
  /// The position up to which the log is synced, according to the frames read.
  private(set) var confirmed = LogPosition.start
  /// The end of the valid frames in the last segment, including the frames of an incomplete commit.
  private(set) var reached = LogPosition.start
  private var parts: [Part] = []
  /// The position at which reading began.
  private let start: LogPosition
  /// Whether the previous segment was rewritten, and no frame was read since. In this case the next
  /// frame may continue a commit whose earlier frames are unknown. That commit is complete
  /// (FORMAT.md, T6).
  private var followsRewritten = false

  init(_ superblock: Superblock) {
    self.superblock = superblock
    start = .start
  }

  /// Continues after a checkpoint: `position` is the end of the commit with this sequence number.
  init(_ superblock: Superblock, from position: LogPosition, sequence: UInt64) {
    self.superblock = superblock
    start = position
    end = position
    self.sequence = sequence
  }

  /// Reads one segment. `apply` gets the frames of each commit that is complete.
  mutating func read(
    _ link: SegmentChain.Link, isLast: Bool, progress: (UInt64) throws -> Void, apply: ([Part]) throws -> Void
  ) throws {
    if link.segment.map != nil { return try readRewritten(link, isLast: isLast, progress, apply) }
    if followsRewritten { sequence = link.segment.header.firstSequence - 1 }
    let number = link.segment.number
    let length = min(link.end ?? link.size, UInt64(link.segment.capacity))
    let bytes = UnsafeRawBufferPointer(start: link.segment.mapping.base, count: Int(length))
    var offset = number == start.segment ? Int(start.offset) : SegmentHeader.length
    if parts.isEmpty { end = LogPosition(segment: number, offset: UInt64(offset)) }
    defer { reached = LogPosition(segment: number, offset: UInt64(offset)) }
    while offset < min(bytes.count, Int(link.logEnd)) {
      do {
        offset = try readFrame(in: bytes, at: offset, of: link.segment, apply)
      } catch let error as FormatError {
        let place = LogPosition(segment: number, offset: UInt64(offset))
        guard isLast, error.reason != .unsupported,
          TailJudge.isTorn(at: place, in: tail(bytes, link), superblock)
        else { throw StoreError.corruption(error, segment: number, offset: offset + error.offset) }
        return
      }
      try progress(UInt64(offset))
    }
  }

  /// Reads a segment that compaction has rewritten. A commit that began before the segment and
  /// continues in it is complete.
  private mutating func readRewritten(
    _ link: SegmentChain.Link, isLast: Bool, _ progress: (UInt64) throws -> Void,
    _ apply: ([Part]) throws -> Void
  ) throws {
    let segment = link.segment
    guard let footer = segment.footer, !isLast else {
      throw StoreError.corruption(
        FormatError(.misplaced, in: "rewritten segment", at: 40), segment: segment.number, offset: 40)
    }
    if !parts.isEmpty { try apply(parts) }
    parts.removeAll()
    try Self.visitFrames(of: segment, upTo: Int(footer.originalEnd), superblock.store) { part in
      try apply([part])
      try progress(part.position.offset)
    }
    followsRewritten = true
  }

  /// All bytes that may belong to a frame. `logEnd` is after the last nonzero byte, but a header
  /// may end with zeros. So the last header may end after `logEnd`.
  private func tail(_ bytes: UnsafeRawBufferPointer, _ link: SegmentChain.Link) -> UnsafeRawBufferPointer {
    let end = min(link.size, link.logEnd + UInt64(FrameHeader.length), UInt64(link.segment.capacity))
    return UnsafeRawBufferPointer(start: bytes.baseAddress, count: Int(end))
  }

  /// Reads the frame at `offset`, and returns the offset after it.
  private mutating func readFrame(
    in bytes: UnsafeRawBufferPointer, at offset: Int, of segment: Segment, _ apply: ([Part]) throws -> Void
  ) throws -> Int {
    let position = LogPosition(segment: segment.number, offset: UInt64(offset))
    let header = try FrameHeader(
      reading: bytes.part(offset..<bytes.count), store: superblock.store, position: position)
    let payloadStart = offset + FrameHeader.length
    let next = payloadStart + Int(header.payloadLength)
    guard next <= bytes.count else { throw FormatError(.incomplete, in: "frame", at: bytes.count - offset) }
    let payload = bytes.part(payloadStart..<next)
    try FramePayload.verify(header, payload, RecordPlaces(in: segment.header, from: payloadStart, nil))
    let payloadPosition = LogPosition(segment: segment.number, offset: UInt64(payloadStart))
    try accept(Part(header: header, payload: payload, position: payloadPosition), endingAt: next, apply)
    return next
  }

  private mutating func accept(_ part: Part, endingAt next: Int, _ apply: ([Part]) throws -> Void) throws {
    let frameEnd = LogPosition(segment: part.position.segment, offset: UInt64(next))
    confirmed = max(confirmed, LogPosition(segment: frameEnd.segment, offset: part.header.syncedOffset))
    if part.header.kind == .mark {
      guard parts.isEmpty, part.header.sequence == sequence else {
        throw FormatError(.misplaced, in: "mark frame", at: 16)
      }
      end = frameEnd
      followsRewritten = false
      return
    }
    try checkChain(part.header)
    followsRewritten = false
    parts.append(part)
    guard part.header.kind == .commitEnd else { return }
    try apply(parts)
    parts.removeAll(keepingCapacity: true)
    sequence = part.header.sequence
    end = frameEnd
  }

  /// Checks that the frame directly continues the previous frame.
  private func checkChain(_ header: FrameHeader) throws(FormatError) {
    guard header.sequence == sequence + 1 else { throw FormatError(.misplaced, in: "frame header", at: 16) }
    if followsRewritten && header.part > 0 { return }
    guard header.part == (parts.last?.header.part).map({ $0 + 1 }) ?? 0 else {
      throw FormatError(.misplaced, in: "frame header", at: 12)
    }
    let before = parts.last?.header.chainDigest ?? 0
    guard header.chainDigest == Checksum.crc32c(word: header.recordDigest, continuing: before) else {
      throw FormatError(.wrongChecksum, in: "frame header", at: 36)
    }
  }

  /// The error if the durable end is after the last byte read; nil otherwise. Its location is the
  /// offset of the missing frame. If the durable end is in a later segment, the location is only
  /// that segment.
  var endsTooEarly: StoreError? {
    let promised = superblock.durableEnd
    guard promised > reached else { return nil }
    let message = "The log ends before its durable end; \(StoreError.beyondRepair)"
    let name = StoreFileName.segment(promised.segment).string
    return StoreError(
      .corruption, message, at: promised.segment > reached.segment ? name : "\(name), byte \(reached.offset)")
  }

  /// Handles a log that ends within a commit: ignores the frames of that commit. Throws
  /// `StoreError` with code `.corruption` if the superblock says that some of them are durable, or
  /// if the first one is missing.
  mutating func finish() throws {
    guard let first = parts.first else { return }
    let start = LogPosition(
      segment: first.position.segment, offset: first.position.offset - UInt64(FrameHeader.length))
    guard superblock.durableEnd <= start, first.header.part == 0 else {
      if let error = endsTooEarly { throw error }
      throw StoreError.corruption(
        FormatError(.incomplete, in: "commit", at: 0), segment: start.segment, offset: Int(start.offset))
    }
    end = start
    parts.removeAll()
  }
}
