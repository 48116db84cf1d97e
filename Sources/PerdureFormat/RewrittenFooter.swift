/// The last 64 bytes of a rewritten segment, and the positions in them. FORMAT.md, "Rewritten
/// segment".
package struct RewrittenFooter: Hashable, Sendable {
  package static let length = 64
  static let magic: [UInt8] = [0x89, 0x50, 0x52, 0x57, 0x53, 0x0D, 0x0A, 0x1A]
  /// The number of bytes of the map that one checksum covers.
  package static let chunkLength = 4096

  package var generation: UInt64
  /// The original end of the segment's frames.
  package var originalEnd: UInt64
  /// The current end of the frames.
  package var dataEnd: UInt64
  /// The sum of the lengths of the segment's records. Each record counts with the maximum length of
  /// its size class.
  package var recordBytes: UInt64
  /// The part of `recordBytes` that belongs to tombstones.
  package var tombstoneBytes: UInt64
  package var lineCount: UInt32
  /// The CRC32C of the table of checksums.
  package var mapDigest: UInt32
  /// The number of groups that contain the frames. 0 if the frames are stored unpacked.
  package let groupCount: UInt32
  /// The offset of the map in the file: the first multiple of 64 at or after the end of the frames
  /// or groups.
  package let mapOffset: Int

  /// - Parameter groups: The number of groups, and the end of the last group in the file. Nil if
  ///   the frames are not grouped.
  package init(
    generation: UInt64, originalEnd: UInt64, dataEnd: UInt64, recordBytes: UInt64, tombstoneBytes: UInt64,
    lineCount: UInt32, mapDigest: UInt32, groups: (count: Int, end: Int)? = nil
  ) {
    self.generation = generation
    self.originalEnd = originalEnd
    self.dataEnd = dataEnd
    self.recordBytes = recordBytes
    self.tombstoneBytes = tombstoneBytes
    self.lineCount = lineCount
    self.mapDigest = mapDigest
    groupCount = UInt32(groups?.count ?? 0)
    mapOffset = Self.mapOffset(behind: groups?.end ?? Int(dataEnd))
  }

  private static func mapOffset(behind end: Int) -> Int { (end + 63) & ~63 }

  package var mapLength: Int { Int(lineCount) * OffsetMap.lineLength }
  /// The offset of the table of checksums.
  package var tableOffset: Int { mapOffset + mapLength }
  package var tableLength: Int { 4 * ((mapLength + Self.chunkLength - 1) / Self.chunkLength) }
  /// The offset of the table of groups.
  package var groupTableOffset: Int { (tableOffset + tableLength).roundedUpToAlignment }
  /// The offset of the footer.
  package var offset: Int { groupTableOffset + Int(groupCount) * GroupEntry.length }
  package var fileLength: Int { offset + Self.length }

  package func write(to bytes: UnsafeMutableRawBufferPointer, store: StoreID, number: UInt64) {
    precondition(bytes.count >= Self.length, "A footer does not fit into the buffer.")
    for i in 0..<Self.length { bytes[i] = 0 }
    bytes.copyBytes(from: Self.magic)
    bytes.setInteger(generation, at: 8)
    bytes.setInteger(originalEnd, at: 16)
    bytes.setInteger(dataEnd, at: 24)
    bytes.setInteger(recordBytes, at: 32)
    bytes.setInteger(tombstoneBytes, at: 40)
    bytes.setInteger(lineCount, at: 48)
    bytes.setInteger(mapDigest, at: 52)
    bytes.setInteger(groupCount, at: 56)
    let place = Self.placeChecksum(store, number)
    bytes.setInteger(Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(0, 60), continuing: place), at: 60)
  }

  /// The checksum of the segment's identity. The footer's checksum continues from this checksum,
  /// which binds the footer to its segment.
  private static func placeChecksum(_ store: StoreID, _ number: UInt64) -> UInt32 {
    withUnsafeBytes(of: (store.high.littleEndian, store.low.littleEndian, number.littleEndian)) {
      Checksum.crc32c($0)
    }
  }

  /// - Parameter fileLength: The length of the file that ends with the footer. It is needed because
  ///   the footer does not contain the end of the groups.
  package init(
    reading bytes: UnsafeRawBufferPointer, store: StoreID, number: UInt64, fileLength: Int
  ) throws(FormatError) {
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "rewritten footer", at: offset)
    }
    try bytes.checkSeal(
      of: "rewritten footer", Self.magic, length: Self.length, continuing: Self.placeChecksum(store, number))
    generation = bytes.integer(at: 8)
    originalEnd = bytes.integer(at: 16)
    dataEnd = bytes.integer(at: 24)
    recordBytes = bytes.integer(at: 32)
    tombstoneBytes = bytes.integer(at: 40)
    lineCount = bytes.integer(at: 48)
    mapDigest = bytes.integer(at: 52)
    let groupCount = bytes.integer(at: 56, as: UInt32.self)
    self.groupCount = groupCount
    let ends = UInt64(SegmentHeader.length)...UInt64(FormatLimits.segmentCapacityMax)
    guard (1...FormatLimits.counterMax).contains(generation) else { throw wrong(.illegalField, 8) }
    guard ends.contains(originalEnd), originalEnd % 8 == 0 else { throw wrong(.illegalField, 16) }
    guard ends.contains(dataEnd), dataEnd % 8 == 0, dataEnd <= originalEnd else {
      throw wrong(.illegalField, 24)
    }
    guard tombstoneBytes <= recordBytes, recordBytes <= 2 * dataEnd else { throw wrong(.illegalField, 32) }
    let units = (Int(originalEnd) - SegmentHeader.length) / 8
    guard Int(lineCount) <= (units + OffsetMap.unitsALine - 1) / OffsetMap.unitsALine else {
      throw wrong(.illegalField, 48)
    }
    guard Int(groupCount) <= (Int(dataEnd) - SegmentHeader.length) / FormatLimits.alignment else {
      throw wrong(.illegalField, 56)
    }
    var behindMap = Self.length + Int(groupCount) * GroupEntry.length
    behindMap += Self.lengthWithTable(ofMap: Int(lineCount) * OffsetMap.lineLength)
    mapOffset = groupCount == 0 ? Self.mapOffset(behind: Int(dataEnd)) : fileLength - behindMap
    guard mapOffset >= SegmentHeader.length, mapOffset % 64 == 0 else {
      throw wrong(.illegalField, 56)
    }
  }

  /// The length of a map and of its table of checksums, rounded up to the alignment.
  private static func lengthWithTable(ofMap length: Int) -> Int {
    (length + 4 * ((length + chunkLength - 1) / chunkLength)).roundedUpToAlignment
  }

  /// The table of checksums of a map, and the digest of the table.
  package static func table(of lines: UnsafeRawBufferPointer) -> (bytes: [UInt8], digest: UInt32) {
    var table: [UInt8] = []
    for start in stride(from: 0, to: lines.count, by: chunkLength) {
      let sum = Checksum.crc32c(lines.part(start, min(chunkLength, lines.count - start)))
      withUnsafeBytes(of: sum.littleEndian) { table.append(contentsOf: $0) }
    }
    return (table, table.withUnsafeBytes { Checksum.crc32c($0) })
  }

  /// The group table of the segment in `file`; nil if its frames are not grouped.
  package func groups(in file: UnsafeRawBufferPointer) -> GroupTable? {
    guard groupCount > 0 else { return nil }
    return GroupTable(file.part(groupTableOffset, Int(groupCount) * GroupEntry.length))
  }

  /// Reads and verifies the offset map of the segment in `file`.
  ///
  /// Verifies the checksums of the map, the ranks, the number of units, the padding, and that the
  /// groups are adjacent. The groups themselves are not read.
  /// Thrown errors contain an offset in the file.
  package func verifiedMap(in file: UnsafeRawBufferPointer) throws(FormatError) -> OffsetMap {
    guard file.count == fileLength else {
      throw FormatError(.incomplete, in: "rewritten segment", at: file.count)
    }
    let lines = file.part(mapOffset, mapLength)
    try checkTable(of: lines, in: file)
    let end: Int
    do { end = try groups(in: file)?.verifiedEnd(dataEnd: Int(dataEnd)) ?? Int(dataEnd) } catch {
      throw FormatError(error.reason, in: error.structure, at: groupTableOffset + error.offset)
    }
    guard Self.mapOffset(behind: end) == mapOffset else {
      throw FormatError(.misplaced, in: "group entry", at: groupTableOffset)
    }
    for padding in [end..<mapOffset, (tableOffset + tableLength)..<groupTableOffset] {
      if let place = file.firstNonZero(in: padding) {
        throw FormatError(.reservedNotZero, in: "rewritten segment", at: place)
      }
    }
    let map = OffsetMap(lines: lines)
    let unitCount: Int
    do { unitCount = try map.verifiedUnitCount() } catch {
      throw FormatError(error.reason, in: error.structure, at: mapOffset + error.offset)
    }
    guard unitCount == (Int(dataEnd) - SegmentHeader.length) / 8 else {
      throw FormatError(.illegalField, in: "offset map", at: mapOffset)
    }
    return map
  }

  /// Verifies the table of checksums by its digest, and each piece of the map by its checksum.
  private func checkTable(
    of lines: UnsafeRawBufferPointer, in file: UnsafeRawBufferPointer
  ) throws(FormatError) {
    let table = file.part(tableOffset, tableLength)
    guard Checksum.crc32c(table) == mapDigest else {
      throw FormatError(.wrongChecksum, in: "offset map", at: tableOffset)
    }
    let expected = Self.table(of: lines).bytes
    for piece in 0..<(tableLength / 4)
    where !table.part(4 * piece, 4).elementsEqual(expected[(4 * piece)..<(4 * piece + 4)]) {
      throw FormatError(.wrongChecksum, in: "offset map", at: mapOffset + piece * Self.chunkLength)
    }
  }
}
