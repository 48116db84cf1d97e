import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("The memory of a context's objects")
struct ObjectMemoryTests {
  private struct Block {
    var address: UnsafeMutableRawPointer
    var byteCount: Int
    var mark: UInt8
  }

  @Test("Header, instance and table entry of a registered object take at most 160 bytes")
  func sizes() {
    // The header is a block of the object memory. An instance is a block of the system's allocator:
    // 16 bytes that begin every instance, and a pointer. The table needs at most 32 bytes for each
    // object, because it is at least half full after growth.
    let header = MemoryLayout<ObjectHeader>.size
    #expect(header % ObjectMemory.unitByteCount == 0 && header == 80)
    let (instance, entry) = (32, 32)
    #expect(header + instance + entry + MemoryLayout<RowVersion>.size <= 160)
  }

  @Test("Blocks of all sizes keep the bytes written to them, and do not overlap")
  func random() {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    var memory = ObjectMemory()
    defer { memory.deallocate() }
    var blocks: [Block] = []
    for step in 0..<4_000 {
      if blocks.isEmpty || Int.random(in: 0..<100, using: &random) < 60 {
        let byteCount = Int.random(in: 1...600, using: &random)
        let address = memory.allocate(byteCount: byteCount)
        #expect(UInt(bitPattern: address) % 8 == 0)
        let mark = UInt8(truncatingIfNeeded: step)
        address.initializeMemory(as: UInt8.self, repeating: mark, count: byteCount)
        blocks.append(Block(address: address, byteCount: byteCount, mark: mark))
      } else {
        free(blocks.remove(at: Int.random(in: blocks.indices, using: &random)), &memory)
      }
    }
    for block in blocks { free(block, &memory) }
    #expect(memory.blockCount == 0)
  }

  private func free(_ block: Block, _ memory: inout ObjectMemory) {
    let bytes = UnsafeRawBufferPointer(start: block.address, count: block.byteCount)
    if !bytes.allSatisfy({ $0 == block.mark }) { Issue.record("a block was overwritten") }
    memory.deallocate(block.address, byteCount: block.byteCount)
  }

  @Test("An allocation reuses the last freed block of its size, and empty memory keeps one chunk")
  func reuse() {
    var memory = ObjectMemory()
    defer { memory.deallocate() }
    let first = memory.allocate(byteCount: 96)
    memory.deallocate(first, byteCount: 96)
    #expect(memory.allocate(byteCount: 81) == first)
    let many = (0..<10_000).map { _ in memory.allocate(byteCount: 64) }
    #expect(memory.chunkCount > 2)
    for block in many { memory.deallocate(block, byteCount: 64) }
    #expect(memory.chunkCount > 2)
    memory.deallocate(first, byteCount: 81)
    #expect(memory.chunkCount == 1 && memory.blockCount == 0)
    let again = (0..<10_000).map { _ in memory.allocate(byteCount: 64) }
    #expect(Set(again).count == again.count)
    for block in again { memory.deallocate(block, byteCount: 64) }
  }
}
