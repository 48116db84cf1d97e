// The table of the groups in which a rewritten segment stores its frames. FORMAT.md, "Groups".
//
// In a rewritten segment without groups, the *body* consists of the bytes between the header and
// the map. With groups, the body is divided into pieces of about 64 KiB. No piece ends inside a
// record or a frame header. Each piece is stored as an LZ4 block, or unpacked. All other structures
// use positions in the body: the map refers to them, and frame headers are bound to them.
//
//     body:  | frame header | record | record | record | frame header | record ...
//     file:  | group 0   | group 1 |   ...   | map | checksums | entry 0 | entry 1 | ... | footer
//
// Invariants
//   GT1  In the body, groups follow each other without gaps. In the file, only padding for
//        alignment separates them.
//   GT2  A group is read only after the checksum of its entry was verified. At most
//        `groupLengthMax` bytes of memory are allocated for it.
//   GT3  Every record is in exactly one group.

/// The table entry of one group.
package struct GroupEntry: Hashable, Sendable {
  package static let length = 24

  /// The start of the group in the body, as an offset in the unpacked segment.
  package var offset: Int
  /// The length of the unpacked group, in bytes.
  package var unpackedLength: Int
  /// The start of the group in the file.
  package var fileOffset: Int
  /// The length of the group in the file, in bytes.
  package var storedLength: Int
  /// The CRC32C of the stored bytes and of the zeros after them.
  package var checksum: UInt32

  package init(offset: Int, unpackedLength: Int, fileOffset: Int, storedLength: Int, checksum: UInt32) {
    self.offset = offset
    self.unpackedLength = unpackedLength
    self.fileOffset = fileOffset
    self.storedLength = storedLength
    self.checksum = checksum
  }

  /// The start of the next group in the body.
  package var end: Int { offset + unpackedLength }
  /// The start of the next group in the file.
  package var fileEnd: Int { (fileOffset + storedLength).roundedUpToAlignment }
  /// Whether the group is stored unpacked.
  package var isPlain: Bool { storedLength == unpackedLength }

  package func write(to bytes: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count >= Self.length, "A group entry does not fit into the buffer.")
    for (place, value) in [offset, unpackedLength, fileOffset, storedLength].enumerated() {
      bytes.setInteger(UInt32(value), at: 4 * place)
    }
    bytes.setInteger(checksum, at: 16)
    bytes.setInteger(Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(0, 20)), at: 20)
  }

  package init(reading bytes: UnsafeRawBufferPointer) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "group entry", at: offset)
    }
    guard bytes.count >= Self.length else { throw wrong(.incomplete, bytes.count) }
    guard bytes.integer(at: 20, as: UInt32.self) == Checksum.crc32c(bytes.part(0, 20)) else {
      throw wrong(.wrongChecksum, 20)
    }
    func field(at place: Int) -> Int { Int(bytes.integer(at: place, as: UInt32.self)) }
    offset = field(at: 0)
    unpackedLength = field(at: 4)
    fileOffset = field(at: 8)
    storedLength = field(at: 12)
    checksum = bytes.integer(at: 16)
    let places = SegmentHeader.length..<FormatLimits.segmentCapacityMax
    guard places.contains(offset), offset % 8 == 0 else { throw wrong(.illegalField, 0) }
    guard (8...FormatLimits.groupLengthMax).contains(unpackedLength), unpackedLength % 8 == 0,
      end <= FormatLimits.segmentCapacityMax
    else { throw wrong(.illegalField, 4) }
    guard places.contains(fileOffset), fileOffset % 8 == 0, fileOffset <= offset else {
      throw wrong(.illegalField, 8)
    }
    guard (1...unpackedLength).contains(storedLength) else { throw wrong(.illegalField, 12) }
  }

  /// The stored bytes and the zeros after them; nil if `file` is too short.
  package func stored(in file: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard fileEnd <= file.count else { return nil }
    return file.part(fileOffset, fileEnd - fileOffset)
  }
}

