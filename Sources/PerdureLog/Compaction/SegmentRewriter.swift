import PerdureFileIO
import PerdureFormat

/// The second of two walks over a segment that is compacted. It copies the kept records into a new
/// file.
///
/// The file is written in slices, under a temporary name. It gets the segment's name only when it
/// is complete and synced (FORMAT.md, T7). If a crash happens before that, the next writer removes
/// the file.
struct SegmentRewriter: ~Copyable {
  /// The approximate size of one write, in bytes.
  static let sliceLength = 1 << 20
  /// The file is synced whenever this many bytes are unsynced. One sync of a whole segment delays
  /// the syncs of commits.
  private static let syncLength = 4 << 20

  private let header: SegmentHeader
  private let map: OffsetMapBuilder
  private let file: any File
  private let name: String
  private let directory: any Directory
  private var buffer = RawBuffer(capacity: sliceLength + sliceLength / 4)
  /// The offset of the buffer's first byte in the file, or in the body if there are groups.
  private var written = 0
  /// The number of bytes in the file.
  private var stored = 0
  /// For a segment in groups: the encoder, and the buffer of the groups.
  private var groups: GroupWriter?
  private var packed = RawBuffer(capacity: 0)
  private var synced = 0
  /// Called before each slice with its byte count; throws to cancel.
  private let pace: (Int) throws -> Void

  /// - Parameter groupLength: The maximum length of a group, if the header says that there are
  ///   groups.
  init(
    _ header: SegmentHeader, _ map: OffsetMapBuilder, in directory: any Directory,
    groupLength: Int, pace: @escaping (Int) throws -> Void
  ) throws(FileIOError) {
    self.header = header
    self.map = map
    self.directory = directory
    self.pace = pace
    name = StoreFileName.temporary(StoreFileName.segment(header.number).string).string
    groups = header.isGrouped ? GroupWriter(lengthTarget: groupLength) : nil
    if try directory.kind(of: name) != nil { try directory.remove(name) }
    file = try directory.open(name, .create)
    header.write(to: buffer.extend(by: SegmentHeader.length))
  }

  /// Copies the kept records of a frame.
  mutating func visit(_ part: LogScan.Part) throws {
    let start = buffer.count
    buffer.appendZeros(FrameHeader.length)
    var header = part.header
    header.recordCount = 0
    header.recordDigest = 0
    var records = SealedRecords(in: part.payload)
    while let (record, offset, length) = try records.next() {
      if let original = part.recordOffset(at: offset), map.keeps(original) {
        buffer.append(part.payload.part(offset..<(offset + length)))
        header.recordCount += 1
        header.recordDigest = Checksum.crc32c(word: record.checksum, continuing: header.recordDigest)
      }
    }
    guard header.recordCount > 0 else { return buffer.truncate(to: start) }
    header.payloadLength = UInt32(buffer.count - start - FrameHeader.length)
    header.syncedOffset = UInt64(SegmentHeader.length)
    let position = LogPosition(segment: self.header.number, offset: UInt64(written + start))
    header.write(
      to: buffer.mutableBytes(start..<(start + FrameHeader.length)), store: self.header.store,
      position: position)
    if buffer.count >= Self.sliceLength { try flush() }
  }

  /// Writes the remaining frames, the map, the tables and the footer, and makes the file durable.
  mutating func finish(_ marking: borrowing SegmentMarking, originalEnd: Int) throws {
    let dataEnd = written + buffer.count
    precondition(
      dataEnd == SegmentHeader.length + marking.dataBytes, "OM2: the kept bytes have the length of the map")
    if header.isGrouped { try flush() }
    let end = header.isGrouped ? stored : dataEnd
    let groupCount = groups?.entries.count ?? 0
    let footer = map.withLines { lines in
      let table = RewrittenFooter.table(of: lines)
      let footer = RewrittenFooter(
        generation: header.generation, originalEnd: UInt64(originalEnd), dataEnd: UInt64(dataEnd),
        recordBytes: marking.recordBytes, tombstoneBytes: marking.tombstoneBytes,
        lineCount: UInt32(lines.count / OffsetMap.lineLength), mapDigest: table.digest,
        groups: header.isGrouped ? (groupCount, end) : nil)
      buffer.appendZeros(footer.mapOffset - end)
      buffer.append(lines)
      table.bytes.withUnsafeBytes { buffer.append($0) }
      buffer.appendZeros(footer.groupTableOffset - footer.tableOffset - footer.tableLength)
      return footer
    }
    groups?.appendTable(to: &buffer)
    footer.write(
      to: buffer.extend(by: RewrittenFooter.length), store: header.store, number: header.number)
    try write(buffer.bytes)
    try file.sync(.full)
  }

  /// Writes the frames that were copied so far.
  private mutating func flush() throws {
    if header.isGrouped {
      try flushGroups()
    } else {
      try write(buffer.bytes)
    }
    written += buffer.count
    buffer.truncate(to: 0)
  }

  private mutating func flushGroups() throws {
    // The segment's header is first, and does not belong to a group.
    let start = max(0, SegmentHeader.length - written)
    packed.truncate(to: 0)
    packed.append(buffer.bytes.part(0..<start))
    try groups?.pack(
      buffer.bytes.part(start..<buffer.count), at: written + start, fileOffset: stored + start, to: &packed)
    try write(packed.bytes)
  }

  private mutating func write(_ bytes: UnsafeRawBufferPointer) throws {
    try pace(bytes.count)
    try file.write(bytes, at: UInt64(stored))
    stored += bytes.count
    guard stored - synced >= Self.syncLength else { return }
    try file.sync(.full)
    synced = stored
  }

  /// The length of the finished file, in bytes.
  var fileLength: Int { stored }

  /// Renames the finished file to the segment's name.
  ///
  /// - Throws: Errors of opening the finished file and of renaming it. After an error, the segment
  ///   is unchanged.
  func replaceSegment(_ cache: GroupCache) throws -> Segment {
    let segment = try readBack(cache)
    try directory.rename(name, to: StoreFileName.segment(header.number).string)
    return segment
  }

  private func readBack(_ cache: GroupCache) throws -> Segment {
    do { return try Segment(rewritten: header, file: file, cache) } catch let error as FormatError {
      throw StoreError(
        .corruption,
        "A rewritten segment differs from the written bytes: \(error); the store is unchanged",
        at: name)
    }
  }

  /// Removes the file. If that fails, the next writer removes it.
  func discard() { try? directory.remove(name) }
}
