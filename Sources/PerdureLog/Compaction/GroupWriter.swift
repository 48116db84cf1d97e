import PerdureCompression
import PerdureFormat

/// Cuts frames into groups and packs them: a rewritten segment contains the groups in place of the
/// frames. FORMAT.md, "Groups".
struct GroupWriter: ~Copyable {
  private(set) var entries: [GroupEntry] = []
  private let encoder = LZ4GroupEncoder()
  /// The maximum length of a group, unless a single record is longer.
  private let lengthTarget: Int

  init(lengthTarget: Int) { self.lengthTarget = lengthTarget }

  /// Appends the groups of whole frames to the pending output.
  ///
  /// - Parameter place: The offset of the first frame in the body.
  /// - Parameter fileOffset: The file offset of the current end of `output`, a multiple of 8.
  mutating func pack(
    _ frames: UnsafeRawBufferPointer, at place: Int, fileOffset: Int, to output: inout RawBuffer
  ) throws(FormatError) {
    let start = fileOffset - output.count
    for range in try Self.cut(frames, lengthTarget) {
      let stored = output.count
      let length = append(frames.part(range), to: &output)
      output.appendZeros(output.count.roundedUpToAlignment - output.count)
      entries.append(
        GroupEntry(
          offset: place + range.lowerBound, unpackedLength: range.count, fileOffset: start + stored,
          storedLength: length, checksum: Checksum.crc32c(output.bytes.part(stored..<output.count))))
    }
  }

  /// Appends a group. The group is stored packed, or unpacked if packing saves less than a
  /// twentieth. Returns the stored length.
  private func append(_ group: UnsafeRawBufferPointer, to output: inout RawBuffer) -> Int {
    let start = output.count
    let target = output.extend(by: ValuePacker.lengthMax(of: group.count))
    if let length = encoder.encode(group, into: target) {
      output.truncate(to: start + length)
      return length
    }
    output.truncate(to: start)
    output.append(group)
    return group.count
  }

  /// The ranges of the groups. No record and no frame header is cut. GT3
  static func cut(
    _ frames: UnsafeRawBufferPointer, _ lengthTarget: Int
  ) throws(FormatError) -> [Range<Int>] {
    var groups: [Range<Int>] = []
    var start = 0
    var place = 0
    func take(_ length: Int) {
      if place + length - start > lengthTarget, place > start {
        groups.append(start..<place)
        start = place
      }
      place += length
    }
    while place < frames.count {
      let end = place + FrameHeader.length + FrameHeader.payloadLength(of: frames, at: place)
      take(FrameHeader.length)
      var records = SealedRecords(in: frames.part(place..<end))
      while let record = try records.next() { take(record.length) }
    }
    if place > start { groups.append(start..<place) }
    return groups
  }

  /// The table of the groups, to be written after the map.
  func appendTable(to output: inout RawBuffer) {
    for entry in entries { entry.write(to: output.extend(by: GroupEntry.length)) }
  }
}
