import PerdureFormat
import Testing

@testable import PerdureLog

/// Opening from a checkpoint does not read the older segments. Compaction is the first to read
/// them.
@Suite("Compaction of hostile segments")
struct HostileCompactionTests {
  private static let name = StoreFileName.segment(1).string

  /// Makes a store with commits of one row each, and overwrites half of the rows. Closing writes a
  /// checkpoint.
  private static func make() throws -> CheckpointedStore {
    let memory = CheckpointedStore(segmentCapacityBytes: 4096)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for id in Array(1...60) + Array(1...30) as [UInt64] {
      try store.write(durability: .relaxed) { try $0.put([UInt8](repeating: 7, count: 40), id: id, in: rows) }
    }
    try store.close()
    return memory
  }

  /// Changes the last record of the first segment: its key becomes empty, and its value grows by
  /// the key's length. All checksums are corrected.
  private static func shortenKey(in memory: CheckpointedStore) throws {
    var bytes = try memory.bytes(name)
    let store = try bytes.withUnsafeBytes { try SegmentHeader(reading: $0).store }
    var (offset, last) = (SegmentHeader.length, 0)
    var header: FrameHeader?
    while offset < bytes.count {
      let position = LogPosition(segment: 1, offset: UInt64(offset))
      let found = try? bytes.withUnsafeBytes {
        try FrameHeader(reading: $0.part(offset, $0.count - offset), store: store, position: position)
      }
      guard let found else { break }
      (header, last) = (found, offset)
      offset += FrameHeader.length + Int(found.payloadLength)
    }
    guard var header, header.recordCount == 1 else { throw FormatError(.incomplete, in: "test", at: last) }
    let position = LogPosition(segment: 1, offset: UInt64(last))
    bytes.withUnsafeMutableBytes { bytes in
      let record = UnsafeMutableRawBufferPointer(rebasing: bytes[(last + FrameHeader.length)...])
      record.setInteger(0 as UInt16, at: 6)
      record.setInteger(48 as UInt32, at: 12)
      let checksum = Checksum.crc32c(UnsafeRawBufferPointer(record).part(4, 60))
      record.setInteger(checksum, at: 0)
      header.recordDigest = Checksum.crc32c(word: checksum, continuing: 0)
      header.chainDigest = Checksum.crc32c(word: header.recordDigest, continuing: 0)
      header.write(
        to: UnsafeMutableRawBufferPointer(rebasing: bytes[last..<(last + FrameHeader.length)]), store: store,
        position: position)
    }
    try memory.change(name) { $0 = bytes }
  }

  @Test("Compaction throws at a row whose key is not an id, and leaves the segment unchanged")
  func shortKey() throws {
    let memory = try Self.make()
    try Self.shortenKey(in: memory)
    let before = try memory.bytes(Self.name)
    let store = try memory.open()
    #expect(store.recoveryReport.indexRebuild == nil)
    let error = #expect(throws: StoreError.self) { try store.compact() }
    #expect(error?.code == .corruption && error?.place?.hasPrefix(Self.name) == true)
    #expect(try memory.bytes(Self.name) == before)
    try store.close()
  }
}
