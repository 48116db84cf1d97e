import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Long keys are in blocks of the index file. The medium lost the write of one block, and still has
/// an earlier block there. The earlier block is intact, but has another key of the same length.
@Suite("Outdated blocks of long keys")
struct LostBlockTests {
  private static let name = "0000000000000001.index"
  private static let keyLength = 300

  private static func key(_ number: UInt8) -> [UInt8] {
    [number] + [UInt8](repeating: number, count: keyLength - 1)
  }

  /// The intact blocks in an index file's bytes, and their keys.
  private static func blocks(in bytes: [UInt8]) -> [(range: Range<Int>, key: [UInt8])] {
    let length = 64 * NodeSlot.unitCount(BlockView.bytesOffset + keyLength)
    return stride(from: 64, through: bytes.count - length, by: 64).compactMap { offset in
      let block = Array(bytes[offset..<(offset + length)])
      let (slot, keyBytes) = block.withUnsafeBytes {
        ($0.integer(at: 8) as UInt32, $0.integer(at: 16) as Int)
      }
      guard block[13] == NodeClass.block.rawValue, slot == offset / 64, keyBytes == keyLength,
        sealed(block) == block
      else { return nil }
      return (offset..<(offset + length), Array(block[BlockView.bytesOffset...].prefix(keyLength)))
    }
  }

  /// Returns the block with its correct checksum.
  private static func sealed(_ block: [UInt8]) -> [UInt8] {
    var block = block
    block.withUnsafeMutableBytes {
      let checksum = NodeChecksum.of(UnsafeRawBufferPointer($0))
      $0.setInteger(NodeSlot.fileStampBit | UInt64(checksum), at: 0)
    }
    return block
  }

  /// Returns a closed store with long keys and a checkpoint, and its content.
  private static func makeStore(_ count: UInt8) throws -> (CheckpointedStore, CrashHistory.Content) {
    let memory = CheckpointedStore(segmentCapacityBytes: 256 << 10)
    let store = try memory.open()
    let names = try store.keyspace("names", .bytes)
    // Writes checkpoints in two openings, so that nodes refer to blocks that are older than the
    // nodes.
    try store.write { transaction in
      for number in 0..<count where number % 2 == 0 {
        try transaction.put([number], key: key(number), in: names)
      }
    }
    try store.close()
    let again = try memory.open()
    for part in [1, 3] as [UInt8] {
      try again.write { transaction in
        for number in 0..<count where number % 4 == part {
          try transaction.put([number], key: key(number), in: names)
        }
      }
      try again.checkpoint()
    }
    let content = try CrashOracle.content(of: again)
    #expect(content.count == Int(count))
    try again.close()
    return (memory, content)
  }

  /// Replaces a block with an older block.
  private static func lose(_ block: (range: Range<Int>, key: [UInt8]), in memory: CheckpointedStore) throws {
    try memory.change(name) { file in
      var older = Array(file[block.range])
      // The older block has a removed key that sorts between the same neighbours.
      older[BlockView.bytesOffset + keyLength - 1] ^= 1
      file.replaceSubrange(block.range, with: sealed(older))
    }
  }

  @Test("An opening that reads the node above an outdated block rebuilds the index from the log")
  func everyBlock() throws {
    let (memory, content) = try Self.makeStore(12)
    let bytes = try memory.bytes(Self.name)
    let blocks = Self.blocks(in: bytes)
    #expect(blocks.count >= 12)
    var found = 0
    for block in blocks {
      try Self.lose(block, in: memory)
      // The only node is the root, which an opening reads.
      let reader = try memory.open(readOnly: true)
      if reader.recoveryReport.indexRebuild != nil { found += 1 }
      #expect(try CrashOracle.content(of: reader) == content)
      try memory.change(Self.name) { $0 = bytes }
    }
    #expect(found == 12)
    #expect(try memory.open(readOnly: true).recoveryReport.indexRebuild == nil)
  }

  @Test("A read detects an outdated block below the root, and the next opening rebuilds the index")
  func below() throws {
    let (memory, content) = try Self.makeStore(120)
    let block = try #require(Self.blocks(in: memory.bytes(Self.name)).first { $0.key == Self.key(117) })
    try Self.lose(block, in: memory)
    let store = try memory.open()
    try #require(store.recoveryReport.indexRebuild == nil)
    let names = try store.keyspace("names", .bytes)
    #expect(try store.snapshot().value(key: Self.key(3), in: names) == [3])
    for action in [
      { _ = try store.snapshot().value(key: Self.key(117), in: names) },
      { try store.write { try $0.put([1], key: Self.key(117), in: names) } },
    ] {
      let error = #expect(throws: StoreError.self) { try action() }
      #expect(error?.code == .corruption)
    }
    try store.close()
    let healed = try memory.open()
    #expect(healed.recoveryReport.indexRebuild != nil)
    #expect(try CrashOracle.content(of: healed) == content)
    #expect(try healed.verify().isClean)
  }
}
