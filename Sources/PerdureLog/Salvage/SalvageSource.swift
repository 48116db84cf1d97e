import PerdureFileIO
import PerdureFormat

// The readable parts of a damaged store. They are determined from the superblock's slots and the
// segments' headers, and from frames only where these are missing or do not match.
//
// The sequence of segments is found as in recovery (FORMAT.md, R4 and R5). Where recovery stops,
// salvage continues: from a segment with a damaged header, or a missing one, to the next lower
// existing one.

/// A damaged store: its identity as far as it is known, and the segments to read, in order.
struct SalvageSource {
  struct SourceSegment {
    var number: UInt64
    /// The file's name; not that of `number`, when the file was renamed.
    var name: String
    var size: Int
    var header: SegmentHeader?
    /// The end of the log in this segment, if a later header has it.
    var end: Int?
    /// The synced end according to the superblock.
    var durableEnd = 0
    /// Of a rewritten segment whose footer is right.
    var footer: RewrittenFooter?
    /// Whether the newest checkpoint notes a later generation of it. Then some records here may be
    /// dead, and the tombstones that prove it may be missing.
    var isOutdated = false
    /// Whether compaction has rewritten it: then every commit that has a frame in it was complete
    /// (FORMAT.md, T6).
    var isRewritten: Bool { footer != nil || header.map { $0.generation > 0 } ?? false }
    /// For a segment without a known end: the first commit of the next segment, which this one
    /// cannot contain too.
    var next: (sequence: UInt64, part: UInt32)?
  }

  let directory: any Directory
  /// If only frames are left, an identity that is equivalent for their checksums.
  private(set) var store: StoreID?
  /// From the newest whole slot; nil if there is none.
  private(set) var superblock: Superblock?
  /// Whether `superblock` is certainly the last one written. If a slot is damaged or empty, a later
  /// one may have been lost in it.
  private(set) var isSuperblockLast = false
  private(set) var segments: [SourceSegment] = []
  /// The highest number of an unreadable segment that belongs, or may belong, to the log; 0 if
  /// there is none.
  private var lastMissing: UInt64 = 0
  /// The end of the last unreadable segment.
  var missingEnd: LogPosition {
    lastMissing == 0 ? .start : LogPosition(segment: lastMissing, offset: .max)
  }

  init(_ path: String, _ fileSystem: any FileSystem, _ report: inout SalvageReport) throws {
    directory = try fileSystem.openDirectory(path)
    let files = try StoreFiles(in: directory)
    guard files.hasSuperblock || !files.segments.isEmpty else { throw StoreError.noStore(at: path) }
    try readSuperblock(files.hasSuperblock, &report)
    let headers = try readHeaders(files.segments, &report)
    store = try mostEvidentStore(headers, files.blobs)
    dropForeignSuperblock(&report)
    segments = try choose(try withoutUnborn(headers), &report)
    for place in segments.indices { segments[place].footer = try footer(of: segments[place]) }
    walkBack(&report)
    try findOutdated(&report)
    try findNextCommits()
  }

  /// Notes that a segment cannot be read at all.
  mutating func noteMissing(_ number: UInt64) {
    // A closed log has no segment behind its end.
    if let superblock, superblock.isClosed, number > superblock.durableEnd.segment { return }
    lastMissing = max(lastMissing, number)
  }

  /// Drops and reports a superblock of another store.
  private mutating func dropForeignSuperblock(_ report: inout SalvageReport) {
    guard let superblock, let store, superblock.store != store else { return }
    report.add(.foreign, in: StoreFileName.superblock.string, 0, Superblock.fileLength)
    (self.superblock, isSuperblockLast) = (nil, false)
  }

  private mutating func readSuperblock(_ isThere: Bool, _ report: inout SalvageReport) throws {
    let name = StoreFileName.superblock.string
    var bytes: [UInt8] = []
    if isThere { bytes = try bytesIfReadable(name, 0, Superblock.fileLength) ?? [] }
    do {
      superblock = try bytes.withUnsafeBytes { try Superblock.newest(in: $0) }
      let slots = bytes.withUnsafeBytes { Superblock.all(in: $0) }
      isSuperblockLast = slots.count == Superblock.slotCount
    } catch let error as FormatError {
      if error.reason == .unsupported {
        throw StoreError(
          .unsupportedFormat, "The store needs a newer version of Perdure: \(error)", at: name)
      }
      report.add(.superblock, in: name, 0, bytes.count)
    }
  }

