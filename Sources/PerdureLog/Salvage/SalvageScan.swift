import PerdureFormat

/// Reads the segments of a damaged store, and visits every intact record together with its
/// evidence.
struct SalvageScan {
  /// Where a record was found.
  enum Setting {
    /// In a frame with a valid header.
    case frame
    /// In bytes where frames are expected. The record is doubtful if its sector was moved from
    /// another position.
    case gap(isDoubtful: Bool)
  }

  /// An event of the scan, in the order of the log.
  enum Event {
    /// A frame. It precedes the records of the frame.
    case frame(FrameHeader, isWhole: Bool)
    /// The end of a frame. It follows the frame's records.
    case frameEnd(FrameHeader, isWhole: Bool)
    /// A gap. It precedes the records of the gap.
    case gap(Range<Int>)
    case record(Record, word: UInt64, Setting, isAnchored: Bool)
    /// Damage, and its range in the segment.
    case damage(SalvageReport.Damage.Reason, Range<Int>)
  }

  let source: SalvageSource
  /// The highest sequence number of a frame with a valid header, in all segments so far.
  private var sequence: UInt64 = 0

  private let headerPlaces: HeaderPlaces
  /// The original end of the last record found in the segment (`RecordSearch`).
  private var originalEnd = RecordSeals.firstOriginal

  init(_ source: SalvageSource) {
    self.source = source
    headerPlaces = HeaderPlaces(source.segments, source.store)
  }

  /// Visits the content of one segment.
  ///
  /// - Parameter progress: Called after each frame with the position in the segment.
  mutating func visit(
    _ segment: SalvageSource.SourceSegment, _ content: SegmentContent, progress: (Int) throws -> Void,
    _ body: (Event) throws -> Void
  ) throws {
    originalEnd = RecordSeals.firstOriginal
    if segment.header == nil {
      try body(.damage(.segmentHeader, 0..<min(SegmentHeader.length, segment.size)))
    }
    for range in content.unreadable { try body(.damage(.unreadable, range)) }
    if segment.isRewritten && segment.footer == nil {
      try body(.damage(.segmentEnd, segment.size..<segment.size))
    }
    // The bytes after the frames of a rewritten segment are not part of the log. The original end
    // of its frames is not needed.
    var end = segment.isRewritten ? segment.footer.map { Int($0.dataEnd) } : segment.end
    if content.isGrouped, end == nil { end = content.bytes.count }
    let expected = segment.isRewritten ? 0 : max(segment.end ?? 0, segment.durableEnd)
    var search = SegmentSearch(
      content.bytes, segment.number, source.store, end: end,
      durableEnd: segment.isRewritten ? 0 : segment.durableEnd)
    var gap: Range<Int>?
    while let piece = search.next() {
      switch piece {
      case .gap(let range): gap = range
      case .frame(let header, let offset, let payload):
        if Self.isStale(header, segment) { return }
        if let gap { try visitGap(gap, before: header.sequence, segment, content, search, body) }
        gap = nil
        try visitFrame(header, at: offset, payload, segment, content, body)
        sequence = max(sequence, header.sequence)
        try progress(payload.upperBound)
      }
    }
    if let gap { try visitGap(gap, before: nil, segment, content, search, body) }
    // The damaged table no longer lists the groups at the end.
    if content.isGrouped, let end, end > content.bytes.count {
      try body(.damage(.frames, content.bytes.count..<end))
    }
    if segment.size < expected { try body(.damage(.truncated, segment.size..<expected)) }
  }

  /// Whether the next segment begins the frame's commit again, or begins with an earlier commit. If
  /// so, the frame's commit was not finished in this segment.
  private static func isStale(_ header: FrameHeader, _ segment: SalvageSource.SourceSegment) -> Bool {
    guard let next = segment.next, header.kind != .mark else { return false }
    return next.part == 0 ? header.sequence >= next.sequence : header.sequence > next.sequence
  }

