import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// If a directory has files of two stores, the segments decide which store is salvaged.
@Suite("Salvaging a store with files of another store")
struct SalvageStoreEvidenceTests {
  private static let path = SalvagedStore.path

  /// The files of a closed store with ids 1 to `count`, and with long values in blob files.
  private func files(_ tag: UInt8, count: UInt64, blobs: UInt64 = 0) throws -> [String: [UInt8]] {
    let fileSystem = SimulatedFileSystem()
    let store = try Store(at: Self.path, options: SalvagedStore.options(fileSystem, 4096))
    let rows = try store.keyspace("rows", .dense)
    for id in 1...count {
      try store.write { try $0.put([UInt8](repeating: tag, count: 700), id: id, in: rows) }
    }
    for id in 0..<blobs {
      try store.write { try $0.put([UInt8](repeating: tag, count: 2000), id: 1000 + id, in: rows) }
    }
    try store.close()
    let image = fileSystem.currentImage
    let paths = image.paths.filter { !$0.hasSuffix("/") && !$0.hasSuffix("/LOCK") }
    return Dictionary(
      uniqueKeysWithValues: paths.map { (SalvagedStore.name($0), image.bytes(at: $0) ?? []) })
  }

  private func salvage(_ files: [String: [UInt8]]) throws -> (SalvageReport, [[UInt8]]) {
    let fileSystem = SimulatedFileSystem()
    try fileSystem.createDirectory(Self.path)
    for (name, bytes) in files {
      try fileSystem.open(Self.path + "/" + name, .create).write(bytes, at: 0)
    }
    let options = SalvagedStore.options(fileSystem, 4096)
    let report = try Store.salvage(from: Self.path, to: SalvagedStore.target, options: options)
    return (report, Array(try SalvagedStore.content(of: SalvagedStore.target, fileSystem).values))
  }

  private func segment(_ number: UInt64) -> String { StoreFileName.segment(number).string }

  @Test("With the superblock of another store, all values are restored", arguments: [1, 12] as [UInt64])
  func foreignSuperblock(count: UInt64) throws {
    var own = try files(1, count: count, blobs: 2)
    own["SUPERBLOCK"] = try files(2, count: 3)["SUPERBLOCK"]
    let (report, values) = try salvage(own)
    #expect(values.count == Int(count) + 2 && values.allSatisfy { $0.first == 1 })
    #expect(report.damages.map(\.reason) == [.foreign] && report.damages.map(\.file) == ["SUPERBLOCK"])
  }

  @Test("If only frames identify the store, all values are restored")
  func foreignSuperblockWithoutHeaders() throws {
    var own = try files(1, count: 12)
    own["SUPERBLOCK"] = try files(2, count: 3)["SUPERBLOCK"]
    for name in own.keys where name.hasSuffix(".segment") {
      own[name]?.replaceSubrange(0..<128, with: [UInt8](repeating: 0, count: 128))
    }
    let (report, values) = try salvage(own)
    #expect(values.count == 12 && values.allSatisfy { $0.first == 1 })
    #expect(report.damages.contains { $0.reason == .foreign && $0.file == "SUPERBLOCK" })
  }

  @Test(
    "A segment of another store is reported, and only the segment that it replaces is lost",
    arguments: [1, 2, 3] as [UInt64])
  func foreignSegment(number: UInt64) throws {
    var own = try files(1, count: 16)
    own[segment(number)] = try files(2, count: 16)[segment(number)]
    let (report, values) = try salvage(own)
    #expect(values.count >= 8 && values.allSatisfy { $0.first == 1 })
    #expect(report.damages.contains { $0.reason == .foreign && $0.file == segment(number) })
    #expect(number == 1 || report.keysMaybeOlder > 0)
  }

  @Test("A header from another store's segment counts as a damaged header")
  func foreignHeader() throws {
    var own = try files(1, count: 3)
    let other = try #require(try files(2, count: 3)[segment(1)])
    own[segment(1)]?.replaceSubrange(0..<128, with: other[..<128])
    let (report, values) = try salvage(own)
    #expect(values.count == 3 && values.allSatisfy { $0.first == 1 })
    #expect(report.damages.map(\.reason) == [.segmentHeader])
  }

  @Test("A blob file of another store is reported as damage")
  func foreignBlob() throws {
    var own = try files(1, count: 3, blobs: 3)
    let name = StoreFileName.blob(2).string
    own[name] = try files(2, count: 1, blobs: 2)[name]
    let (report, values) = try salvage(own)
    #expect(values.count == 5 && values.allSatisfy { $0.first == 1 })
    #expect(report.damages.map(\.file) == [name])
  }
}
