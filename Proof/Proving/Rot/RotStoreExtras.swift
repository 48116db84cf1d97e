import PerdureFormat
import PerdureLog
import PerdureTestSupport

/// Structures that a store may contain, but that this engine did not write here. They are made by
/// hand: a mark, prepared zeros after the log, a reserve file, and a lock with the note of its
/// holder. Instead of a mark this engine writes a superblock.
enum RotStoreExtras {
  /// The space that must be free after the log.
  static let length = FrameHeader.length + roomLength
  private static let roomLength = 256

  private static func last(of files: [String: [UInt8]]) throws -> (String, Superblock, SegmentHeader) {
    let superblock = try (files["SUPERBLOCK"] ?? []).withUnsafeBytes { try Superblock.newest(in: $0) }
    let name = StoreFileName.segment(superblock.durableEnd.segment).string
    return (name, superblock, try (files[name] ?? []).withUnsafeBytes { try SegmentHeader(reading: $0) })
  }

  /// The number of free bytes after the log of a closed store.
  static func room(in files: [String: [UInt8]]) throws -> Int {
    let (_, superblock, header) = try last(of: files)
    return Int(header.capacity) - Int(superblock.durableEnd.offset)
  }

  /// The files of a closed store with all of these structures.
  static func added(to files: [String: [UInt8]]) throws -> [String: [UInt8]] {
    var files = files
    let (name, superblock, _) = try last(of: files)
    let end = superblock.durableEnd
    let mark = FrameHeader(
      kind: .mark, part: 0, sequence: superblock.durableSequence, payloadLength: 0, recordCount: 0,
      recordDigest: 0, chainDigest: 0, syncedOffset: end.offset)
    var bytes = [UInt8](repeating: 0, count: FrameHeader.length)
    bytes.withUnsafeMutableBytes { mark.write(to: $0, store: superblock.store, position: end) }
    bytes += [UInt8](repeating: 0, count: roomLength)
    files[name] = Array((files[name] ?? []).prefix(Int(end.offset))) + bytes
    files[StoreFileName.reserve(1).string] = [UInt8](repeating: 0, count: 512)
    files[StoreFileName.lock.string] = Array("held by process 1 of a machine".utf8)
    return files
  }
}
