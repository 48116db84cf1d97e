import PerdureFileIO
import PerdureFormat

/// One segment as an open store holds it: the file, its mapping, and how far it is written.
///
/// The whole capacity is mapped once; bytes that the writer appends appear in the mapping, so a
/// growing segment needs no remapping and no buffer of its own for readers. Of a segment that
/// compaction has rewritten exactly the file is mapped: it does not change any more.
final class Segment: Sendable {
  let header: SegmentHeader
  let file: any File
  let mapping: FileMapping
  /// Where the records of a rewritten segment have gone; nil for a segment as it was first written.
  // Unsafe: written in init only, and freed in deinit.
  nonisolated(unsafe) let map: UnsafeMutablePointer<SegmentMap>?

  var number: UInt64 { header.number }
  var capacity: Int { Int(header.capacity) }

  init(header: SegmentHeader, file: any File) throws(FileIOError) {
    self.header = header
    self.file = file
    mapping = try file.map(Int(header.capacity))
    map = nil
  }

  /// A segment that was rewritten, from its whole file.
  ///
  /// - Throws: `FormatError` when header, footer and length do not agree; `FileIOError`.
  init(rewritten header: SegmentHeader, file: any File) throws {
    let size = try file.size()
    let start = size - min(size, UInt64(RewrittenFooter.length))
    let footer = try file.read(RewrittenFooter.length, at: start).withUnsafeBytes {
      try RewrittenFooter(reading: $0, store: header.store, number: header.number)
    }
    guard footer.generation == header.generation else {
      throw FormatError(.misplaced, in: "rewritten footer", at: 8)
    }
    guard footer.originalEnd <= header.capacity else {
      throw FormatError(.illegalField, in: "rewritten footer", at: 16)
    }
    guard UInt64(footer.fileLength) == size else {
      throw FormatError(.incomplete, in: "rewritten segment", at: Int(size))
    }
    self.header = header
    self.file = file
    mapping = try file.map(footer.fileLength)
    let map = UnsafeMutablePointer<SegmentMap>.allocate(capacity: 1)
    map.initialize(to: SegmentMap(footer, base: mapping.base))
    self.map = map
  }

  deinit {
    map?.deinitialize(count: 1)
    map?.deallocate()
  }

  /// What a rewritten segment says of itself.
  var footer: RewrittenFooter? { map?.pointee.footer }

  /// Whether compaction has left nothing in it.
  var isEmpty: Bool { footer?.dataEnd == UInt64(SegmentHeader.length) }

  /// Bytes of the file, for a segment whose frames end at `end`.
  func fileLength(end: Int) -> Int { footer?.fileLength ?? end }

  /// The frames, for a segment whose frames end at `end` as it was first written.
  func bytes(upTo end: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: mapping.base, count: footer.map { Int($0.dataEnd) } ?? end)
  }
}
