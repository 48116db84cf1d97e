import PerdureFileIO
import PerdureFormat

// What there is to read of a damaged store, decided from the superblock's slots and the segments' headers,
// and from frames only where these are gone or do not fit.
//
// The log's way through the segments is found as recovery finds it (FORMAT.md, R4 and R5), but goes on where
// recovery gives up: from a segment whose header is damaged, or that is missing, to the next lower one that
// is there.

/// A damaged store: its identity as far as it is known, and the segments to read, in order.
struct SalvageSource {
  struct SourceSegment {
    var number: UInt64
    /// The file's name; not that of `number`, when the file was renamed.
    var name: String
    var size: Int
    var header: SegmentHeader?
    /// Where the log ends in this segment, if a later header says so.
    var end: Int?
    /// Up to where the superblock says that it was synced.
    var durableEnd = 0
    /// Of a rewritten segment whose footer is right.
    var footer: RewrittenFooter?
    /// Whether compaction has rewritten it: then every commit that has a frame in it was complete (FORMAT.md,
    /// T6).
    var isRewritten: Bool { footer != nil || header.map { $0.generation > 0 } ?? false }
    /// With an end that is not known: the first commit of the next segment, which this one cannot hold too.
    var next: (sequence: UInt64, part: UInt32)?
  }

  let directory: any Directory
  /// When only frames are left to say it, one that is as good for their checksums.
  private(set) var store: StoreID?
  /// From the newest whole slot; nil if there is none.
  private(set) var superblock: Superblock?
  /// Whether that is the last one there was. Where a slot is damaged nobody knows; nor in a young store, which has
  /// empty ones, as one that was lost looks like these.
  private(set) var isSuperblockLast = false
  private(set) var segments: [SourceSegment] = []

  init(_ path: String, _ fileSystem: any FileSystem, _ report: inout SalvageReport) throws {
    directory = try fileSystem.openDirectory(path)
    let files = try StoreFiles(in: directory)
    guard files.hasSuperblock || !files.segments.isEmpty else { throw StoreError.noStore(at: path) }
    try readSuperblock(files.hasSuperblock, &report)
    let headers = withoutUnborn(try readHeaders(files.segments))
    store = superblock?.store ?? Self.mostFrequent(headers.compactMap { $0.header?.store })
    if store == nil { store = blobStore(files.blobs) }
    if store == nil { store = try Self.storeOfFrames(headers, self) }
    segments = try choose(headers, &report)
    for place in segments.indices { segments[place].footer = try footer(of: segments[place]) }
    walkBack(&report)
    try findNextCommits()
  }

  private mutating func readSuperblock(_ isThere: Bool, _ report: inout SalvageReport) throws {
    let name = StoreFileName.superblock.string
    var bytes: [UInt8] = []
    if isThere { bytes = (try? read(name, 0, Superblock.fileLength)) ?? [] }
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

  private func readHeaders(_ numbers: [UInt64]) throws -> [SourceSegment] {
    try numbers.sorted().map { number in
      let name = StoreFileName.segment(number).string
      let file = try directory.open(name, .read)
      let size = Int(clamping: try file.size())
      // What cannot be read is a damaged header.
      let bytes = (try? file.read(SegmentHeader.length, at: 0)) ?? []
      let header = try? bytes.withUnsafeBytes { try SegmentHeader(reading: $0) }
      return SourceSegment(number: number, name: name, size: size, header: header)
    }
  }

  /// Without what is left of segments that were prepared: behind the last one with a header, files of zeros of
  /// which nothing was promised. Recovery takes them for the same (FORMAT.md, B6 and R4).
  private func withoutUnborn(_ files: [SourceSegment]) -> [SourceSegment] {
    let last = files.last { $0.header != nil }?.number ?? 0
    let promised = superblock?.durableEnd.segment ?? 0
    return files.filter { $0.number <= max(last, promised) || !isZero($0) }
  }

  private func isZero(_ segment: SourceSegment) -> Bool {
    for start in stride(from: 0, to: segment.size, by: 64 << 10) {
      let count = min(64 << 10, segment.size - start)
      guard let bytes = try? read(segment.name, UInt64(start), count), bytes.count == count,
        bytes.allSatisfy({ $0 == 0 })
      else { return false }
    }
    return true
  }

  private static func mostFrequent(_ stores: [StoreID]) -> StoreID? {
    Dictionary(grouping: stores) { $0 }.max { ($0.value.count, $0.key.high) < ($1.value.count, $1.key.high) }?
      .key
  }

  private func blobStore(_ numbers: [UInt64]) -> StoreID? {
    Self.mostFrequent(
      numbers.prefix(100).compactMap { number in
        guard let bytes = try? read(StoreFileName.blob(number).string, 0, BlobHeader.length) else {
          return nil
        }
        return try? bytes.withUnsafeBytes { try BlobHeader(reading: $0) }.store
      })
  }

  /// The footer, if it is the segment's own: bytes of a value may be one, too.
  private func footer(of segment: SourceSegment) throws -> RewrittenFooter? {
    guard let store, segment.size >= SegmentHeader.length + RewrittenFooter.length else { return nil }
    let start = UInt64(segment.size - RewrittenFooter.length)
    guard let bytes = try? read(segment.name, start, RewrittenFooter.length) else { return nil }
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

  /// Whether the frames of a segment stand where the footer says: in groups, or up to where they end.
  private func framesFit(_ footer: RewrittenFooter, _ segment: SourceSegment) throws -> Bool {
    let content = try SegmentContent(segment, self)
    if content.isGrouped || footer.groupCount > 0 { return content.isGrouped && footer.groupCount > 0 }
    var search = SegmentSearch(content.bytes, segment.number, store, end: nil, durableEnd: 0)
    while let piece = search.next() {
      if case .frame(_, _, let payload) = piece, payload.upperBound > Int(footer.dataEnd) { return false }
    }
    return true
  }

  /// Keeps the segments that the log goes through, and notes what is not there.
  private mutating func walkBack(_ report: inout SalvageReport) {
    var byNumber = Dictionary(uniqueKeysWithValues: segments.map { ($0.number, $0) })
    var way: [SourceSegment] = []
    let durable = superblock?.durableEnd ?? .start
    if durable.segment > segments.last?.number ?? 0 { missing(durable.segment, &report) }
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
        missing(predecessor.segment, &report)
        next = byNumber.keys.filter { $0 < predecessor.segment }.max()
      } else {
        next = byNumber.keys.filter { $0 < number }.max()
      }
    }
    segments = way.reversed()
  }

  private func missing(_ number: UInt64, _ report: inout SalvageReport) {
    report.add(.segmentMissing, in: StoreFileName.segment(number).string, 0, 0)
  }

  /// Where the end of a segment is not known, the next one's first frame says which commits cannot be in it.
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

  func read(_ name: String, _ offset: UInt64, _ count: Int) throws -> [UInt8] {
    try directory.open(name, .read).read(count, at: offset)
  }

  /// The bytes to read, in all.
  var byteCount: UInt64 { segments.reduce(0) { $0 + UInt64($1.size) } }
}
