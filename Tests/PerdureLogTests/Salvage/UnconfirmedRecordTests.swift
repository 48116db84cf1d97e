import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Compaction moves records, but their checksums still cover the old addresses. Without the
/// segment's map, only a neighbour confirms such an address (`RecordSeals`, RS3).
@Suite("Searching records that compaction moved, without their map")
struct UnconfirmedRecordTests {
  /// The distance by which compaction moved the records in these tests.
  private static let distance = 1000

  /// A record whose checksum covers the address that it had before compaction.
  private func record(_ key: UInt8, at place: Int) -> [UInt8] {
    var batch = WriteBatch()
    [key].withUnsafeBytes { key in
      [UInt8](repeating: 7, count: 24).withUnsafeBytes {
        batch.append(.put, keyspace: 1, key: key, value: $0)
      }
    }
    var bytes = Array(batch.records.bytes)
    let word = RecordAddress(
      segment: 1, offset: place + Self.distance, recordLength: bytes.count, isBlob: false
    ).rawValue
    bytes.withUnsafeMutableBytes { bytes in
      let record = try? Record(reading: UnsafeRawBufferPointer(bytes), .none)
      let end = record?.header.unpaddedLength ?? 4
      let covered = UnsafeRawBufferPointer(bytes).part(4, end - 4)
      bytes.setInteger(Checksum.crc32c(covered, thenWord: word), at: 0)
    }
    return bytes
  }

  private func records(_ count: UInt8) -> [[UInt8]] {
    var place = RecordSeals.firstOriginal
    return (1...count).map { key in
      let bytes = record(key, at: place)
      place += bytes.count
      return bytes
    }
  }

  /// The seals of segment 1, computed without its header and its map.
  private var seals: RecordSeals {
    RecordSeals(of: SalvageSource.SourceSegment(number: 1, name: "1", size: 0, header: nil), nil)
  }

  private func search(inFrame bytes: [UInt8], count: Int) -> RecordSearch {
    bytes.withUnsafeBytes {
      RecordSearch(
        inFrame: $0, at: RecordSeals.firstOriginal, count: count, endIsKnown: true, seals)
    }
  }

  @Test("The only record of a gap is found, at the start of the gap or after damaged bytes")
  func onlyRecordOfGap() {
    for damaged in [0, 8, 400] {
      let bytes = record(1, at: RecordSeals.firstOriginal + damaged)
      let search = ([UInt8](repeating: 0, count: damaged) + bytes).withUnsafeBytes {
        RecordSearch(inGap: $0, at: RecordSeals.firstOriginal, from: 0, endIsKnown: true, seals)
      }
      #expect(search.found.map(\.offset) == [damaged])
      #expect(search.damages == (damaged == 0 ? [] : [0..<damaged]))
      #expect(search.originalEnd == RecordSeals.firstOriginal + damaged + Self.distance + bytes.count)
    }
  }

  @Test("The last record of a frame is found after a damaged record")
  func lastRecordOfFrame() {
    let parts = records(3)
    let length = parts[0].count
    var bytes = Array(parts.joined())
    bytes[length + 20] ^= 1
    let result = search(inFrame: bytes, count: 3)
    #expect(result.found.map(\.offset) == [0, 2 * length])
    #expect(result.damages == [length..<(2 * length)])
  }

  @Test("If a damaged length skips a record, the skipped record is found")
  func skippedRecord() {
    let parts = records(4)
    let length = parts[0].count
    for damaged in 0...2 {
      var bytes = Array(parts.joined())
      // The length of the record now includes the record after it.
      bytes[damaged * length + 12] += UInt8(length)
      let result = search(inFrame: bytes, count: 4)
      #expect(result.found.map(\.offset) == [0, 1, 2, 3].filter { $0 != damaged }.map { $0 * length })
      #expect(result.damages == [(damaged * length)..<((damaged + 1) * length)])
    }
  }
}

@Suite("Salvaging a compacted segment without its header and its map")
struct MovedRecordSalvageTests {
  private let fileSystem = SimulatedFileSystem()

  private var options: StoreOptions {
    var options = SalvagedStore.options(fileSystem, 4096)
    options.compactsAutomatically = false
    return options
  }

  private var segment: String { SalvagedStore.path + "/" + StoreFileName.segment(1).string }

  /// Makes commits of one record each, and removes the first ids, so that compaction moves the
  /// records after them.
  private func fill() throws {
    let store = try Store(at: SalvagedStore.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in 1...40 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: UInt8(id), count: 200), id: id, in: rows) }
    }
    try store.write { for id in 1...4 as ClosedRange<UInt64> { try $0.remove(id: id, in: rows) } }
    try store.compact()
    try store.close()
  }

  /// The frames of segment 1 that have a row, each with the key of its row.
  private func frames(in bytes: [UInt8]) throws -> [(range: Range<Int>, key: [UInt8])] {
    try bytes.withUnsafeBytes { bytes in
      let header = try SegmentHeader(reading: bytes)
      try #require(header.generation > 0)
      var search = SegmentSearch(bytes, 1, header.store, end: nil, durableEnd: 0)
      var frames: [(range: Range<Int>, key: [UInt8])] = []
      while let piece = search.next() {
        guard case .frame(_, let start, let payload) = piece else { continue }
        var records = SealedRecords(in: bytes.part(payload.lowerBound, payload.count))
        guard let record = try records.next()?.record, record.header.keyspace != 0 else { continue }
        frames.append((start..<payload.upperBound, Array(record.key)))
      }
      return frames
    }
  }

  @Test("A record without a frame header is restored if the frame before it is lost too")
  func withoutFrameHeader() throws {
    try fill()
    let whole = try SalvagedStore.content(of: SalvagedStore.path, fileSystem)
    let image = fileSystem.currentImage
    let bytes = try #require(image.bytes(at: segment))
    let frames = try frames(in: bytes)
    try #require(frames.count > 4)
    for (lost, damaged) in zip(frames, frames.dropFirst()) {
      // The map and the footer follow the frames.
      var content = Array(bytes[..<frames[frames.count - 1].range.upperBound])
      let header = damaged.range.prefix(FrameHeader.length)
      for place in Array(0..<SegmentHeader.length) + Array(lost.range) + Array(header) { content[place] = 0 }
      var copy = image
      copy.setBytes(content, at: segment)
      let fileSystem = copy.fileSystem()
      try fileSystem.remove(SalvagedStore.path + "/LOCK")
      _ = try Store.salvage(
        from: SalvagedStore.path, to: SalvagedStore.target,
        options: SalvagedStore.options(fileSystem, 64 << 10))
      let found = try SalvagedStore.content(of: SalvagedStore.target, fileSystem)
      #expect(found == whole.filter { $0.key.key != lost.key }, "\(damaged)")
    }
  }
}
