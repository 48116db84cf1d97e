import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

// A test whose title begins with the label of an invariant breaks only this invariant, and expects
// only findings of this invariant.

@Suite("Verification of a store")
struct VerificationTests {
  private let memory: MemoryStore
  private let store: Store
  private let rows: Keyspace
  private let names: Keyspace
  private let index: DerivedIndex

  init() throws {
    memory = try MemoryStore(segmentCapacityBytes: 4096)
    store = try memory.open()
    rows = try store.keyspace("rows", .dense)
    names = try store.keyspace("names", .bytes)
    index = try store.defineIndex(Self.definition(rows, isUnique: false))
    for id in 1...20 as ClosedRange<UInt64> {
      try store.write { transaction in
        try transaction.put([UInt8(id)] + [UInt8](repeating: 7, count: 300), id: id, in: rows)
        try transaction.put([], key: Array("name \(id)".utf8), in: names)
      }
    }
    try store.write { try $0.put([21] + [UInt8](repeating: 7, count: 5000), id: 21, in: rows) }
    try store.write { try $0.remove(id: 20, in: rows) }
  }

  private static func definition(_ rows: Keyspace, isUnique: Bool) -> IndexDefinition {
    .slices("first byte", rows, .value(offset: 0, length: 1), isUnique: isUnique)
  }

  private typealias Invariant = VerificationReport.Finding.Invariant

  private func findings(of store: Store? = nil) throws -> [Invariant] {
    let report = try (store ?? self.store).verify()
    #expect(report.findingCount == report.findings.count)
    #expect(report.isClean == report.findings.isEmpty)
    return report.findings.map(\.invariant)
  }

  private func changeFile(_ name: StoreFileName, at offset: Int) throws {
    let file = try memory.fileSystem.open("/store.perdure/" + name.string, .readWrite)
    let byte = try file.read(1, at: UInt64(offset))
    try file.write([byte[0] ^ 4], at: UInt64(offset))
  }

  @Test("An intact store has no findings, and all its parts are checked")
  func well() throws {
    let report = try store.verify()
    #expect(report.isClean)
    #expect(report.commits == store.snapshot().sequence)
    // The count includes the three records of the catalog.
    #expect(report.records == 20 + 20 + 3)
    #expect(report.indexEntries == 20)
    #expect(report.blobs == 1)
  }

  @Test("V1: a damaged frame header is reported, although no read needs it")
  func log() throws {
    try changeFile(.segment(1), at: SegmentHeader.length + 20)
    #expect(try findings() == [.log])
    #expect(try store.snapshot().value(id: 1, in: rows)?.count == 301)
  }

  @Test("V2: an index entry with the address of another key's record is reported")
  func address() throws {
    try store.engine.inTurn { state in
      let entry = state.root.pointee.segments + 1
      // Readers now read the bytes of segment 2 for the records of segment 1.
      entry.pointee.base = state.root.pointee.segments[2].base
    }
    let found = Set(try findings())
    #expect(found == [.address])
  }

  @Test("V3: a key that is missing in an index is reported")
  func lostKey() throws {
    try store.engine.inTurn { state in
      Array("name 7".utf8).withUnsafeBytes {
        _ = state.root.pointee.keyspaces[Int(names.id)].ordered.remove($0, in: state.arena)
      }
    }
    #expect(try findings() == [.index])
  }

  @Test("V4: a missing and an additional entry of a derived index are reported")
  func derivedIndex() throws {
    let entry = [3] + [UInt8](repeating: 0, count: 7) + [3]
    try store.engine.inTurn { state in
      entry.withUnsafeBytes {
        _ = state.root.pointee.indexes[Int(index.id)].remove($0, in: state.arena)
      }
    }
    #expect(try findings() == [.derivedIndex])
    try store.engine.inTurn { state in
      entry.withUnsafeBytes {
        _ = state.root.pointee.indexes[Int(index.id)].put($0, 3, in: state.arena)
      }
      var other = entry
      other[8] = 4
      other.withUnsafeBytes { _ = state.root.pointee.indexes[Int(index.id)].put($0, 4, in: state.arena) }
    }
    #expect(try findings() == [.derivedIndex])
  }

  @Test("V5: a duplicate key in a unique index is reported")
  func unique() throws {
    try store.write { try $0.put([1], id: 30, in: rows) }
    try store.engine.inTurn { state in
      var catalog = state.catalog
      let unique = catalog.setIndex(Self.definition(rows, isUnique: true))
      let record = CatalogRecord.index(unique, Self.definition(rows, isUnique: true))
      try store.engine.appendCatalogRecord(record, catalog, &state)
    }
    try store.close()
    let again = try memory.open()
    #expect(again.recoveryReport.duplicates.count == 1)
    #expect(try findings(of: again) == [.unique])
  }

  @Test("V6: a changed byte in a blob file and a missing blob file are reported")
  func blob() throws {
    try changeFile(.blob(1), at: BlobHeader.length + 4000)
    #expect(try findings() == [.blob])
    try memory.fileSystem.remove("/store.perdure/" + StoreFileName.blob(1).string)
    #expect(try findings() == [.blob])
  }

  @Test("V7: a tree with a wrong count of keys is reported")
  func order() throws {
    try store.engine.inTurn { $0.root.pointee.keyspaces[Int(names.id)].ordered.count += 1 }
    #expect(try findings() == [.order])
    try store.engine.inTurn { $0.root.pointee.keyspaces[Int(names.id)].ordered.count -= 1 }
    try store.engine.inTurn { $0.root.pointee.keyspaces[Int(rows.id)].dense.count -= 1 }
    #expect(try findings() == [.order])
  }

