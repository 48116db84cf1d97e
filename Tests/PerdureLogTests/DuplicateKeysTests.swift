import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A unique index that some commits did not maintain, because their program had no extractor for
/// it.
@Suite("Duplicate keys of a unique index")
struct DuplicateKeysTests {
  /// An extractor whose index key is the whole value.
  private struct Whole: IndexExtractorFactory, IndexExtractor {
    func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) -> any IndexExtractor { self }

    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      entries.add(key: value, reference: UInt64(littleEndian: key.loadUnaligned(as: UInt64.self)))
    }
  }

  @Test("Opening and verification list the first thousand duplicates, and count all of them")
  func many() throws {
    let fileSystem = InMemoryFileSystem()
    var knowing = StoreOptions()
    knowing.fileSystem = fileSystem
    knowing.indexExtractors["whole"] = Whole()
    var ignorant = StoreOptions()
    ignorant.fileSystem = fileSystem

    var store = try Store(at: "/store", options: knowing)
    _ = try store.defineIndex(
      IndexDefinition(
        name: "whole",
        source: .records(
          keyspaces: [try store.keyspace("rows", .dense)], extractor: "whole", parameters: []),
        isUnique: true))
    try store.close()
    store = try Store(at: "/store", options: ignorant)
    let rows = try store.keyspace("rows", .dense)
    try store.write { transaction in
      for id in 1...3_000 as ClosedRange<UInt64> {
        let key = UInt16(id % 1_200)
        try transaction.put([UInt8(key >> 8), UInt8(key & 255)], id: id, in: rows)
      }
    }
    try store.close()

    // There are 1,200 keys for 3,000 records. Each record of a key except the first is a duplicate.
    store = try Store(at: "/store", options: knowing)
    #expect(store.recoveryReport.duplicates.count == DuplicateKeys.listedMax)
    #expect(store.recoveryReport.duplicateCount == 1_800)
    let report = try store.verify()
    #expect(report.findingCount == 1_800 && report.findings.count == DuplicateKeys.listedMax)
    #expect(report.findings.allSatisfy { $0.invariant == .unique })
    try store.close()
  }
}
