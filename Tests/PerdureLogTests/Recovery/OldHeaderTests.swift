import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// FORMAT.md, M3, B6 and R4: if the header of a new segment was not written to the medium, the file
/// has old bytes there. They may be the header of an older segment.
@Suite("New segments with the header of an older one")
struct OldHeaderTests {
  private static let path = "/store.perdure"
  private let fileSystem = SimulatedFileSystem()

  private func options(readOnly: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 4096
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    options.isReadOnly = readOnly
    return options
  }

  private func segment(_ number: UInt64) -> String {
    Self.path + "/" + StoreFileName.segment(number).string
  }

  private func bytes(_ number: UInt64) throws -> [UInt8] {
    let file = try fileSystem.open(segment(number), .read)
    return try file.read(Int(file.size()), at: 0)
  }

  private func replace(_ number: UInt64, with bytes: [UInt8]) throws {
    if try fileSystem.kind(of: segment(number)) != nil { try fileSystem.remove(segment(number)) }
    try fileSystem.open(segment(number), .create).write(bytes, at: 0)
  }

  /// Writes ten values into several segments, and does not close the store.
  ///
  /// - Returns: The number of the last segment.
  private func fill(round: UInt64 = 0, compacts: Bool = false) throws -> UInt64 {
    let store = try Store(at: Self.path, options: options())
    let rows = try store.keyspace("rows", .dense)
    for id in (round * 10 + 1)...(round * 10 + 10) {
      try store.write { try $0.put([UInt8](repeating: UInt8(id), count: 700), id: id, in: rows) }
    }
    if compacts {
      try store.write { try $0.remove(id: 1, in: rows) }
      try store.compact()
    }
    return try store.engine.readingState { $0.end.segment }
  }

  private func check(_ store: Store, _ ids: ClosedRange<UInt64>) throws {
    let rows = try store.keyspace("rows", .dense)
    for id in ids {
      #expect(try store.snapshot().value(id: id, in: rows) == [UInt8](repeating: UInt8(id), count: 700))
    }
    #expect(try store.verify().isClean)
  }

