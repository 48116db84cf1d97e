import PerdureFileIO
import PerdureFormat
import Testing

@testable import PerdureLog

/// FORMAT.md, rules B6 and R4: a crash during the creation of a segment leaves a file that is not a
/// segment.
@Suite("Interrupted creation of segments")
struct SegmentBirthTests {
  private func fill(_ store: Store, _ byte: UInt8) throws {
    let numbers = try store.keyspace("numbers", .dense)
    for id in 0..<20 as Range<UInt64> {
      try store.write { try $0.put([UInt8](repeating: byte, count: 1000), id: id, in: numbers) }
    }
  }

  private func segments(_ memory: MemoryStore) throws -> [String] {
    try memory.fileSystem.contents(of: "/store.perdure").filter { $0.hasSuffix(".segment") }.sorted()
  }

  /// Creates a file of the next number, as an interrupted creation may leave it.
  private func leave(_ bytes: [UInt8], after memory: MemoryStore) throws {
    let last = try #require(segments(memory).last).dropLast(".segment".count)
    let number = try #require(UInt64(last, radix: 16)) + 1
    let path = "/store.perdure/" + StoreFileName.segment(number).string
    let file = try memory.fileSystem.open(path, .create)
    try file.write(bytes, at: 0)
    try file.close()
  }

  @Test(
    "After interrupted creations, the log continues in a later segment and opens repeatedly",
    arguments: [(0, 0), (128, 0), (127, 0x89), (500, 0xA5)] as [(Int, UInt8)])
  func unborn(_ count: Int, _ byte: UInt8) throws {
    let remains = [UInt8](repeating: byte, count: count)
    let memory = try MemoryStore(segmentCapacityBytes: 8192)
    for round in 1...4 as ClosedRange<UInt8> {
      let store = try memory.open()
      try fill(store, round)
      try store.close()
      try leave(remains, after: memory)
      if round % 2 == 0 { try leave(remains, after: memory) }
    }
    let store = try memory.open()
    let numbers = try store.keyspace("numbers", .dense)
    #expect(try store.snapshot().value(id: 19, in: numbers) == [UInt8](repeating: 4, count: 1000))
    #expect(try store.verify().isClean)
  }

  @Test("If a frame follows the damaged header of the last segment, opening reports corruption")
  func damagedHeader() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 8192)
    let store = try memory.open()
    try fill(store, 1)
    try store.close()
    let path = "/store.perdure/" + (try #require(segments(memory).last))
    let file = try memory.fileSystem.open(path, .readWrite)
    try file.write([UInt8](repeating: 0, count: SegmentHeader.length), at: 0)
    let error = #expect(throws: StoreError.self) { _ = try memory.open() }
    #expect(error?.code == .corruption)
  }

  @Test("A last segment of another store is corruption, not an interrupted creation")
  func foreignSegment() throws {
    let memory = try MemoryStore(segmentCapacityBytes: 8192)
    let store = try memory.open()
    try fill(store, 1)
    try store.close()
    let last = try #require(segments(memory).last).dropLast(".segment".count)
    let number = try #require(UInt64(last, radix: 16)) + 1
    let header = SegmentHeader(
      store: StoreID(high: 1, low: 1), number: number, capacity: 8192, firstSequence: 1,
      predecessorEnd: .start)
    var bytes = [UInt8](repeating: 0, count: SegmentHeader.length)
    bytes.withUnsafeMutableBytes { header.write(to: $0) }
    try leave(bytes, after: memory)
    let error = #expect(throws: StoreError.self) { _ = try memory.open() }
    #expect(error?.code == .corruption)
  }
}
