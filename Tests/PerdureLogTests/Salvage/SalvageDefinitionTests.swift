import PerdureFileIO
import PerdureFormat
import Testing

@testable import PerdureLog

@Suite("Salvaging definitions and the end of the log")
struct SalvageDefinitionTests {
  private let disk = InMemoryFileSystem()

  private var options: StoreOptions { SalvagedStore.options(disk, 65536) }

  private func fill() throws {
    let store = try Store(at: "/s", options: options)
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([UInt8](repeating: 7, count: 900), id: 1, in: rows) }
    try store.close()
  }

  private func count(_ path: String) throws -> UInt64 {
    let store = try Store(at: path, options: options)
    let count = store.snapshot().count(in: try store.keyspace("rows", .dense))
    #expect(try store.verify().isClean)
    try store.close()
    return UInt64(count)
  }

  /// Appends a catalog record that the engine never writes.
  private func append(_ record: (key: [UInt8], value: [UInt8])) throws {
    let store = try Store(at: "/s", options: options)
    try store.engine.inTurn { state in
      try store.engine.appendCatalogRecord(record, state.catalog, &state)
    }
    try store.close()
  }

  @Test("Invalid keyspace names prevent opening, and a salvage restores the values")
  func names() throws {
    for (place, name) in [[], [UInt8](repeating: 65, count: 300)].enumerated() {
      try fill()
      try append(([1] + name, [2, 0, 0, 0, 0, 0, 0, 0]))
      let error = #expect(throws: StoreError.self) { _ = try Store(at: "/s", options: options) }
      #expect(error?.code == .corruption)
      _ = try Store.salvage(from: "/s", to: "/t\(place)", options: options)
      #expect(try count("/t\(place)") == 1)
      try Store.destroy(at: "/s", options: options)
    }
  }

  @Test("A unique index of sums is damage, and the salvaged store opens without it")
  func uniqueSums() throws {
    try fill()
    let store = try Store(at: "/s", options: options)
    let rows = try store.keyspace("rows", .dense)
    try store.close()
    let definition = IndexDefinition(
      name: "sums",
      source: .groupSums(
        of: .integersAndDoubles, keyspaces: [rows], extractor: SliceExtractor.name,
        parameters: SliceExtractor.parameters([.value(offset: 0, length: 8)])), isUnique: true)
    try append(CatalogRecord.index(DerivedIndex(id: 0, name: "sums", isUnique: true), definition))
    #expect(throws: StoreError.self) { _ = try Store(at: "/s", options: options) }
    let report = try Store.salvage(from: "/s", to: "/t", options: options)
    #expect(report.damages.map(\.reason) == [.definition] && report.indexes == 0)
    #expect(try count("/t") == 1)
  }

  @Test("A salvage restores no record of a commit that opening drops")
  func refusedCommit() throws {
    try fill()
    // Writes all slots of the superblock. An opening without a change writes none.
    for _ in 1...2 { try fill() }
    let segment = "/s/" + StoreFileName.segment(1).string
    let superblock = try bytes("/s/SUPERBLOCK")
    let end = try bytes(segment).count
    do {
      let store = try Store(at: "/s", options: options)
      let rows = try store.keyspace("rows", .dense)
      try store.write { transaction in
        for id in UInt64(2)...11 {
          try transaction.put([UInt8](repeating: UInt8(id), count: 1000), id: id, in: rows)
        }
      }
    }
    // The file has only a part of the frame, and the superblock is from before the commit.
    let torn = try bytes(segment).prefix(end + FrameHeader.length + 5 * 1024)
    for (path, bytes) in [(segment, Array(torn)), ("/s/SUPERBLOCK", superblock)] {
      try disk.remove(path)
      try disk.open(path, .create).write(bytes, at: 0)
    }
    let report = try Store.salvage(from: "/s", to: "/t", options: options)
    #expect(report.isClean && report.commitsIncomplete.isEmpty && report.recordsUnfinished > 0)
    #expect(try count("/t") == 1)
    // The remaining part is restored on request.
    _ = try Store.salvage(from: "/s", to: "/u", options: options, keepsUnfinishedCommits: true)
    #expect(try count("/u") > 1)
    #expect(try count("/s") == 1)
  }

  private func bytes(_ path: String) throws -> [UInt8] {
    let file = try disk.open(path, .read)
    return try file.read(Int(file.size()), at: 0)
  }
}
