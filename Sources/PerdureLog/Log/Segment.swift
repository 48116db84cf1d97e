import PerdureFileIO
import PerdureFormat

/// One segment of an open store: its header, its file and the mapping of the file.
///
/// The whole capacity is mapped once. Bytes that the writer appends appear in the mapping, so a
/// growing segment needs no remapping and readers need no buffer. For a segment that compaction has
/// rewritten, only the file's length is mapped, because the file no longer changes.
final class Segment: Sendable {
  let header: SegmentHeader
  let file: any File
  let mapping: FileMapping
  /// The new offsets of the records of a rewritten segment; nil for a segment that was not
  /// rewritten.
  // `nonisolated(unsafe)` is correct here: the memory is written only in init, and freed in deinit.
  nonisolated(unsafe) let map: UnsafeMutablePointer<SegmentMap>?

  var number: UInt64 { header.number }
  var capacity: Int { Int(header.capacity) }

  init(header: SegmentHeader, file: any File) throws(FileIOError) {
    self.header = header
    self.file = file
    mapping = try file.map(Int(header.capacity))
    map = nil
  }

  /// Opens a segment that compaction has rewritten, from its whole file.
  ///
  /// - Parameter cache: Keeps the segment's unpacked groups, if the segment has groups.
  /// - Throws: `FormatError` with an offset in the file if header, footer and file length do not
  ///   agree; `FileIOError`.
  init(rewritten header: SegmentHeader, file: any File, _ cache: GroupCache) throws {
    let size = try file.size()
    let start = size - min(size, UInt64(RewrittenFooter.length))
    func wrong(_ reason: FormatError.Reason, _ offset: Int) -> FormatError {
      FormatError(reason, in: "rewritten footer", at: Int(clamping: start) + offset)
    }
    let bytes = try file.read(RewrittenFooter.length, at: start)
    let footer: RewrittenFooter
    do {
      footer = try bytes.withUnsafeBytes {
        try RewrittenFooter(
          reading: $0, store: header.store, number: header.number, fileLength: Int(clamping: size))
      }
    } catch let error as FormatError {
      throw wrong(error.reason, error.offset)
    }
    guard footer.generation == header.generation else { throw wrong(.misplaced, 8) }
    guard footer.originalEnd <= header.capacity else { throw wrong(.illegalField, 16) }
    guard (footer.groupCount > 0) == header.isGrouped else { throw wrong(.illegalField, 56) }
    guard UInt64(footer.fileLength) == size else {
      throw FormatError(.incomplete, in: "rewritten segment", at: Int(size))
    }
    self.header = header
    self.file = file
    mapping = try file.map(footer.fileLength)
    let map = UnsafeMutablePointer<SegmentMap>.allocate(capacity: 1)
    map.initialize(to: SegmentMap(footer, of: header.number, base: mapping.base, cache))
    self.map = map
  }

  deinit {
    map?.deinitialize(count: 1)
    map?.deallocate()
  }

  /// The footer of a rewritten segment; nil for a segment that was not rewritten.
  var footer: RewrittenFooter? { map?.pointee.footer }

  /// Whether compaction has removed all frames of the segment.
  var isEmpty: Bool { footer?.dataEnd == UInt64(SegmentHeader.length) }

  /// Whether the segment's frames are in groups.
  var isGrouped: Bool { header.isGrouped }

  /// The number of bytes by which packing the frames into groups has shortened the file.
  var bytesSavedByGroups: UInt64 {
    guard let footer, isGrouped else { return 0 }
    let groups = footer.mapOffset - SegmentHeader.length + footer.offset - footer.groupTableOffset
    return UInt64(max(0, Int(footer.dataEnd) - SegmentHeader.length - groups))
  }

  /// The file offset of a position in the frames. For a position in a packed group, it is the
  /// offset of the group's first byte.
  func fileOffset(of place: Int) -> Int { map?.pointee.fileOffset(of: place) ?? place }

  /// The file's length in bytes. For a segment that was not rewritten, it is `end`, where the
  /// frames end.
  func fileLength(end: Int) -> Int { footer?.fileLength ?? end }
}
