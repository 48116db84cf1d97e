import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// The first sector of a segment contains the segment's number. In these tests, the first sectors
/// of segments are exchanged between files.
@Suite("Salvaging segments whose first sectors were exchanged")
struct SalvageIdentityTests {
  /// The sources of the first sectors of segments 2 to 4.
  enum Move: CaseIterable {
    case exchange, cycle, copyOfMissing, copyOfPresent

    /// The segment whose first sector is copied, by the segment that gets the copy.
    var sources: [UInt64: UInt64] {
      switch self {
      case .exchange: [2: 3, 3: 2]
      case .cycle: [2: 3, 3: 4, 4: 2]
      case .copyOfMissing: [2: 4]
      case .copyOfPresent: [2: 3]
      }
    }

    var removed: UInt64? { self == .copyOfMissing ? 4 : nil }
  }

  /// Which of the segments 2 to 4 compaction has rewritten or grouped before.
  enum Kind: CaseIterable {
    case notRewritten, oneRewritten, rewritten, grouped

    var overwritten: [UInt64] {
      switch self {
      case .notRewritten: []
      case .oneRewritten: [2]
      case .rewritten, .grouped: [2, 3, 4]
      }
    }
  }

  private static let sector = SalvageScan.sectorLength

  private static func file(_ number: UInt64) -> String {
    SalvagedStore.path + "/" + StoreFileName.segment(number).string
  }

  /// A store whose segments 2 to 4 each have one frame, which begins in the first sector.
  private static func store(_ kind: Kind) throws -> SalvagedStore {
    let fileSystem = SimulatedFileSystem()
    var options = SalvagedStore.options(fileSystem, 4096)
    options.compactsAutomatically = false
    if kind == .grouped {
      options.compression.groupsColdRecords = true
      options.compression.groupLengthTarget = 512
    }
    var random = SeededGenerator(seed: 1)
    let store = try Store(at: SalvagedStore.path, options: options)
    let rows = try store.keyspace("rows", .dense)
    func put(_ ids: [UInt64]) throws {
      try store.write { transaction in
        for id in ids {
          let value = (0..<380).map { _ in UInt8.random(in: 0...255, using: &random) }
          try transaction.put(value, id: id, in: rows)
        }
      }
    }
    for segment in 1...5 as ClosedRange<UInt64> { try put((0..<9).map { 10 * segment + $0 }) }
    for segment in kind.overwritten { try put([1, 4, 5, 8].map { 10 * segment + $0 }) }
    for _ in 0..<2 { try store.compact() }
    try store.close()
    return try SalvagedStore(fileSystem.currentImage)
  }

  /// The values of the newest records outside the moved sectors.
  private static func expected(of store: SalvagedStore, after move: Move) -> [StoredKey: [UInt8]] {
    let moved = Set(move.sources.keys.map(file))
    var values: [StoredKey: [UInt8]] = [:]
    for record in store.records where record.place.keyspace == "rows" {
      let isInMoved = moved.contains(record.file) && record.range.lowerBound < sector
      if isInMoved || record.file == move.removed.map(file) { continue }
      values[record.place] = record.value
    }
    return values
  }

  private static func damaged(_ store: SalvagedStore, by move: Move) throws -> SimulatedFileSystem {
    var image = store.image
    for (target, source) in move.sources {
      var bytes = try #require(store.image.bytes(at: file(target)))
      let head = try #require(store.image.bytes(at: file(source)))[..<sector]
      bytes.replaceSubrange(..<sector, with: head)
      image.setBytes(bytes, at: file(target))
    }
    let fileSystem = image.fileSystem()
    if let removed = move.removed { try fileSystem.remove(file(removed)) }
    return fileSystem
  }

  @Test(
    "If segments have the first sectors of other segments, only the records in these sectors are lost",
    arguments: Move.allCases, Kind.allCases)
  func moved(_ move: Move, _ kind: Kind) throws {
    let store = try Self.store(kind)
    let generations = try (2...4 as ClosedRange<UInt64>).map { number in
      try (store.image.bytes(at: Self.file(number)) ?? []).withUnsafeBytes {
        try SegmentHeader(reading: $0).generation
      }
    }
    try #require(generations.map { $0 > 0 } == (2...4).map { kind.overwritten.contains($0) })
    for number in 2...4 as ClosedRange<UInt64> {
      try #require(store.frames.count { $0.file == Self.file(number) } == 1)
    }
    let expected = Self.expected(of: store, after: move)
    try #require(expected.count >= 25)
    let fileSystem = try Self.damaged(store, by: move)
    let report = try Store.salvage(
      from: SalvagedStore.path, to: SalvagedStore.target, options: SalvagedStore.options(fileSystem, 4096))
    let found = try SalvagedStore.content(of: SalvagedStore.target, fileSystem)
    let lost = expected.filter { found[$0.key] != $0.value }.keys.map { $0.key[0] }.sorted()
    #expect(lost.isEmpty, "ids \(lost) of \(expected.count) are lost; \(report)")
    #expect(!report.damages.contains { $0.reason == .foreign }, "\(report)")
  }
}
