import PerdureFileIO
import PerdureFormat

/// The second of two walks over a segment that is compacted: copies what stays into a new file.
///
/// The file is written under a name in preparation, in slices, and takes the segment's name only when it is
/// whole and synced (FORMAT.md, T7). A crash before leaves a file that the next writer removes.
struct SegmentRewriter: ~Copyable {
  /// How much is written at once, about, in bytes.
  static let sliceLength = 1 << 20
  /// How much is left to the system before it is synced: a sync of a whole segment at once would make
  /// the syncs of commits wait behind it.
  private static let syncLength = 4 << 20

  private let header: SegmentHeader
  private let map: OffsetMapBuilder
  private let file: any File
  private let path: String
  private let fileSystem: any FileSystem
  private var buffer = RawBuffer(capacity: sliceLength + sliceLength / 4)
  /// Where the buffer's first byte belongs.
  private var written = 0
  private var synced = 0
  /// Asked before each slice with the bytes in it; throws to give up.
  private let pace: (Int) throws -> Void

  init(
    _ header: SegmentHeader, _ map: OffsetMapBuilder, in directory: String, _ fileSystem: any FileSystem,
    pace: @escaping (Int) throws -> Void
  ) throws(FileIOError) {
    self.header = header
    self.map = map
    self.fileSystem = fileSystem
    self.pace = pace
    let name = StoreFileName.temporary(StoreFileName.segment(header.number).string).string
    path = directory + "/" + name
    if try fileSystem.kind(of: path) != nil { try fileSystem.remove(path) }
    file = try fileSystem.open(path, .create)
    header.write(to: buffer.extend(by: SegmentHeader.length))
  }

  /// Copies a frame, as far as it stays.
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

  /// Writes map and footer, and makes the file durable.
  mutating func finish(_ marking: borrowing SegmentMarking, originalEnd: Int) throws {
    let dataEnd = written + buffer.count
    precondition(
      dataEnd == SegmentHeader.length + marking.dataBytes, "O2: what stays is as long as the map says")
    let footer = map.withLines { lines in
      let table = RewrittenFooter.table(of: lines)
      let footer = RewrittenFooter(
        generation: header.generation, originalEnd: UInt64(originalEnd), dataEnd: UInt64(dataEnd),
        recordBytes: marking.recordBytes, tombstoneBytes: marking.tombstoneBytes,
        lineCount: UInt32(lines.count / OffsetMap.lineLength), mapDigest: table.digest)
      buffer.appendZeros(footer.mapOffset - dataEnd)
      buffer.append(lines)
      table.bytes.withUnsafeBytes { buffer.append($0) }
      buffer.appendZeros(footer.offset - footer.tableOffset - footer.tableLength)
      return footer
    }
    footer.write(
      to: buffer.extend(by: RewrittenFooter.length), store: header.store, number: header.number)
    try flush()
    try file.sync(.full)
  }

  private mutating func flush() throws {
    try pace(buffer.count)
    try file.write(buffer.bytes, at: UInt64(written))
    written += buffer.count
    buffer.truncate(to: 0)
    guard written - synced >= Self.syncLength else { return }
    try file.sync(.full)
    synced = written
  }

  /// The finished file in its place, under the segment's name.
  ///
  /// - Throws: Before the file has the name: the segment is as it was.
  func takePlace(in directory: String) throws -> Segment {
    let segment = try Segment(rewritten: header, file: file)
    try fileSystem.rename(path, to: directory + "/" + StoreFileName.segment(header.number).string)
    return segment
  }

  /// Removes what was written so far. What cannot be removed now, the next writer removes.
  func discard() { try? fileSystem.remove(path) }
}
