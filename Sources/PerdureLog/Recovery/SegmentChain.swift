import PerdureFileIO
import PerdureFormat

extension File {
  /// The offset after the last nonzero byte before `length`; 0 if there is none. The file is read,
  /// not mapped.
  fileprivate func lastData(below length: UInt64) throws(FileIOError) -> UInt64 {
    let piece: UInt64 = 64 << 10
    var end = length
    while end > 0 {
      let start = end - min(end, piece)
      let bytes = try read(Int(end - start), at: start)
      let last = bytes.withUnsafeBytes { bytes in bytes.lastIndex { $0 != 0 } }
      if let last { return start + UInt64(last) + 1 }
      end = start
    }
    return 0
  }
}

/// The segments of the log in order, and the end of the valid part of each: FORMAT.md, "Recovery",
/// steps 4 and 5. The header of a segment records the end of the log in its predecessor. So only
/// the end of the last segment must be found by reading.
struct SegmentChain {
  struct Link {
    var segment: Segment
    /// The number of bytes in the file.
    var size: UInt64
    /// The end of the valid log in this segment; nil for the last segment, which must be read.
    var end: UInt64?
    /// For the last segment: the offset after its last nonzero byte below its capacity. The bytes
    /// after it are not part of the log (R8). They may be a hole, which must not be accessed in a
    /// mapping, because some file systems need free space for the access.
    var dataEnd: UInt64?

    /// The part of the file that may belong to the log.
    var logEnd: UInt64 { end ?? dataEnd ?? size }
  }

  var links: [Link] = []
  /// Greater than the number of every segment file found.
  var nextNumber: UInt64 = 1

  /// A file without its own valid header, and the reason.
  private struct Unborn {
    var number: UInt64
    var file: any File
    var error: FormatError
    /// The number of the older segment whose header the file shows.
    var older: UInt64?
  }

  /// Creates the chain of an open store.
  init(links: [Link]) { self.links = links }

  /// - Parameter didOpen: Called with the newest segment that has a header. At that time all files
  ///   are open, and their lengths are read afterwards. So a superblock that `didOpen` reads never
  ///   promises more than these lengths.
  init(
    _ numbers: [UInt64], in directory: any Directory, _ mode: FileMode, _ superblock: Superblock,
    _ groups: GroupCache, didOpen: (_ newest: Segment?) throws -> Void = { _ in }
  ) throws {
    nextNumber = (numbers.max() ?? 0) + 1
    var opened: [UInt64: Link] = [:]
    var unborn: [Unborn] = []
    for number in numbers.sorted() {
      let file = try directory.open(StoreFileName.segment(number).string, mode)
      do {
        let bytes = try file.read(SegmentHeader.length, at: 0)
        switch try bytes.withUnsafeBytes({
          try SegmentBirth($0, number: number, store: superblock.store)
        }) {
        case .born(let header):
          opened[number] = Link(segment: try Self.segment(header, file, groups), size: 0, end: nil)
        case .unborn(let error, let older):
          unborn.append(Unborn(number: number, file: file, error: error, older: older))
        }
      } catch let error as FormatError {
        throw StoreError.corruption(error, segment: number, offset: error.offset)
      }
    }
    let last = opened.keys.max() ?? 0
    try didOpen(opened[last]?.segment)
    for (number, link) in opened { opened[number]?.size = try link.segment.file.size() }
    if let link = opened[last], link.segment.map == nil {
      // Bytes after the capacity are not part of the segment (R8), even if the file is longer.
      let length = min(link.size, UInt64(link.segment.capacity))
      opened[last]?.dataEnd = try link.segment.file.lastData(below: length)
    }
    for candidate in unborn where candidate.number > last { try Self.judge(candidate, superblock) }
    try link(opened, unborn)
  }

  private static func segment(
    _ header: SegmentHeader, _ file: any File, _ groups: GroupCache
  ) throws -> Segment {
    if header.generation == 0 { return try Segment(header: header, file: file) }
    do { return try Segment(rewritten: header, file: file, groups) } catch let error as FormatError {
      // The file got its name when it was complete. So any error in it is damage, not an
      // interrupted creation.
      throw StoreError.corruption(error, segment: header.number, offset: error.offset)
    }
  }

  /// Throws if a file after the last segment is a damaged segment. It is damaged if the superblock
  /// promises commits in it, or if its content proves that it has commits (SB1). Otherwise its
  /// creation was interrupted. Files before the last segment need no such check: `link` throws if
  /// it needs one of them.
  private static func judge(_ unborn: Unborn, _ superblock: Superblock) throws {
    let holdsCommits = try SegmentBirth.holdsCommits(
      unborn.file, number: unborn.number, showsOlder: unborn.older != nil, store: superblock.store)
    guard !holdsCommits, superblock.durableEnd.segment < unborn.number else {
      throw StoreError.corruption(unborn.error, segment: unborn.number, offset: unborn.error.offset)
    }
  }

  /// Checks the footer of a rewritten segment: the next segment's header records the same original
  /// end. T6: there is a next segment.
  private static func check(_ footer: RewrittenFooter, of segment: Segment, end: UInt64?) throws(StoreError) {
    guard footer.originalEnd != end else { return }
    throw .corruption(
      FormatError(.misplaced, in: "rewritten footer", at: 16), segment: segment.number,
      offset: footer.offset + 16)
  }

  /// Walks back from the last segment. The header of each segment names its predecessor and the end
  /// of the log there.
  private mutating func link(_ opened: [UInt64: Link], _ unborn: [Unborn]) throws {
    guard var number = opened.keys.max() else { return }
    var end: UInt64?
    while let found = opened[number] {
      var link = found
      link.end = end
      if let footer = link.segment.footer {
        try Self.check(footer, of: link.segment, end: end)
      } else if let end, end > min(link.size, UInt64(link.segment.capacity)) {
        throw StoreError.corruption(
          FormatError(.incomplete, in: "segment", at: Int(link.size)), segment: number, offset: Int(link.size)
        )
      }
      links.append(link)
      let predecessor = link.segment.header.predecessorEnd
      if predecessor.segment == 0 { break }
      guard opened[predecessor.segment] != nil else {
        if let damaged = unborn.first(where: { $0.number == predecessor.segment }) {
          throw StoreError.corruption(
            damaged.error, segment: damaged.number, offset: damaged.error.offset)
        }
        throw StoreError(
          .corruption, "A segment of the log is missing; restore the store from a backup",
          at: StoreFileName.segment(predecessor.segment).string)
      }
      number = predecessor.segment
      end = predecessor.offset
    }
    links.reverse()
  }
}
