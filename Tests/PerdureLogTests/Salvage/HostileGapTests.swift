import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Bytes that look like headers must not need more time than other bytes.
@Suite("Salvaging hostile bytes")
struct HostileGapTests {
  /// These bytes have, at every multiple of 8, the header of a record with a value of 196,609
  /// bytes.
  private static let claims: [UInt8] = [0, 0, 0, 0, 1, 0, 3, 0]

  private static func claims(_ count: Int) -> [UInt8] {
    Array(repeatElement(claims, count: count / claims.count).joined())
  }

  /// Headers of frames of another store.
  private static func headers(_ count: Int) -> [UInt8] {
    let header = FrameHeader(
      kind: .commitEnd, part: 0, sequence: 1, payloadLength: 0, recordCount: 0, recordDigest: 0,
      chainDigest: 0, syncedOffset: 128)
    var bytes = [UInt8](repeating: 0, count: count / FrameHeader.length * FrameHeader.length)
    bytes.withUnsafeMutableBytes { bytes in
      for place in stride(from: 0, to: bytes.count, by: FrameHeader.length) {
        header.write(
          to: UnsafeMutableRawBufferPointer(rebasing: bytes[place...]), store: StoreID(high: 1, low: 2),
          position: LogPosition(segment: 1, offset: 128))
      }
    }
    return bytes
  }

  enum Bytes: String, CaseIterable { case claims, headers }

