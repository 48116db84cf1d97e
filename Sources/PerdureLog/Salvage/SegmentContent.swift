import PerdureCompression
import PerdureFileIO
import PerdureFormat

/// The bytes of one segment in memory. If compaction stored the frames in groups (FORMAT.md,
/// "Groups"), these are the unpacked bytes. Bytes that the medium cannot return, and groups that
/// cannot be unpacked, are zero.
///
/// While a segment in groups is unpacked, it needs memory for its file and for its unpacked body.
final class SegmentContent {
  private var memory: UnsafeMutableRawBufferPointer
  /// The unreadable ranges of the medium, as offsets in the file.
  private(set) var unreadable: [Range<Int>] = []
  /// Whether the frames are in groups. If so, offsets in `bytes` differ from offsets in the file.
  private(set) var isGrouped = false
  /// The damaged groups, as offsets in the file. Their unpacked bytes may be correct nevertheless,
  /// because the checksum also covers the padding after a group.
  private(set) var damagedGroups: [Range<Int>] = []
  /// The end of the bytes that depend on the first sector of the file.
  private(set) var firstSectorEnd = SalvageScan.sectorLength
  /// Distinguishes the segment's records from other bytes.
  private(set) var seals = RecordSeals.unbound
  /// A copy of a rewritten segment's map, damaged or not. It is copied because unpacked groups may
  /// replace the file's bytes.
  private var mapLines: UnsafeMutableRawBufferPointer?

  private static let pieceLength = 1 << 20
  private static let blockLength = 4096

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  init(_ segment: SalvageSource.SourceSegment, _ source: SalvageSource) throws {
    let length = segment.contentLength
    memory = .allocate(byteCount: length, alignment: 8)
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    if let file = try source.openIfReadable(segment.name) {
      try read(file, 0..<length, Self.pieceLength)
    } else {
      unreadable = [0..<length]
    }
    seals = RecordSeals(of: segment, takeMap(of: segment))
    let isGrouped = segment.header?.isGrouped ?? segment.footer.map { $0.groupCount > 0 } ?? true
    if isGrouped { unpackGroups(of: segment, source.store) }
  }

  deinit {
    memory.deallocate()
    mapLines?.deallocate()
  }

  private func takeMap(of segment: SalvageSource.SourceSegment) -> OffsetMap? {
    guard let footer = segment.footer, footer.mapLength > 0,
      footer.mapOffset + footer.mapLength <= bytes.count
    else { return nil }
    let lines = UnsafeMutableRawBufferPointer.allocate(byteCount: footer.mapLength, alignment: 64)
    lines.copyMemory(from: bytes.part(footer.mapOffset, footer.mapLength))
    mapLines = lines
    return OffsetMap(lines: UnsafeRawBufferPointer(lines))
  }

  /// Reads in large pieces. A piece that cannot be read is read again, block by block.
  private func read(_ file: any File, _ range: Range<Int>, _ step: Int) throws {
    for start in stride(from: range.lowerBound, to: range.upperBound, by: step) {
      let part = start..<min(start + step, range.upperBound)
      do throws(FileIOError) {
        let target = UnsafeMutableRawBufferPointer(rebasing: memory[part])
        let count = try file.readToEnd(into: target, at: UInt64(start))
        // Fewer bytes: the file has become shorter since its length was read.
        if count < part.count { noteUnreadable((start + count)..<part.upperBound) }
      } catch {
        try error.checkIsDamage()
        if step > Self.blockLength {
          try read(file, part, Self.blockLength)
        } else {
          for place in part { memory[place] = 0 }
          noteUnreadable(part)
        }
      }
    }
  }

  private func noteUnreadable(_ part: Range<Int>) {
    if let last = unreadable.last, last.upperBound == part.lowerBound {
      unreadable[unreadable.count - 1] = last.lowerBound..<part.upperBound
    } else {
      unreadable.append(part)
    }
  }

  /// Replaces the file's bytes by the unpacked groups.
  ///
  /// Without a footer, the found entries may be bytes of values. To decide whether there are
  /// groups, the valid frame headers in the unpacked bytes and in the file are counted. A frame
  /// header is valid at only one offset. If both counts are equal, the checksums of the groups
  /// decide. If the first group is stored unpacked, it has the same offset in both, so its frame
  /// headers are valid in both. Therefore frame headers in the file are not counted if the segment
  /// header says that there are groups.
  private func unpackGroups(of segment: SalvageSource.SourceSegment, _ store: StoreID?) {
    let entries = GroupTable.search(in: bytes)
    guard !entries.isEmpty else { return }
    let (body, damaged) = body(of: entries)
    if segment.footer == nil {
      let frames = Self.frameCount(in: UnsafeRawBufferPointer(body), segment.number, store)
      let others = segment.header == nil ? Self.frameCount(in: bytes, segment.number, store) : 0
      let isRight = frames == others ? entries.contains(where: isWhole) : frames > others
      guard isRight else { return body.deallocate() }
    }
    isGrouped = true
    let isLater = { (entry: GroupEntry) in entry.fileOffset >= SalvageScan.sectorLength }
    firstSectorEnd = entries.first(where: isLater)?.offset ?? body.count
    damagedGroups = damaged
    memory.deallocate()
    memory = body
  }

  /// The number of valid frame headers in the bytes of a segment.
  static func frameCount(in bytes: UnsafeRawBufferPointer, _ number: UInt64, _ store: StoreID?) -> Int {
    var search = SegmentSearch(bytes, number, store, end: nil, durableEnd: 0)
    var count = 0
    while let piece = search.next() { if case .frame = piece { count += 1 } }
    return count
  }

  private func isWhole(_ entry: GroupEntry) -> Bool {
    entry.stored(in: bytes).map { Checksum.crc32c($0) == entry.checksum } ?? false
  }

  /// Returns the unpacked groups, each at its offset, and the file offsets of damaged groups.
  private func body(of entries: [GroupEntry]) -> (UnsafeMutableRawBufferPointer, damaged: [Range<Int>]) {
    let end = entries.last?.end ?? SegmentHeader.length
    let body = UnsafeMutableRawBufferPointer.allocate(byteCount: end, alignment: 8)
    body.initializeMemory(as: UInt8.self, repeating: 0)
    UnsafeMutableRawBufferPointer(rebasing: body[..<SegmentHeader.length])
      .copyMemory(from: bytes.part(0..<SegmentHeader.length))
    var damaged: [Range<Int>] = []
    for entry in entries {
      guard let stored = entry.stored(in: bytes) else { continue }
      // A damaged group yields the bytes before the damage, and perhaps bytes after it. Each record
      // found there has its own checksum.
      let target = UnsafeMutableRawBufferPointer(rebasing: body[entry.offset..<entry.end])
      let isUnpacked = entry.unpack(stored, into: target, LZ4BlockDecoder.self)
      if !isUnpacked || !isWhole(entry) { damaged.append(entry.fileOffset..<entry.fileEnd) }
    }
    return (body, damaged)
  }
}