  private func expectCorruption(_ number: UInt64) throws {
    for readOnly in [true, false] {
      let error = #expect(throws: StoreError.self) {
        try Store(at: Self.path, options: options(readOnly: readOnly))
      }
      #expect(error?.code == .corruption, "\(error.map { "\($0)" } ?? "")")
      #expect(error?.place?.hasPrefix(StoreFileName.segment(number).string) == true)
    }
  }

  @Test(
    "Opening, verification and salvage ignore a last segment with an older header, and find every commit",
    arguments: [0, 384, 4096])
  func opens(zerosBehind: Int) throws {
    let last = try fill()
    let header = try Array(bytes(1)[..<SegmentHeader.length]) + [UInt8](repeating: 0, count: zerosBehind)
    try replace(last + 1, with: header)
    try check(Store(at: Self.path, options: options(readOnly: true)), 1...10)
    let report = try Store.salvage(from: Self.path, to: "/salvaged", options: options())
    #expect(report.isClean && report.keys == 10 && report.keysMaybeOlder == 0, "\(report)")
    try check(Store(at: Self.path, options: options()), 1...10)
  }

  @Test(
    "The log continues after a segment with an older header, even if its file reappears after a power cut")
  func goesOn() throws {
    let last = try fill()
    let header = try Array(bytes(1)[..<SegmentHeader.length])
    try replace(last + 1, with: header)
    let next = try fill(round: 1)
    #expect(next > last + 1)
    try replace(last + 1, with: header)
    try check(Store(at: Self.path, options: options(readOnly: true)), 1...20)
    try check(Store(at: Self.path, options: options()), 1...20)
  }

  @Test("A reader can refresh while the next segment's file has an older header")
  func follower() throws {
    let last = try fill()
    let reader = try Store(at: Self.path, options: options(readOnly: true))
    let header = try Array(bytes(1)[..<SegmentHeader.length])
    try replace(last + 1, with: header)
    _ = try fill(round: 1)
    #expect(try reader.refresh())
    try check(reader, 1...20)
  }

  @Test("A header of another store in the last file is corruption")
  func otherStore() throws {
    let last = try fill()
    var header = try bytes(1).withUnsafeBytes { try SegmentHeader(reading: $0) }
    header.store = StoreID(high: 1, low: 2)
    try replace(last + 1, with: header.bytes)
    try expectCorruption(last + 1)
  }

  @Test("A header with a higher number is corruption, in the last file and in a skipped one")
  func higherNumber() throws {
    let last = try fill()
    var header = try bytes(last).withUnsafeBytes { try SegmentHeader(reading: $0) }
    header.number = last + 7
    try replace(last + 1, with: header.bytes)
    try expectCorruption(last + 1)
    try fileSystem.remove(segment(last + 1))
    try replace(last + 2, with: [])
    _ = try fill(round: 1)
    try replace(last + 1, with: header.bytes)
    try expectCorruption(last + 1)
  }

  @Test("An exchange of two segment files is corruption")
  func exchanged() throws {
    let last = try fill()
    for (a, b) in [(1, 2), (last - 1, last)] as [(UInt64, UInt64)] {
      let (first, second) = try (bytes(a), bytes(b))
      try replace(a, with: second)
      try replace(b, with: first)
      try expectCorruption(a)
      try replace(a, with: first)
      try replace(b, with: second)
    }
    try check(Store(at: Self.path, options: options()), 1...10)
  }

  @Test("A copy of an older segment over the last one is corruption", arguments: [false, true])
  func copied(isGrouped: Bool) throws {
    var packed = options()
    packed.compression.groupsColdRecords = isGrouped
    do {
      let store = try Store(at: Self.path, options: packed)
      let rows = try store.keyspace("rows", .dense)
      for round in 0..<3 as Range<UInt64> {
        for id in 1...20 as ClosedRange<UInt64> {
          let value = [UInt8](repeating: UInt8(id + round), count: 300)
          try store.write(durability: .processCrash) { try $0.put(value, id: id, in: rows) }
        }
      }
      if isGrouped { for _ in 0..<2 { try store.compact() } }
      try store.write(durability: .processCrash) { try $0.put([9], id: 1, in: rows) }
    }
    let names = try fileSystem.contents(of: Self.path).compactMap { name -> UInt64? in
      if case .segment(let number) = StoreFileName(name) { number } else { nil }
    }
    let headers = try names.map { number in
      try (number, bytes(number).withUnsafeBytes { try SegmentHeader(reading: $0) })
    }
    let (first, header) = try #require(headers.first { $0.1.isGrouped == isGrouped })
    let last = try #require(names.max())
    #expect(header.isGrouped == isGrouped && first < last)
    try replace(last, with: try bytes(first))
    try expectCorruption(last)
  }

  @Test("An older header is corruption if the superblock promises commits in the segment")
  func promised() throws {
    let last = try fill()
    try Store(at: Self.path, options: options()).close()
    try replace(last, with: Array(try bytes(1)[..<SegmentHeader.length]))
    try expectCorruption(last)
  }

  /// Power cuts during the creation of a segment. The segment's header may have bytes of removed
  /// files. A compaction removes the files.
  @Test("Power cuts that leave bytes of removed files in new segments lose no acknowledged commit")
  func powerCuts() throws {
    var explorer = CrashExplorer()
    (explorer.imagesPerOperationMax, explorer.makesStaleBytes) = (96, true)
    let options = { (fileSystem: any FileSystem) in
      var options = StoreOptions()
      options.fileSystem = fileSystem
      options.segmentCapacityBytes = 4096
      options.checkpoints = .manual
      options.compactsAutomatically = false
      options.reserveBytes = 0
      return options
    }
    let value = [UInt8](repeating: 1, count: 900)
    let report = try explorer.explore { fileSystem, marker in
      let store = try Store(at: Self.path, options: options(fileSystem))
      let rows = try store.keyspace("rows", .dense)
      for number in 1...24 {
        if number == 12 { try store.compact() }
        marker.begin(number)
        try store.write(durability: .powerLoss) {
          try $0.put(value + [UInt8(number)], id: UInt64(number % 4), in: rows)
        }
        marker.acknowledge(number)
      }
    } verify: { image, context in
      let fileSystem = image.fileSystem()
      guard image.paths.contains(Self.path + "/SUPERBLOCK") else { return }
      let store = try Store(at: Self.path, options: options(fileSystem))
      let rows = try store.keyspace("rows", .dense)
      let newest = try (0..<4 as Range<UInt64>).compactMap {
        try store.snapshot().value(id: $0, in: rows)?.last
      }.max()
      guard Int(newest ?? 0) >= context.acknowledged.max() ?? 0 else { throw Lost() }
    }
    #expect(report.violation == nil, "\(report)")
    #expect(report.lossCounts[.stale] ?? 0 > 0)
  }

  private struct Lost: Error {}
}

extension SegmentHeader {
  fileprivate var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.length)
    bytes.withUnsafeMutableBytes { write(to: $0) }
    return bytes
  }
}
