import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// In these tests, the file of a segment is replaced by its version before compaction.
@Suite("A salvage with a segment file of an older generation")
struct SalvageOlderGenerationTests {
  private static let path = SalvagedStore.path
  private static let removed: UInt64 = 1
  private static let overwritten: UInt64 = 1000

  /// Why the salvage does not know the newest generations of segments; `none` if it knows them.
  enum Trace: CaseIterable {
    case none, indexFileDamaged, indexFileMissing, superblockMissing, foreignSuperblock
    case noLaterCheckpoint
  }

  private func files(_ fileSystem: SimulatedFileSystem) -> [String: [UInt8]] {
    let image = fileSystem.currentImage
    let paths = image.paths.filter { !$0.hasSuffix("/") && !$0.hasSuffix("/LOCK") }
    return Dictionary(
      uniqueKeysWithValues: paths.map { (SalvagedStore.name($0), image.bytes(at: $0) ?? []) })
  }

  private func options(_ fileSystem: SimulatedFileSystem) -> StoreOptions {
    var options = SalvagedStore.options(fileSystem, 4096)
    options.reserveBytes = 0
    options.compactsAutomatically = false
    options.checkpoints = .manual
    return options
  }

  /// A store in which a key was removed, and compaction has dropped its record and its tombstone.
  /// Then the first segment's file is replaced by its version before compaction.
  private func files(missing trace: Trace) throws -> [String: [UInt8]] {
    let fileSystem = SimulatedFileSystem()
    let store = try Store(at: Self.path, options: options(fileSystem))
    let rows = try store.keyspace("rows", .dense)
    // Every segment has live rows and garbage, so compaction rewrites every segment and removes no
    // segment.
    func put(_ ids: ClosedRange<UInt64>) throws {
      for id in Array(ids) + [UInt64](repeating: Self.overwritten, count: 20) {
        try store.write { try $0.put([UInt8](repeating: 1, count: 300), id: id, in: rows) }
      }
    }
    try put(1...8)
    try store.write { try $0.remove(id: Self.removed, in: rows) }
    try put(9...12)
    try put(13...16)
    let before = files(fileSystem)
    // A later run drops the tombstone, because the first run has removed the record.
    for _ in 0..<3 { try store.compact() }
    if trace != .noLaterCheckpoint {
      try store.checkpoint()
      try store.close()
    }
    var files = files(fileSystem)
    let first = StoreFileName.segment(1).string
    try #require(files[first] != before[first])
    let isTombstoneLeft = try hasTombstone(files)
    try #require(!isTombstoneLeft)
    files[first] = before[first]
    let indexes = files.keys.filter { $0.hasSuffix(".index") }
    try #require(indexes.isEmpty == (trace == .noLaterCheckpoint))
    switch trace {
    case .none, .noLaterCheckpoint: break
    case .indexFileDamaged: for name in indexes { files[name] = files[name]?.map { _ in 0x55 } }
    case .indexFileMissing: for name in indexes { files[name] = nil }
    case .superblockMissing: files["SUPERBLOCK"] = nil
    case .foreignSuperblock:
      let other = SimulatedFileSystem()
      try Store(at: Self.path, options: options(other)).close()
      files["SUPERBLOCK"] = self.files(other)["SUPERBLOCK"]
    }
    return files
  }

  /// Whether the log has a tombstone.
  private func hasTombstone(_ files: [String: [UInt8]]) throws -> Bool {
    for (name, bytes) in files {
      guard case .segment(let number)? = StoreFileName(name) else { continue }
      let isFound = try bytes.withUnsafeBytes { bytes in
        let header = try SegmentHeader(reading: bytes)
        var search = SegmentSearch(bytes, number, header.store, end: nil, durableEnd: 0)
        while let piece = search.next() {
          guard case .frame(_, _, let payload) = piece else { continue }
          var records = SealedRecords(in: bytes.part(payload.lowerBound, payload.count))
          while let (record, _, _) = try records.next() {
            if record.header.kind == .tombstone { return true }
          }
        }
        return false
      }
      if isFound { return true }
    }
    return false
  }

  private func salvage(_ files: [String: [UInt8]]) throws -> (SalvageReport, Set<UInt64>) {
    let fileSystem = SimulatedFileSystem()
    try fileSystem.createDirectory(Self.path)
    for (name, bytes) in files {
      try fileSystem.open(Self.path + "/" + name, .create).write(bytes, at: 0)
    }
    let report = try Store.salvage(
      from: Self.path, to: SalvagedStore.target, options: options(fileSystem))
    let content = try SalvagedStore.content(of: SalvagedStore.target, fileSystem)
    let ids = content.keys.map { key in
      key.key.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    }
    return (report, Set(ids))
  }

  @Test("If a checkpoint has a later generation, the report names the file and the key that reappears")
  func named() throws {
    let (report, ids) = try salvage(files(missing: .none))
    #expect(ids == Set(1...16).union([Self.overwritten]))
    #expect(report.damages.contains { $0.reason == .outdated && $0.file == StoreFileName.segment(1).string })
    #expect(report.olderKeys.contains { $0.id == Self.removed })
  }

  @Test(
    "If no data shows that the file is older, the removed key reappears and the report does not name it",
    arguments: Trace.allCases.filter { $0 != .none })
  func silent(_ trace: Trace) throws {
    // No data on the medium shows that the file is older (`Store.salvage`).
    let (report, ids) = try salvage(files(missing: trace))
    #expect(ids == Set(1...16).union([Self.overwritten]))
    #expect(report.damages.allSatisfy { $0.reason != .outdated })
    #expect(report.keysMaybeOlder == 0 && report.olderKeys.isEmpty)
  }
}
