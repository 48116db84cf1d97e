import PerdureFileIO
import PerdureFormat

/// One segment as an open store holds it: the file, its mapping, and how far it is written.
///
/// The whole capacity is mapped once; bytes that the writer appends appear in the mapping, so a
/// growing segment needs no remapping and no buffer of its own for readers.
final class Segment: Sendable {
  let header: SegmentHeader
  let file: any File
  let mapping: FileMapping

  var number: UInt64 { header.number }
  var capacity: Int { Int(header.capacity) }

  init(header: SegmentHeader, file: any File) throws(FileIOError) {
    self.header = header
    self.file = file
    mapping = try file.map(Int(header.capacity))
  }
}
