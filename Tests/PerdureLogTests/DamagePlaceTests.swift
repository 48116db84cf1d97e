import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Errors about damage must name the right byte: manual repair depends on it.
@Suite("Offsets in errors about damage")
struct DamagePlaceTests {
  private static let segment = StoreFileName.segment(1).string

  /// The offset that the error of `body` names. The error must be a corruption of the first
  /// segment.
  private func byte(_ body: () throws -> Void) throws -> Int {
    do { try body() } catch let error as StoreError {
      let place = try #require(error.place)
      #expect(place.hasPrefix(Self.segment) && error.code == .corruption, "\(error)")
      return try #require(place.split(separator: " ").last.flatMap { Int($0) })
    }
    throw Violation("no error was thrown")
  }

  /// The first offset at which `bytes` contain `value`.
  private func place(of value: [UInt8], in bytes: [UInt8]) throws -> Int {
    try #require((0...(bytes.count - value.count)).first { bytes[$0...].starts(with: value) })
  }

  @Test(
    "An error about the records of a frame names the damaged record",
    arguments: [0, 5, 7, 12, 15, 17, 24 + 30])
  func record(at place: Int) throws {
    var memory = try MemoryStore()
    memory.options.checkpoints = .manual
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let values = (1...3 as ClosedRange<UInt8>).map { [UInt8](repeating: $0, count: 50) }
    try store.write { transaction in
      for (id, value) in values.enumerated() { try transaction.put(value, id: UInt64(id), in: rows) }
    }
    let file = try memory.fileSystem.open("/store.perdure/" + Self.segment, .readWrite)
    let bytes = try file.read(Int(file.size()), at: 0)
    let record = try self.place(of: values[1], in: bytes) - 24
    // Flips the highest bit, so that a length becomes very large.
    try file.write([bytes[record + place] ^ 0x80], at: UInt64(record + place))
    let frame = try self.place(of: values[0], in: bytes) - 24 - FrameHeader.length
    let read = try byte { try store.readFrame(at: frame, ofSegment: 1) }
    #expect((record..<(record + 80)).contains(read))
    try store.close()
    let opened = try byte { _ = try memory.open() }
    #expect((record..<(record + 80)).contains(opened))
  }

  @Test("An error about a part of a grouped segment names an offset in this part")
  func grouped() throws {
    let grouped = try GroupedStore(segmentCapacityBytes: 16 << 10, groupLength: 1024)
    let store = try grouped.open()
    let rows = try store.keyspace("rows", .dense)
    try GroupedStore.fill(store, 0..<60)
    try GroupedStore.group(store)
    try store.checkpoint()
    try store.close()
    let bytes = try grouped.bytes(ofSegment: 1)
    let footer = try bytes.withUnsafeBytes { bytes in
      let header = try SegmentHeader(reading: bytes)
      return try RewrittenFooter(
        reading: bytes.part(bytes.count - RewrittenFooter.length, RewrittenFooter.length),
        store: header.store, number: 1, fileLength: bytes.count)
    }
    func named(_ place: Int, _ mask: UInt8 = 1) throws -> Int {
      try grouped.write([bytes[place] ^ mask], at: place, ofSegment: 1)
      defer { try? grouped.write([bytes[place]], at: place, ofSegment: 1) }
      return try byte {
        let opened = try grouped.open()
        for id in 0..<60 as Range<UInt64> { _ = try opened.snapshot().value(id: id, in: rows) }
      }
    }
    for place in [footer.offset, footer.offset + 8, footer.fileLength - 1] {
      #expect((footer.offset..<footer.fileLength).contains(try named(place)), "footer: \(place)")
    }
    for place in stride(from: footer.groupTableOffset, to: footer.offset, by: 12) {
      let entry = (place - footer.groupTableOffset) / GroupEntry.length
      let start = footer.groupTableOffset + entry * GroupEntry.length
      #expect((start..<(start + GroupEntry.length)).contains(try named(place)), "table: \(place)")
    }
    #expect((footer.mapOffset..<footer.tableOffset).contains(try named(footer.mapOffset + 9)))
    #expect(try named(footer.tableOffset) == footer.tableOffset)
  }

  @Test("An error about a record in an uncompressed group names the offset in the file")
  func plainGroup() throws {
    let grouped = try GroupedStore(segmentCapacityBytes: 16 << 10, groupLength: 1024)
    let store = try grouped.open()
    let rows = try store.keyspace("rows", .dense)
    var random = SeededGenerator(seed: 7)
    let noise = (0..<1500).map { _ in UInt8.random(in: 0...255, using: &random) }
    try GroupedStore.fill(store, 0..<20)
    try store.write { for id in 50...52 as ClosedRange<UInt64> { try $0.put(noise, id: id, in: rows) } }
    try GroupedStore.fill(store, 60..<120)
    try GroupedStore.group(store)
    #expect(try store.groupedSegments().first == 1)
    try store.checkpoint()
    try store.close()
    let bytes = try grouped.bytes(ofSegment: 1)
    // The first copy of the value. The other copies refer to the first copy only if the group is
    // packed.
    let place = try self.place(of: noise, in: bytes)
    try grouped.write([bytes[place + 700] ^ 1], at: place + 700, ofSegment: 1)
    let again = try grouped.open()
    let read = try byte {
      for id in 50...52 as ClosedRange<UInt64> { _ = try again.snapshot().value(id: id, in: rows) }
    }
    #expect(read == place - RecordHeader.length - 8)
  }
}
