import PerdureFileIO
import PerdureFormat

/// Which segments make up the log, in order, and where the valid part of each ends: FORMAT.md,
/// "Recovery", steps 4 and 5. Each header says where the log before it ended, so only the last
/// segment's end has to be found by reading.
struct SegmentChain {
  struct Link {
    var segment: Segment
    /// Bytes in the file.
    var size: UInt64
    /// Where the valid log ends in this segment; nil for the last, which has to be read.
    var end: UInt64?
  }

  var links: [Link] = []
  /// Files with no part in the log: void segments and one that was never born.
  var leftovers: [UInt64] = []
  /// Above every number that was seen.
  var nextNumber: UInt64 = 1

  init(
    _ numbers: [UInt64], in directory: String, _ mode: FileMode, _ superblock: Superblock,
    _ fileSystem: any FileSystem
  ) throws {
    let sorted = numbers.sorted()
    nextNumber = (sorted.last ?? 0) + 1
    var opened: [UInt64: Link] = [:]
    for number in sorted {
      let file = try fileSystem.open(directory + "/" + StoreFileName.segment(number).string, mode)
      let size = try file.size()
      do {
        opened[number] = Link(segment: try Self.open(file, number, superblock), size: size, end: nil)
      } catch let error as FormatError {
        try Self.judgeBrokenHeader(error, file, size, number, isLast: number == sorted.last, superblock)
        leftovers.append(number)
      }
    }
    try link(opened)
  }

  private static func open(_ file: any File, _ number: UInt64, _ superblock: Superblock) throws -> Segment {
    let bytes = try file.read(SegmentHeader.length, at: 0)
    let header = try bytes.withUnsafeBytes { try SegmentHeader(reading: $0) }
    guard header.store == superblock.store, header.number == number else {
      throw FormatError(.misplaced, in: "segment header", at: 16)
    }
    return try Segment(header: header, file: file)
  }

  /// A header that does not read is a birth that was cut short, if it is that of the last
  /// segment, nothing was promised about it, and no frame stands behind it.
  private static func judgeBrokenHeader(
    _ error: FormatError, _ file: any File, _ size: UInt64, _ number: UInt64, isLast: Bool,
    _ superblock: Superblock
  ) throws {
    let corruption = StoreError.corruption(error, segment: number, offset: error.offset)
    guard isLast, error.reason != .unsupported, superblock.durableEnd.segment < number else {
      throw corruption
    }
    let bytes = try file.read(Int(size), at: 0)
    let hasFrame = bytes.withUnsafeBytes { bytes in
      TailJudge.firstFrame(in: bytes, from: SegmentHeader.length, segment: number, store: superblock.store)
        != nil
    }
    if hasFrame { throw corruption }
  }

  /// Walks backwards from the last segment over what each header says of its predecessor.
  private mutating func link(_ opened: [UInt64: Link]) throws {
    guard var number = opened.keys.max() else { return }
    var end: UInt64?
    while let found = opened[number] {
      var link = found
      link.end = end
      if let end, end > link.size {
        throw StoreError.corruption(
          FormatError(.incomplete, in: "segment", at: Int(link.size)), segment: number, offset: Int(link.size)
        )
      }
      links.append(link)
      let predecessor = link.segment.header.predecessorEnd
      if predecessor.segment == 0 { break }
      guard opened[predecessor.segment] != nil else {
        throw StoreError(
          .corruption, "A segment of the log is gone; restore it from a backup",
          at: StoreFileName.segment(predecessor.segment).string)
      }
      number = predecessor.segment
      end = predecessor.offset
    }
    links.reverse()
    let used = Set(links.map(\.segment.number))
    leftovers += opened.keys.filter { !used.contains($0) }
  }
}
