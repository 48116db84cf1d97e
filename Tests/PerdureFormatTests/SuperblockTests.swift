import PerdureFormat
import Testing

@Suite("Superblock")
struct SuperblockTests {
  private func file(_ generations: [UInt64], _ change: (inout Superblock) -> Void = { _ in }) -> [UInt8] {
    var file = [UInt8](repeating: 0, count: Superblock.fileLength)
    for generation in generations {
      var superblock = Superblock(store: Sample.store, segmentCapacity: 4096)
      superblock.generation = generation
      change(&superblock)
      put(superblock, into: &file, slot: superblock.slot)
    }
    return file
  }

  private func put(_ superblock: Superblock, into file: inout [UInt8], slot: Int) {
    let bytes = encoded(Superblock.slotLength) { superblock.write(to: $0) }
    file.replaceSubrange((slot * Superblock.slotLength)..<((slot + 1) * Superblock.slotLength), with: bytes)
  }

  private func newest(_ file: [UInt8]) throws(FormatError) -> Superblock {
    try withBytes(file) { bytes throws(FormatError) in try Superblock.newest(in: bytes) }
  }

  @Test("All fields are decoded as encoded")
  func roundTrip() throws {
    let bytes = Structure.superblock.sample
    #expect(try withBytes(bytes, Superblock.init(reading:)) == Sample.superblock)
  }

  @Test("A new store's superblock is the first generation, closed and empty")
  func initial() {
    let superblock = Superblock(store: Sample.store, segmentCapacity: 4096)
    #expect(superblock.generation == 1 && superblock.slot == 1)
    #expect(superblock.durableEnd == .start && superblock.durableSequence == 0)
    #expect(superblock.isClosed && superblock.nextBlob == 1)
    #expect(superblock.allowsWriting)
  }

  @Test("The slot with the highest generation is used, in any order of the slots")
  func highestWins() throws {
    #expect(try newest(file([1])).generation == 1)
    #expect(try newest(file([1, 2, 3, 4])).generation == 4)
    #expect(try newest(file([5, 6, 7, 8])).generation == 8)
    #expect(try newest(file([9, 6, 7, 8])).generation == 9)
  }

  @Test("If a slot is torn at any offset, the previous generation is used")
  func tornSlot() throws {
    let before = file([5, 6, 7, 8])
    let after = file([9, 6, 7, 8])
    let slot = 1 * Superblock.slotLength
    for torn in stride(from: 0, to: Superblock.slotLength, by: 32) {
      var bytes = before
      bytes.replaceSubrange(slot..<(slot + torn), with: after[slot..<(slot + torn)])
      let generation = try newest(bytes).generation
      #expect(generation == 8 || bytes == after, "torn at \(torn)")
    }
  }

  @Test("Without a complete slot, there is no superblock")
  func noSlot() {
    let error = FormatError(.wrongChecksum, in: "superblock file", at: 0)
    #expect(throws: error) { try newest([UInt8](repeating: 0, count: Superblock.fileLength)) }
    #expect(throws: error) { try newest([]) }
    #expect(throws: error) { try newest(Array(file([1]).prefix(2 * Superblock.slotLength - 1))) }
  }

  @Test("A slot at the position of another slot is ignored")
  func misplacedSlot() throws {
    var bytes = file([1, 2])
    var stray = Superblock(store: Sample.store, segmentCapacity: 4096)
    stray.generation = 7
    put(stray, into: &bytes, slot: 0)
    #expect(try newest(bytes).generation == 2)
  }

  @Test("If the newest slot has an unknown version or feature, no older slot is used instead")
  func newestNotUnderstood() {
    var bytes = file([1, 2])
    var strange = Superblock(store: Sample.store, segmentCapacity: 4096)
    strange.generation = 3
    strange.incompatibleFeatures = 1 << 63
    put(strange, into: &bytes, slot: 3)
    let detail = "it needs feature bit 63 (a feature of a later version)"
    #expect(throws: FormatError(.unsupported, in: "superblock file", at: 3 * 4096 + 56, detail: detail)) {
      try newest(bytes)
    }
  }

  @Test("A superblock with unknown read-only compatible features forbids writing, but not reading")
  func readOnly() throws {
    let superblock = try newest(file([1]) { $0.readOnlyCompatibleFeatures = 8 })
    #expect(!superblock.allowsWriting)
    #expect(superblock.featuresToWrite == "it needs feature bit 3 (a feature of a later version)")
    #expect(try newest(file([1]) { $0.compatibleFeatures = 8 }).allowsWriting)
  }

  @Test("A reader accepts a later minor version, and ignores its spare bytes")
  func laterMinor() {
    let error = Structure.superblock.error { bytes in
      bytes.set(7 as UInt16, at: 10)
      bytes.set(UInt64.max, at: 128)
      bytes.set(UInt64.max, at: 4084)
    }
    #expect(error == nil)
  }
}