  /// The footer, if it is the segment's own: bytes of a value may be one, too.
  private func footer(of segment: SourceSegment) throws -> RewrittenFooter? {
    guard let store, segment.size >= SegmentHeader.length + RewrittenFooter.length else { return nil }
    let start = UInt64(segment.size - RewrittenFooter.length)
    guard let bytes = try bytesIfReadable(segment.name, start, RewrittenFooter.length) else { return nil }
    let footer = try? bytes.withUnsafeBytes {
      try RewrittenFooter(
        reading: $0, store: store, number: segment.number, fileLength: segment.size)
    }
    guard let footer, footer.fileLength == segment.size else { return nil }
    if let header = segment.header {
      let fits = footer.generation == header.generation && (footer.groupCount > 0) == header.isGrouped
      return fits ? footer : nil
    }
    return try framesFit(footer, segment) ? footer : nil
  }

  /// Whether the frames of a segment are where the footer says: in groups, or up to their end.
  private func framesFit(_ footer: RewrittenFooter, _ segment: SourceSegment) throws -> Bool {
    let content = try SegmentContent(segment, self)
    if content.isGrouped || footer.groupCount > 0 { return content.isGrouped && footer.groupCount > 0 }
    var search = SegmentSearch(content.bytes, segment.number, store, end: nil, durableEnd: 0)
    while let piece = search.next() {
      if case .frame(_, _, let payload) = piece, payload.upperBound > Int(footer.dataEnd) { return false }
    }
    return true
  }

  /// Keeps the segments of the log, and notes the missing ones.
  private mutating func walkBack(_ report: inout SalvageReport) {
    // Each file is reported once.
    let named = Set(report.damages.map(\.file))
    var byNumber = Dictionary(uniqueKeysWithValues: segments.map { ($0.number, $0) })
    var way: [SourceSegment] = []
    let durable = superblock?.durableEnd ?? .start
    if durable.segment > segments.last?.number ?? 0 { missing(durable.segment, named, &report) }
    var next = segments.last?.number
    var end: Int?
    while let number = next {
      guard var segment = byNumber.removeValue(forKey: number) else { break }
      segment.end = end
      if durable.segment == number { segment.durableEnd = Int(clamping: durable.offset) }
      way.append(segment)
      (next, end) = (nil, nil)
      if let predecessor = segment.header?.predecessorEnd {
        if predecessor.segment == 0 { break }
        if byNumber[predecessor.segment] != nil {
          (next, end) = (predecessor.segment, Int(predecessor.offset))
          continue
        }
        missing(predecessor.segment, named, &report)
        next = byNumber.keys.filter { $0 < predecessor.segment }.max()
      } else {
        next = byNumber.keys.filter { $0 < number }.max()
      }
    }
    segments = way.reversed()
  }

  private mutating func missing(_ number: UInt64, _ named: Set<String>, _ report: inout SalvageReport) {
    noteMissing(number)
    let name = StoreFileName.segment(number).string
    if !named.contains(name) { report.add(.segmentMissing, in: name, 0, 0) }
  }

  /// Finds segments of an older generation than the newest checkpoint notes.
  private mutating func findOutdated(_ report: inout SalvageReport) throws {
    let counted = try generationsCounted()
    for place in segments.indices {
      guard let header = segments[place].header, let generation = counted[segments[place].number],
        header.generation < generation
      else { continue }
      segments[place].isOutdated = true
      report.add(.outdated, in: segments[place].name, 0, segments[place].size)
    }
  }

  /// If the end of a segment is unknown, the next one's first frame limits its commits.
  private mutating func findNextCommits() throws {
    for place in segments.indices.dropLast()
    where segments[place].end == nil && !segments[place].isRewritten && !segments[place + 1].isRewritten {
      let next = segments[place + 1]
      let content = try SegmentContent(next, self)
      var search = SegmentSearch(
        content.bytes, next.number, store, end: next.end, durableEnd: next.durableEnd)
      while let piece = search.next() {
        guard case .frame(let header, _, _) = piece, header.kind != .mark else { continue }
        segments[place].next = (header.sequence, header.part)
        break
      }
    }
  }

  /// The bytes to read, in all.
  var byteCount: UInt64 { segments.reduce(0) { $0 + UInt64($1.size) } }
}