  private mutating func visitFrame(
    _ header: FrameHeader, at offset: Int, _ range: Range<Int>, _ segment: SalvageSource.SourceSegment,
    _ content: SegmentContent, _ body: (Event) throws -> Void
  ) throws {
    let payload = content.bytes.part(range.lowerBound, range.count)
    let end = header.kind == .mark ? nil : content.seals.end(of: header, payload, at: range.lowerBound)
    let isWhole = header.kind == .mark || end != nil
    if let end { originalEnd = max(originalEnd, end) }
    try body(.frame(header, isWhole: isWhole))
    if isWhole {
      var records = SealedRecords(in: payload)
      while let (record, place, _) = try records.next() {
        try body(event(record, in: segment, at: range.lowerBound + place, .frame, isAnchored: true))
      }
    } else {
      let isCut = range.count < Int(header.payloadLength)
      let records = RecordSearch(
        inFrame: payload, at: range.lowerBound, count: Int(header.recordCount), endIsKnown: !isCut,
        content.seals, after: originalEnd)
      originalEnd = records.originalEnd
      try visit(records, payload, at: range.lowerBound, segment, { _ in .frame }, .records, body)
      // Every record is intact, but the records do not match the header.
      if records.damages.isEmpty { try body(.damage(.records, range)) }
    }
    try body(.frameEnd(header, isWhole: isWhole))
  }

  private mutating func visitGap(
    _ gap: Range<Int>, before next: UInt64?, _ segment: SalvageSource.SourceSegment,
    _ content: SegmentContent, _ search: SegmentSearch, _ body: (Event) throws -> Void
  ) throws {
    try body(.gap(gap))
    // The last record may end with zeros that the gap does not include.
    let end = next == nil ? search.bytes.count : gap.upperBound
    let bytes = search.bytes.part(gap.lowerBound, end - gap.lowerBound)
    var records = RecordSearch(
      inGap: bytes, at: gap.lowerBound, from: FrameHeader.length, endIsKnown: next != nil, content.seals,
      after: originalEnd)
    originalEnd = records.originalEnd
    records.dropDamages(from: gap.count)
    let moved = movedSectors(search.headerLikes(in: gap), upTo: next ?? .max, search.bytes)
    try visit(
      records, bytes, at: gap.lowerBound, segment,
      { place in .gap(isDoubtful: moved.contains(place / Self.sectorLength)) }, .frames, body)
  }

  /// The sectors of a gap that were moved from another position. Each contains a header that is
  /// valid for another position, and the header's sequence number does not fit here.
  private func movedSectors(
    _ headers: [(offset: Int, sequence: UInt64)], upTo next: UInt64, _ bytes: UnsafeRawBufferPointer
  ) -> Set<Int> {
    var moved: Set<Int> = []
    for header in headers where header.sequence < sequence || header.sequence > next {
      let sector = header.offset / Self.sectorLength
      if moved.contains(sector) { continue }
      let rest = bytes.part(header.offset, bytes.count - header.offset)
      if headerPlaces.hasPlace(for: rest, at: header.offset) { moved.insert(sector) }
    }
    return moved
  }

  /// The length that media write as a whole. Larger sectors are multiples of it.
  static let sectorLength = 512

  private func visit(
    _ search: RecordSearch, _ bytes: UnsafeRawBufferPointer, at start: Int,
    _ segment: SalvageSource.SourceSegment, _ setting: (Int) -> Setting,
    _ reason: SalvageReport.Damage.Reason, _ body: (Event) throws -> Void
  ) throws {
    for found in search.found {
      let record = try Record(reading: bytes.part(found.offset, found.length), .none)
      let offset = start + found.offset
      try body(event(record, in: segment, at: offset, setting(offset), isAnchored: found.isAnchored))
    }
    for damage in search.damages {
      try body(.damage(reason, (start + damage.lowerBound)..<(start + damage.upperBound)))
    }
  }

  private func event(
    _ record: Record, in segment: SalvageSource.SourceSegment, at offset: Int, _ setting: Setting,
    isAnchored: Bool
  ) -> Event {
    let word = RecordAddress(
      segment: segment.number, offset: offset, recordLength: record.header.paddedLength,
      isBlob: record.header.kind == .blob
    ).rawValue
    return .record(record, word: word, setting, isAnchored: isAnchored)
  }
}
