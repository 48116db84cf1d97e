import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Cases in which only one small detail shows that records are missing.
@Suite("Damage that a salvage could overlook")
struct SalvageSilentCaseTests {
  private let fileSystem = SimulatedFileSystem()
  private let path = SalvagedStore.path

  private var options: StoreOptions {
    var options = SalvagedStore.options(fileSystem, 4096)
    options.compactsAutomatically = false
    options.checkpoints = .manual
    options.reserveBytes = 0
    return options
  }

  private func segment(_ number: UInt64) -> String { path + "/" + StoreFileName.segment(number).string }

  private func bytes(_ number: UInt64) throws -> [UInt8] {
    let file = try fileSystem.open(segment(number), .read)
    return try file.read(Int(file.size()), at: 0)
  }

  private func replace(_ number: UInt64, with bytes: [UInt8]) throws {
    try fileSystem.remove(segment(number))
    try fileSystem.open(segment(number), .create).write(bytes, at: 0)
  }

  private func salvage() throws -> SalvageReport {
    try Store.salvage(from: path, to: SalvagedStore.target, options: options)
  }

  /// The frame offset, byte range and key of each record in a segment.
  private func records(_ number: UInt64) throws -> [(frame: Int, range: Range<Int>, key: [UInt8])] {
    var found: [(frame: Int, range: Range<Int>, key: [UInt8])] = []
    try bytes(number).withUnsafeBytes { bytes in
      let header = try SegmentHeader(reading: bytes)
      var search = SegmentSearch(bytes, number, header.store, end: nil, durableEnd: 0)
      while let piece = search.next() {
        guard case .frame(_, let start, let payload) = piece else { continue }
        var records = SealedRecords(in: bytes.part(payload.lowerBound, payload.count))
        while let (record, offset, _) = try records.next() {
          let place = payload.lowerBound + offset
          found.append((start, place..<(place + record.header.unpaddedLength), Array(record.key)))
        }
      }
    }
    return found
  }

  private func fill(_ ids: ClosedRange<UInt64> = 1...20) throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in ids { try store.write { try $0.put([UInt8](repeating: 1, count: 700), id: id, in: rows) } }
    try store.close()
  }

  @Test("A key whose older version was copied into a damaged frame is reported")
  func movedRecord() throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([UInt8](repeating: 1, count: 400), id: 1, in: rows) }
    try store.write { transaction in
      try transaction.put([UInt8](repeating: 3, count: 400), id: 2, in: rows)
      try transaction.put([UInt8](repeating: 2, count: 400), id: 1, in: rows)
    }
    try store.close()
    var content = try bytes(1)
    let records = try records(1).filter { $0.key.count == 8 && $0.range.count > 400 }
    try #require(records.count == 3)
    // The record of id 2 is damaged. The older record of id 1 replaces the newer one.
    content[records[1].range.upperBound - 1] ^= 1
    content.replaceSubrange(records[2].range, with: Array(content[records[0].range]))
    try replace(1, with: content)
    let report = try salvage()
    #expect(report.keys == 1 && report.olderKeys.map(\.id) == [1], "\(report)")
  }

  @Test("A rewritten segment that is cut off at the start of a frame is reported")
  func cutRewritten() throws {
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in 1...20 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 1, count: 300), id: id, in: rows) }
    }
    for id in 1...3 as ClosedRange<UInt64> { try store.write { try $0.put([2], id: id, in: rows) } }
    try store.compact()
    try store.close()
    let header = try bytes(1).withUnsafeBytes { try SegmentHeader(reading: $0) }
    try #require(header.generation > 0)
    let last = try #require(try records(1).last)
    try replace(1, with: Array(try bytes(1)[..<last.frame]))
    let report = try salvage()
    #expect(
      report.damages.contains { $0.file == StoreFileName.segment(1).string && $0.reason == .segmentEnd })
    #expect(report.keys == 19)
  }

  @Test("An empty segment file is reported, even if the header of the next segment is damaged")
  func emptySegment() throws {
    try fill()
    try replace(2, with: [])
    var third = try bytes(3)
    for place in 0..<128 { third[place] = 0 }
    try replace(3, with: third)
    let names = Set(try salvage().damages.map(\.file))
    #expect(names == [StoreFileName.segment(2).string, StoreFileName.segment(3).string])
  }
}
