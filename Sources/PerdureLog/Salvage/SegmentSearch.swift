import PerdureFormat

/// Divides the content of a segment into pieces: frames with a valid header, and gaps between them.
///
/// A header's checksum binds the header to its store and position, so bytes of values cannot be
/// taken for a header.
struct SegmentSearch {
  enum Piece {
    /// A frame, and the part of its payload that is in the file.
    case frame(FrameHeader, at: Int, payload: Range<Int>)
    /// Bytes where frames are expected.
    case gap(Range<Int>)
  }

  let bytes: UnsafeRawBufferPointer
  let number: UInt64
  /// The store's id. Without it, frames cannot be distinguished from other bytes.
  let store: StoreID?
  /// The end of the log in this segment, as far as it is known. Data is expected up to here.
  let knownEnd: Int
  private var offset = SegmentHeader.length

  /// - Parameter end: The known end of the log in this segment; nil if it is unknown, as in the
  ///   last segment.
  /// - Parameter durableEnd: The end up to which the segment was once synced.
  init(_ bytes: UnsafeRawBufferPointer, _ number: UInt64, _ store: StoreID?, end: Int?, durableEnd: Int) {
    let length = min(bytes.count, end ?? .max)
    self.bytes = bytes.part(0, length)
    self.number = number
    self.store = store
    knownEnd = min(length, end ?? durableEnd)
  }

  /// The next piece; nil at the end. Zero bytes after both the last frame and `knownEnd` are not a
  /// piece.
  mutating func next() -> Piece? {
    guard offset < bytes.count else { return nil }
    if let header = header(at: offset) {
      let start = offset
      let payload = start + FrameHeader.length
      offset = min(payload + Int(header.payloadLength), bytes.count)
      return .frame(header, at: start, payload: payload..<offset)
    }
    let start = offset
    offset = nextHeader(after: start)
    guard offset == bytes.count else { return .gap(start..<offset) }
    let end = max(knownEnd, lastNonZero(from: start) + 1)
    return end > start ? .gap(start..<min(end.roundedUpToAlignment, bytes.count)) : nil
  }

  private func lastNonZero(from start: Int) -> Int {
    var place = bytes.count - 1
    while place >= start, bytes[place] == 0 { place -= 1 }
    return place
  }

  private func nextHeader(after start: Int) -> Int {
    var place = start + FormatLimits.alignment
    while place + FrameHeader.length <= bytes.count {
      if header(at: place) != nil { return place }
      place += FormatLimits.alignment
    }
    return bytes.count
  }

  private func header(at place: Int) -> FrameHeader? {
    guard let store, place + FrameHeader.length <= bytes.count, FrameHeader.mayStart(bytes, at: place) else {
      return nil
    }
    let rest = bytes.part(place, bytes.count - place)
    let position = LogPosition(segment: number, offset: UInt64(place))
    return try? FrameHeader(reading: rest, store: store, position: position)
  }

  /// The positions in a gap of bytes that look like a header, each with its sequence number. Such
  /// bytes may be a damaged header, a header moved from another position, or a part of a value.
  func headerLikes(in gap: Range<Int>) -> [(offset: Int, sequence: UInt64)] {
    stride(from: gap.lowerBound, to: gap.upperBound - FrameHeader.length + 1, by: FormatLimits.alignment)
      .compactMap { place in
        guard FrameHeader.mayStart(bytes, at: place),
          let header = try? FrameHeader(
            readingUnproven: bytes.part(place, bytes.count - place),
            position: LogPosition(segment: number, offset: UInt64(place)))
        else { return nil }
        return (place, header.sequence)
      }
  }
}
