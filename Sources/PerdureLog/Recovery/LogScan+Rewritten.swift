import PerdureFileIO
import PerdureFormat

// Reads segments that compaction has rewritten: FORMAT.md, section 13.
//
// All commits with a frame in such a segment were complete and durable before it was rewritten. So
// a frame can be used before the end of its commit is read. No frame in the segment can be a torn
// tail, so any error is damage.

extension LogScan {
  /// Verifies the frames of a segment whose end is known, and visits them in order. Mark frames are
  /// verified, but not visited. For a rewritten segment a part also has the segment's map. The
  /// bytes of a part are valid until `visit` returns.
  ///
  /// - Parameter end: The original end of the segment's frames.
  /// - Throws: `StoreError` with code `.corruption`, and the errors of `visit`.
  static func visitFrames(
    of segment: Segment, upTo end: Int, _ store: StoreID, _ visit: (Part) throws -> Void
  ) throws {
    let offsets = try offsets(of: segment)
    var offset = SegmentHeader.length
    do {
      var body = segment.body(upTo: end)
      var sequence = segment.header.firstSequence
      while offset < body.end {
        let part = try readFrame(in: &body, at: offset, of: segment, offsets, store)
        if part.header.kind != .mark {
          guard part.header.sequence >= sequence else {
            throw FormatError(.misplaced, in: "frame header", at: 16)
          }
          sequence = part.header.sequence
          try visit(part)
        } else if offsets != nil {
          throw FormatError(.misplaced, in: "mark frame", at: 8)
        }
        offset += FrameHeader.length + part.payload.count
      }
    } catch let error as FormatError {
      throw StoreError.corruption(
        error, segment: segment.number, offset: segment.fileOffset(of: offset + error.offset))
    }
  }

  /// Reads and verifies one frame of a segment whose end is known.
  static func visitFrame(of segment: Segment, at offset: Int, upTo end: Int, _ store: StoreID) throws {
    let offsets = try offsets(of: segment)
    do {
      var body = segment.body(upTo: end)
      _ = try readFrame(in: &body, at: offset, of: segment, offsets, store)
    } catch let error as FormatError {
      throw StoreError.corruption(
        error, segment: segment.number, offset: segment.fileOffset(of: offset + error.offset))
    }
  }

  /// The map of a rewritten segment, verified. Errors of the map already have their offset in the
  /// file.
  private static func offsets(of segment: Segment) throws(StoreError) -> OffsetMap? {
    do { return try segment.map?.pointee.verified(segment.mapping.base) } catch {
      throw .corruption(error, segment: segment.number, offset: error.offset)
    }
  }

  private static func readFrame(
    in body: inout SegmentBody, at offset: Int, of segment: Segment, _ offsets: OffsetMap?,
    _ store: StoreID
  ) throws -> Part {
    let position = LogPosition(segment: segment.number, offset: UInt64(offset))
    let start = offset + FrameHeader.length
    guard start <= body.end else {
      throw FormatError(.incomplete, in: "frame header", at: body.end - offset)
    }
    let header = try FrameHeader(reading: body.bytes(offset..<start), store: store, position: position)
    let end = start + Int(header.payloadLength)
    guard end <= body.end else { throw FormatError(.incomplete, in: "frame", at: body.end - offset) }
    let payload = try body.bytes(start..<end)
    try FramePayload.verify(header, payload, RecordPlaces(in: segment.header, from: start, offsets))
    return Part(
      header: header, payload: payload,
      position: LogPosition(segment: segment.number, offset: UInt64(start)), map: offsets)
  }
}
