import PerdureFormat

@testable import PerdureLog

/// A structure in a file, with a function that corrects its checksum after a change. Tests use it
/// to imitate an attacker that knows the format.
struct SealedStructure {
  let file: String
  /// The bytes that may be changed.
  let fields: Range<Int>
  /// Corrects the checksums.
  let seal: (inout [UInt8]) -> Void

  init(_ file: String, _ fields: Range<Int>, _ seal: @escaping (inout [UInt8]) -> Void) {
    self.file = file
    self.fields = fields
    self.seal = seal
  }

  /// Numbers that are likely to cause overflows or large allocations.
  static let extremes: [UInt64] = [
    0, 1, 7, 8, 127, 128, 4096, 1 << 26 - 1, 1 << 26, 1 << 28, 1 << 31 - 1, 1 << 31, 1 << 32 - 1, 1 << 32,
    1 << 40 - 1, 1 << 48, FormatLimits.counterMax - 1, FormatLimits.counterMax, FormatLimits.counterMax + 1,
    UInt64(Int64.max) - 7, UInt64(Int64.max), 1 << 63, .max - 127, .max - 7, .max - 1, .max,
  ]

  /// All structures of a store's files, except nodes of index files.
  static func all(in files: [String: [UInt8]]) -> [SealedStructure] {
    var found: [SealedStructure] = []
    let newest = files["SUPERBLOCK"]?.withUnsafeBytes { try? Superblock.newest(in: $0) }
    guard let store = newest?.store else { return [] }
    for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
      switch StoreFileName(name) {
      case .superblock:
        for slot in 0..<4 where bytes[4096 * slot] != 0 {
          found.append(simple(name, 4096 * slot, fields: 8..<124, length: 4092))
        }
      case .segment(let number): found += segment(name, bytes, number, store)
      case .blob: found.append(simple(name, 0, fields: 8..<48, length: 60))
      case .index: found.append(simple(name, 0, fields: 8..<60, length: 60))
      default: break
      }
    }
    return found
  }

  /// A structure with a checksum after `length` bytes, which covers these bytes.
  private static func simple(_ file: String, _ start: Int, fields: Range<Int>, length: Int) -> SealedStructure
  {
    SealedStructure(file, (start + fields.lowerBound)..<(start + fields.upperBound)) { bytes in
      bytes.withUnsafeMutableBytes { bytes in
        let sum = Checksum.crc32c(UnsafeRawBufferPointer(bytes).part(start, length))
        bytes.setInteger(sum, at: start + length)
      }
    }
  }

  private static func segment(
    _ name: String, _ bytes: [UInt8], _ number: UInt64, _ store: StoreID
  ) -> [SealedStructure] {
    var found = [simple(name, 0, fields: 8..<124, length: 124)]
    guard let header = try? bytes.withUnsafeBytes({ try SegmentHeader(reading: $0) }) else { return [] }
    if header.generation > 0 {
      let start = bytes.count - RewrittenFooter.length
      found.append(
        SealedStructure(name, (start + 8)..<(start + 60)) { bytes in
          set(
            sum(store, [number], bytes[start..<(start + 60)]), at: start + 60, in: &bytes)
        })
      let footer = try? bytes.withUnsafeBytes {
        try RewrittenFooter(
          reading: $0.part(start, RewrittenFooter.length), store: store, number: number, fileLength: $0.count)
      }
      for group in 0..<(footer.map { Int($0.groupCount) } ?? 0) {
        let place = start - (Int(footer?.groupCount ?? 0) - group) * GroupEntry.length
        found.append(simple(name, place, fields: 0..<20, length: 20))
      }
      if header.isGrouped { return found }
    }
    var offset = SegmentHeader.length
    while offset + FrameHeader.length <= bytes.count {
      let position = LogPosition(segment: number, offset: UInt64(offset))
      let frame = try? bytes.withUnsafeBytes {
        try FrameHeader(reading: $0.part(offset..<bytes.count), store: store, position: position)
      }
      guard let frame else { break }
      found += structures(of: frame, name, bytes, position, store)
      offset += FrameHeader.length + Int(frame.payloadLength)
    }
    return found
  }

  /// The header of a frame, and the headers of its records.
  private static func structures(
    of frame: FrameHeader, _ name: String, _ bytes: [UInt8], _ position: LogPosition, _ store: StoreID
  ) -> [SealedStructure] {
    let start = Int(position.offset)
    let sealFrame = { (bytes: inout [UInt8]) in
      set(
        sum(store, [position.segment, position.offset], bytes[(start + 8)..<(start + 64)]), at: start + 4,
        in: &bytes)
    }
    var found = [SealedStructure(name, (start + 8)..<(start + 64), sealFrame)]
    let end = start + FrameHeader.length + Int(frame.payloadLength)
    guard frame.part == 0, frame.kind != .mark, end <= bytes.count else { return found }
    var records: [(start: Int, end: Int)] = []
    var place = start + FrameHeader.length
    while place < end {
      let (key, value) = bytes.withUnsafeBytes {
        (Int($0.integer(at: place + 6, as: UInt16.self)), Int($0.integer(at: place + 12, as: UInt32.self)))
      }
      records.append((place, place + RecordHeader.length + key + value))
      place = (records[records.count - 1].end + 7) & ~7
    }
    for record in records {
      // Includes the beginning of the key and the value, such as catalog entries, tombstones and
      // blob references.
      let end = min(record.end, record.start + 56)
      found.append(
        SealedStructure(name, (record.start + 4)..<end) { bytes in
          set(
            bytes[(record.start + 4)..<record.end].withUnsafeBytes { Checksum.crc32c($0) }, at: record.start,
            in: &bytes)
          let sums = records.flatMap { bytes[$0.start..<($0.start + 4)] }
          let digest = sums.withUnsafeBytes { Checksum.crc32c($0) }
          set(digest, at: start + 32, in: &bytes)
          set(Checksum.crc32c(word: digest, continuing: 0), at: start + 36, in: &bytes)
          sealFrame(&bytes)
        })
    }
    return found
  }

  private static func sum(_ store: StoreID, _ words: [UInt64], _ bytes: ArraySlice<UInt8>) -> UInt32 {
    let place = ([store.high, store.low] + words).map(\.littleEndian).withUnsafeBytes { Checksum.crc32c($0) }
    return bytes.withUnsafeBytes { Checksum.crc32c($0, continuing: place) }
  }

  private static func set(_ value: UInt32, at offset: Int, in bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { $0.setInteger(value, at: offset) }
  }
}