  @Test(
    "Salvaging half a mebibyte of bytes that look like headers takes less than a second",
    arguments: Bytes.allCases)
  func salvage(_ hostile: Bytes) throws {
    let length = 512 << 10
    let fileSystem = InMemoryFileSystem()
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 1 << 20
    let store = try Store(at: SalvagedStore.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in 1...3 as ClosedRange<UInt64> { try store.write { try $0.put([1, 2, 3], id: id, in: rows) } }
    let end = try store.engine.readingState { $0.end.offset }
    try store.close()
    let file = try fileSystem.open(
      SalvagedStore.path + "/" + StoreFileName.segment(1).string, .readWrite)
    try file.write(hostile == .claims ? Self.claims(length) : Self.headers(length), at: end)
    let start = ProofLimits.now()
    let report = try Store.salvage(from: SalvagedStore.path, to: SalvagedStore.target, options: options)
    let seconds = ProofLimits.now() - start
    print("\(hostile): \(seconds) s")
    #expect(seconds < ProofLimits.secondsMax)
    #expect(report.keys == 3)
  }

  @Test("Checksums that do not match are computed over at most twice the bytes of a gap")
  func fruitlessByteCount() {
    for count in [200 << 10, 240 << 10] {
      let bytes = Self.claims(count)
      bytes.withUnsafeBytes { bytes in
        let search = RecordSearch(inGap: bytes, at: 0, from: 0, endIsKnown: true, .unbound)
        #expect(search.found.isEmpty && search.fruitlessByteCount <= 2 * count)
      }
    }
  }

  @Test("A long record between hostile bytes is still found")
  func longRecord() {
    var batch = WriteBatch()
    let value = [UInt8](repeating: 5, count: 9000)
    [UInt8](repeating: 1, count: 8).withUnsafeBytes { key in
      value.withUnsafeBytes { batch.append(.put, keyspace: 1, key: key, value: $0) }
    }
    let record = Array(batch.records.bytes)
    let bytes = Self.claims(220 << 10) + record + Self.claims(1 << 10)
    bytes.withUnsafeBytes { bytes in
      let search = RecordSearch(inGap: bytes, at: 0, from: 0, endIsKnown: false, .unbound)
      #expect(search.found.map(\.offset) == [220 << 10] && search.found.map(\.length) == [record.count])
    }
  }

  @Test("Records hidden by damaged lengths of other records are found")
  func hidden() {
    var batch = WriteBatch()
    for _ in 0..<3 {
      batch.append(.put, keyspace: 1, key: .init(start: nil, count: 0), value: .init(start: nil, count: 0))
    }
    var three = Array(batch.records.bytes)
    #expect(three.count == 48)
    // The length of the first record's value includes the second record.
    three[12] = 16
    let bytes = Array(repeatElement(three, count: 2000).joined())
    bytes.withUnsafeBytes { bytes in
      let search = RecordSearch(inFrame: bytes, at: 0, count: 6000, endIsKnown: true, .unbound)
      #expect(search.found.count == 4000 && search.damages.count == 2000)
    }
  }

  @Test("The checksum of a range, computed from the table of stretches, equals the checksum of its bytes")
  func stretches() {
    var random = SeededGenerator.forTest("stretches")
    let bytes = (0..<70_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    bytes.withUnsafeBytes { bytes in
      let stretches = StretchChecksums(bytes)
      for round in 0..<500 {
        let start = random.pick(0..<bytes.count)
        let length = min(random.pick(0...(round % 2 == 0 ? 200 : 70_000)), bytes.count - start)
        let range = start..<(start + length)
        #expect(
          stretches.checksum(of: range, in: bytes) == Checksum.crc32c(bytes.part(start, length)),
          "\(range), seed \(random.seed)")
      }
      #expect(stretches.checksum(of: 0..<bytes.count, in: bytes) == Checksum.crc32c(bytes))
    }
  }

  /// Segments of various sizes.
  private static func segments(_ count: UInt64) -> [SalvageSource.SourceSegment] {
    (1...count).map { number in
      SalvageSource.SourceSegment(
        number: number * number, name: "\(number)", size: number % 3 == 0 ? 4096 : Int(number) * 5000,
        header: nil)
    }
  }

  @Test(
    "A header that was moved by whole sectors is recognised, because its checksum is valid for only one position"
  )
  func places() throws {
    var random = SeededGenerator.forTest("places of headers")
    let store = StoreID(high: random.next(), low: random.next())
    let segments = Self.segments(60)
    let places = HeaderPlaces(segments, store)
    for _ in 0..<300 {
      let segment = random.pick(segments)
      let offset = random.pick(16...((segment.size - 8) / 8)) * 8
      let position = LogPosition(segment: segment.number, offset: UInt64(offset))
      var bytes = [UInt8](repeating: 0, count: FrameHeader.length)
      let header = FrameHeader(
        kind: .commitEnd, part: 0, sequence: random.next() >> 2 | 1, payloadLength: 8, recordCount: 1,
        recordDigest: 3, chainDigest: 4, syncedOffset: 128)
      bytes.withUnsafeMutableBytes { header.write(to: $0, store: store, position: position) }
      bytes.withUnsafeBytes { bytes in
        #expect(places.positions(for: bytes, at: offset + 512) == [position], "seed \(random.seed)")
        #expect(places.hasPlace(for: bytes, at: offset % 512))
        #expect(!places.hasPlace(for: bytes, at: offset + 8))
        #expect(
          !HeaderPlaces(segments.filter { $0.number != segment.number }, store).hasPlace(
            for: bytes, at: offset))
      }
      bytes[40] ^= 1
      bytes.withUnsafeBytes { bytes in
        #expect(!places.hasPlace(for: bytes, at: offset), "seed \(random.seed)")
      }
    }
  }

  @Test("For invalid headers, almost no position is tried")
  func tries() {
    let places = HeaderPlaces(Self.segments(60), StoreID(high: 3, low: 4))
    var random = SeededGenerator.forTest("headers that are right nowhere")
    var tried = 0
    for _ in 0..<2000 {
      let bytes = (0..<FrameHeader.length).map { _ in UInt8.random(in: 0...255, using: &random) }
      bytes.withUnsafeBytes { tried += places.positions(for: $0, at: 512).count }
    }
    #expect(tried < 20, "seed \(random.seed)")
  }
}
