import PerdureCompression
import PerdureFormat

/// The groups of one segment's file, for readers. FORMAT.md, "Groups".
// Unchecked: all properties are constant, and the file's mapping lives as long as this object.
final class SegmentGroups: @unchecked Sendable {
  let table: GroupTable
  let number: UInt64
  /// The offset of the table in the file.
  private let tableOffset: Int
  private let file: UnsafeRawBufferPointer
  private let cache: GroupCache
  private let owner: Int

  /// - Parameter file: The mapped file.
  init(
    _ table: GroupTable, at tableOffset: Int, of number: UInt64, in file: UnsafeRawBufferPointer,
    _ cache: GroupCache
  ) {
    self.table = table
    self.tableOffset = tableOffset
    self.number = number
    self.file = file
    self.cache = cache
    owner = cache.makeOwner()
  }

  deinit { cache.removeAll(of: owner) }

  /// The bytes from an offset of the body to the end of the group that contains the offset. The
  /// bytes of a packed group are valid while `hold` retains the group. The bytes of a plain group
  /// are valid while the file is mapped.
  func bytes(from offset: Int, _ hold: inout GroupHold) throws(StoreError) -> UnsafeRawBufferPointer {
    if let held = hold.group, held.owner == owner, held.range.contains(offset) {
      return held.bytes(from: offset)
    }
    let index = table.index(of: offset)
    if let known = cache.group(index, of: owner), known.range.contains(offset) {
      hold.hold(known)
      return known.bytes(from: offset)
    }
    let entry = try entry(index)
    guard (entry.offset..<entry.end).contains(offset) else { throw damaged(.misplaced, entry.fileOffset) }
    if entry.isPlain, entry.fileEnd <= file.count {
      return file.part(entry.fileOffset + offset - entry.offset, entry.end - offset)
    }
    let group = try UnpackedGroup(owner, index, at: entry.offset..<entry.end) { target throws(StoreError) in
      try unpack(entry, into: target)
    }
    cache.insert(group)
    hold.hold(group)
    return group.bytes(from: offset)
  }

  /// The file offset of a position in the body. For a position in a packed group, it is the offset
  /// of the group's first byte. If the group's entry is damaged, it is the offset of the table.
  func fileOffset(of place: Int) -> Int {
    guard let entry = try? table.entry(table.index(of: place)) else { return tableOffset }
    guard entry.isPlain, (entry.offset..<entry.end).contains(place) else { return entry.fileOffset }
    return entry.fileOffset + place - entry.offset
  }

  func entry(_ index: Int) throws(StoreError) -> GroupEntry {
    do { return try table.entry(index) } catch {
      throw .corruption(error, segment: number, offset: tableOffset + error.offset)
    }
  }

  /// Verifies a group's checksum, and unpacks the group into `target`, which has the unpacked
  /// length.
  func unpack(_ entry: GroupEntry, into target: UnsafeMutableRawBufferPointer) throws(StoreError) {
    guard let stored = entry.stored(in: file) else { throw damaged(.incomplete, entry.fileOffset) }
    guard Checksum.crc32c(stored) == entry.checksum else { throw damaged(.wrongChecksum, entry.fileOffset) }
    guard entry.unpack(stored, into: target, LZ4Block.self) else {
      throw damaged(.illegalField, entry.fileOffset)
    }
  }

  private func damaged(_ reason: FormatError.Reason, _ offset: Int) -> StoreError {
    .corruption(FormatError(reason, in: "group", at: 0), segment: number, offset: offset)
  }
}

extension GroupEntry {
  /// Unpacks stored bytes.
  ///
  /// - Parameter target: Has the length of the unpacked group.
  /// - Returns: Whether the stored bytes unpacked to exactly that length. If not, the content of
  ///   `target` is unspecified.
  func unpack<Decoder: LZ4BlockDecoding>(
    _ stored: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, _ decoder: Decoder.Type
  ) -> Bool {
    let block = stored.part(0..<storedLength)
    if isPlain {
      target.copyMemory(from: block)
      return true
    }
    return (try? decoder.decompress(block, into: target)) == unpackedLength
  }
}
