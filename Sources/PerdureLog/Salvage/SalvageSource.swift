import PerdureFileIO
import PerdureFormat

// The readable parts of a damaged store. They are determined from the superblock's slots and the
// segments' headers. Frames are used only if slots or headers are missing or do not match.
//
// The order of segments is found as in recovery (FORMAT.md, R4 and R5). Where recovery stops,
// salvage continues: from a segment with a damaged header, or a missing segment, to the existing
// segment with the next lower number.

/// A damaged store: its identity as far as it is known, and the segments to read, in order.
struct SalvageSource {
  struct SourceSegment {
    var number: UInt64
    /// The file's name. If the file was renamed, it does not match `number`.
    var name: String
    var size: Int
    var header: SegmentHeader?
    /// The number of bytes that can belong to the segment. The file can be far too long, and bytes
    /// after the capacity do not count (FORMAT.md, R8).
    var contentLength: Int {
      var limit = FormatLimits.segmentCapacityMax
      // The map of a rewritten segment can end after its capacity.
      if let header, header.generation == 0 { limit = Int(header.capacity) }
      return min(size, limit)
    }
    /// The end of the log in this segment, if a later header records it.
    var end: Int?
    /// The synced end of the log in this segment, according to the superblock.
    var durableEnd = 0
    /// The footer of a rewritten segment, if it is valid.
    var footer: RewrittenFooter?
    /// Whether the newest checkpoint notes a later generation of this segment. If true, some
    /// records here may be dead, and the tombstones that prove it may be missing.
    var isOutdated = false
    /// Whether compaction has rewritten this segment. If true, every commit with a frame in it was
    /// complete (FORMAT.md, T6).
    var isRewritten: Bool { footer != nil || header.map { $0.generation > 0 } ?? false }
    /// For a segment whose end is unknown: the commit and the part number of the next segment's
    /// first frame. If the part number is 0, that commit was not finished in this segment.
    var next: (sequence: UInt64, part: UInt32)?
  }

  let directory: any Directory
  /// The identity of the store. If only frames are left, it is an id with which their checksums are
  /// valid. It may differ from the original id.
  private(set) var store: StoreID?
  /// The superblock in the newest intact slot; nil if there is none.
  private(set) var superblock: Superblock?
  /// Whether `superblock` is certainly the last one written. If a slot is damaged or empty, a newer
  /// superblock may have been lost in it.
  private(set) var isSuperblockLast = false
  private(set) var segments: [SourceSegment] = []
  /// The highest number of an unreadable segment that is, or may be, part of the log; 0 if there is
  /// none.
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

  /// Records that a segment cannot be read at all.
  mutating func noteMissing(_ number: UInt64) {
    // A closed log has no segment after its end.
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
      if error.reason == .unsupported { throw StoreError.unsupported(error, at: name) }
      report.add(.superblock, in: name, 0, bytes.count)
    }
  }

  /// The footer of a segment, after checking that it belongs to the segment: bytes of a value may
  /// look like a footer.
  func footer(of segment: SourceSegment) throws -> RewrittenFooter? {
    if segment.header?.generation == 0 { return nil }
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

  /// Whether the frames of a segment are at the position that the footer gives: in groups, or up to
  /// the end of its data.
  private func framesFit(_ footer: RewrittenFooter, _ segment: SourceSegment) throws -> Bool {
    let content = try SegmentContent(segment, self)
    if content.isGrouped || footer.groupCount > 0 { return content.isGrouped && footer.groupCount > 0 }
    var search = SegmentSearch(content.bytes, segment.number, store, end: nil, durableEnd: 0)
    while let piece = search.next() {
      if case .frame(_, _, let payload) = piece, payload.upperBound > Int(footer.dataEnd) { return false }
    }
    return true
  }

  /// Keeps the segments of the log, and records the missing ones.
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

  /// Finds segments whose generation is older than the one in the newest checkpoint.
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

  /// Finds the first frame of the next segment for each segment whose end is unknown. That frame
  /// limits the commits of the segment before it.
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

  /// The total number of bytes to read.
  var byteCount: UInt64 { segments.reduce(0) { $0 + UInt64($1.contentLength) } }
}