extension GroupEntry {
  /// Whether this group can precede `next` with `between` other groups in the gap. Each of the
  /// other groups takes at least 8 bytes (GT1).
  fileprivate func precedes(_ next: GroupEntry, by between: Int) -> Bool {
    if between == 0 { return end == next.offset && fileEnd == next.fileOffset }
    return end + 8 * between <= next.offset && fileEnd + 8 * between <= next.fileOffset
  }

  /// Whether `count` groups fit before this group.
  fileprivate func hasRoomBefore(_ count: Int) -> Bool {
    SegmentHeader.length + 8 * count <= min(offset, fileOffset)
  }
}

/// The table of a segment's groups, in the mapped file.
package struct GroupTable: Sendable {
  // `nonisolated(unsafe)` is correct here: the creator of the table retains the bytes, and does not
  // change them.
  private nonisolated(unsafe) let entries: UnsafeRawBufferPointer

  /// - Parameter bytes: The bytes of the table: complete entries.
  package init(_ bytes: UnsafeRawBufferPointer) { entries = bytes }

  package var count: Int { entries.count / GroupEntry.length }

  /// - Throws: `FormatError` with an offset in the table.
  package func entry(_ index: Int) throws(FormatError) -> GroupEntry {
    let start = index * GroupEntry.length
    do { return try GroupEntry(reading: entries.part(start, GroupEntry.length)) } catch {
      throw FormatError(error.reason, in: error.structure, at: start + error.offset)
    }
  }

  /// The index of the group that contains a position of the body. For a position after the end, the
  /// result is the index of the last group.
  ///
  /// - Complexity: O(log n) for n groups.
  package func index(of offset: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      let start = Int(entries.integer(at: middle * GroupEntry.length, as: UInt32.self))
      if start <= offset { low = middle + 1 } else { high = middle }
    }
    return max(0, low - 1)
  }

  /// The end of the last group in the file. Throws unless all entries are valid and adjacent (GT1),
  /// and the last group ends at `dataEnd` in the body.
  package func verifiedEnd(dataEnd: Int) throws(FormatError) -> Int {
    var (offset, fileOffset) = (SegmentHeader.length, SegmentHeader.length)
    for index in 0..<count {
      let entry = try entry(index)
      guard entry.offset == offset, entry.fileOffset == fileOffset else {
        throw FormatError(.misplaced, in: "group entry", at: index * GroupEntry.length)
      }
      (offset, fileOffset) = (entry.end, entry.fileEnd)
    }
    guard offset == dataEnd else {
      throw FormatError(.misplaced, in: "group entry", at: max(0, entries.count - GroupEntry.length))
    }
    return fileOffset
  }

  /// Searches for entries backward, from the footer to the first group. Other parts of the file may
  /// be damaged. In a file without groups, the found entries may be bytes of values.
  ///
  /// - Returns: The entries in ascending order, without overlaps. The gaps between them are large
  ///   enough for the groups of the damaged entries (GT1).
  package static func search(in file: UnsafeRawBufferPointer) -> [GroupEntry] {
    var found: [GroupEntry] = []
    // The number of positions without a valid entry since the last valid entry.
    var passed = 0
    var place = (file.count - GroupEntry.length) / 8 * 8
    while place >= SegmentHeader.length {
      let entry = try? GroupEntry(reading: file.part(place, GroupEntry.length))
      if let entry, entry.fileEnd <= place, found.last.map({ entry.precedes($0, by: passed) }) ?? true {
        found.append(entry)
        passed = 0
        if entry.offset == SegmentHeader.length { break }
      } else {
        passed += 1
      }
      // In a truncated file, the end of the table is unknown, so every aligned offset is tried.
      place -= found.isEmpty ? FormatLimits.alignment : GroupEntry.length
      if let last = found.last, place < last.fileEnd || !last.hasRoomBefore(passed) { break }
    }
    return found.reversed()
  }
}
