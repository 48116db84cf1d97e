import PerdureFormat

// Counts the structures in a file that are bound to a segment's number.
//
// Media write sectors as a whole, so the first sector may have been moved here from another file.
// Only structures that depend on later sectors count. They are not valid for any other segment.

/// The structures after the first sector of a file that are valid for one segment. Comparisons use
/// the strongest kind first: frames and footers are bound to their store too, records are not. The
/// bytes of a value may look like a footer or a record.
struct SegmentEvidence: Comparable {
  /// The number of valid frame headers.
  var frames = 0
  /// Whether the file ends with the footer of the rewritten segment.
  var hasFooter = false
  /// The number of records. They are counted only if there is neither a frame nor a footer.
  var records = 0

  static let none = SegmentEvidence()

  static func < (a: Self, b: Self) -> Bool {
    (a.frames, a.hasFooter ? 1 : 0, a.records) < (b.frames, b.hasFooter ? 1 : 0, b.records)
  }
}

extension SalvageSource {
  /// The evidence that a file is the segment `number`, regardless of its name and header.
  ///
  /// - Parameter countsRecords: False if the file may belong to another store.
  /// - Complexity: O(n) for n bytes of the file. Needs memory for its content.
  func evidence(
    that file: SourceSegment, is number: UInt64, countsRecords: Bool
  ) throws -> SegmentEvidence {
    guard let store else { return .none }
    var segment = file.withoutHeader.renamed(number)
    segment.footer = try footer(of: segment)
    let content = try SegmentContent(segment, self)
    var evidence = SegmentEvidence()
    evidence.frames = Self.frameCount(in: content, number, store)
    let isFooterInFirstSector = file.size - RewrittenFooter.length < SalvageScan.sectorLength
    evidence.hasFooter = segment.footer != nil && !isFooterInFirstSector
    if evidence == .none && countsRecords { evidence.records = Self.recordCount(in: content) }
    return evidence
  }

  /// The number of valid frame headers. A header that depends on the file's first sector counts
  /// only with all its records, and only if these extend beyond the sector.
  private static func frameCount(in content: SegmentContent, _ number: UInt64, _ store: StoreID) -> Int {
    let bytes = content.bytes
    let places = stride(
      from: SegmentHeader.length, through: bytes.count - FrameHeader.length, by: FormatLimits.alignment)
    return places.count { place in
      guard FrameHeader.mayStart(bytes, at: place) else { return false }
      let rest = bytes.part(place, bytes.count - place)
      let position = LogPosition(segment: number, offset: UInt64(place))
      guard let header = try? FrameHeader(reading: rest, store: store, position: position) else {
        return false
      }
      if place >= content.firstSectorEnd { return true }
      let end = place + FrameHeader.length + Int(header.payloadLength)
      return end > content.firstSectorEnd && isWhole(header, rest)
    }
  }

  private static func recordCount(in content: SegmentContent) -> Int {
    let start = min(content.firstSectorEnd, content.bytes.count)
    let bytes = content.bytes.part(start, content.bytes.count - start)
    return RecordSearch(inGap: bytes, at: start, from: 0, endIsKnown: false, content.seals).found.count
  }
}

extension SalvageSource.SourceSegment {
  /// The same file, as if its header were damaged.
  var withoutHeader: Self {
    var segment = self
    segment.header = nil
    return segment
  }

  /// The same file, as segment `number`.
  func renamed(_ number: UInt64) -> Self {
    var segment = self
    segment.number = number
    return segment
  }
}