  @Test("V8: a damaged newest slot and a missing superblock file are reported")
  func superblock() throws {
    let generation = try #require(try store.engine.inTurn { $0.superblock?.current })
    try changeFile(.superblock, at: generation.slot * Superblock.slotLength + 64)
    #expect(try findings() == [.superblock])
    try memory.fileSystem.remove("/store.perdure/SUPERBLOCK")
    #expect(try findings() == [.superblock])
  }

  @Test("V8: a superblock that promises commits which the log does not have is reported")
  func promise() throws {
    try store.engine.inTurn { state in
      try state.superblock?.replace { $0.durableSequence = 1000 }
    }
    #expect(try findings() == [.superblock])
  }

  @Test("V9: an index that the log does not define is reported")
  func catalog() throws {
    try store.engine.inTurn { state in
      _ = state.catalog.setIndex(
        IndexDefinition(
          name: "made up", source: .records(keyspaces: [rows], extractor: "unheard of", parameters: [])))
    }
    #expect(try findings() == [.catalog])
  }

  @Test("V9: a keyspace that the log does not define is reported")
  func catalogKeyspace() throws {
    try store.engine.inTurn { _ = $0.catalog.addKeyspace("made up", .dense) }
    #expect(try findings() == [.catalog])
  }

  @Test("V9: a dictionary that the log does not contain is reported")
  func catalogDictionary() throws {
    try store.engine.inTurn {
      _ = $0.catalog.addDictionary([1, 2, 3], of: rows.id, perMille: 500)
    }
    #expect(try findings() == [.catalog])
  }

  /// Changes a byte in the middle of the first node of the index file.
  private func changeIndexFile() throws { try changeFile(.index(1), at: IndexFileHeader.length + 200) }

  @Test("V10: a changed byte in an index file and a missing index file are reported")
  func checkpoint() throws {
    try store.checkpoint()
    #expect(try findings() == [])
    try changeIndexFile()
    #expect(try findings() == [.checkpoint])
    try changeIndexFile()
    #expect(try findings() == [])
    try memory.fileSystem.remove("/store.perdure/" + StoreFileName.index(1).string)
    #expect(try findings() == [.checkpoint])
  }

  @Test("V10: a checkpoint that maps a key to the record of another key is reported")
  func checkpointWithAnotherRecord() throws {
    func lead(_ id: UInt64, to word: UInt64) throws {
      try store.engine.inTurn { state in
        _ = state.root.pointee.keyspaces[Int(rows.id)].dense.put(id, word, in: state.arena)
      }
    }
    let word = try #require(try store.snapshot().version(.id(1), in: rows)).rawValue
    let other = try #require(try store.snapshot().version(.id(2), in: rows)).rawValue
    try lead(1, to: other)
    try store.checkpoint()
    try lead(1, to: word)
    #expect(try findings() == [.checkpoint])
  }

  @Test("V11: a segment with a wrong count of live bytes is reported")
  func usage() throws {
    try store.engine.inTurn { $0.usage[1].liveBytes -= 8 }
    #expect(try findings() == [.usage])
  }

  @Test("V11: a rewritten segment with a too large byte count in its footer is reported")
  func footer() throws {
    for id in 1...10 as ClosedRange<UInt64> { try store.write { try $0.put([9], id: id, in: rows) } }
    _ = try store.compact()
    #expect(try findings() == [])
    try store.close()
    let path = "/store.perdure/" + StoreFileName.segment(1).string
    let file = try memory.fileSystem.open(path, .readWrite)
    let start = try file.size() - UInt64(RewrittenFooter.length)
    var bytes = try file.read(RewrittenFooter.length, at: start)
    let header = try file.read(SegmentHeader.length, at: 0).withUnsafeBytes { try SegmentHeader(reading: $0) }
    try bytes.withUnsafeMutableBytes { bytes in
      var footer = try RewrittenFooter(
        reading: UnsafeRawBufferPointer(bytes), store: header.store, number: 1, fileLength: 0)
      footer.recordBytes += 64
      footer.write(to: bytes, store: header.store, number: 1)
    }
    try file.write(bytes, at: start)
    #expect(try findings(of: memory.open()) == [.usage])
  }

  @Test("The numbers of the invariants are 1 to 11")
  func numbers() {
    #expect(Invariant.allCases.map(\.rawValue) == Array(1...11))
  }

  @Test("Progress ends with the total, and an error of the callback cancels the verification")
  func progress() throws {
    struct Cancellation: Error {}
    var seen: [UInt64] = []
    var last: UInt64 = 0
    _ = try store.verify { done, total in
      seen.append(done)
      last = total
    }
    #expect(seen == seen.sorted() && seen.last == last && seen.count > 1)
    for step in 0..<seen.count {
      var calls = 0
      #expect(throws: Cancellation.self) {
        try store.verify { _, _ in
          calls += 1
          if calls > step { throw Cancellation() }
        }
      }
    }
    #expect(try findings() == [])
  }

  @Test("Findings beyond the maximum number of listed findings are still counted")
  func manyFindings() {
    var report = VerificationReport()
    for number in 0...VerificationReport.findingsListedMax { report.add(.address, at: "\(number)", "") }
    #expect(report.findingCount == VerificationReport.findingsListedMax + 1)
    #expect(report.findings.count == VerificationReport.findingsListedMax)
  }
}
