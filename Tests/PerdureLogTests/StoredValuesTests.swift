import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A factory whose extractors create entries from a stored value.
private struct Settings: IndexExtractorFactory {
  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    Extractor(setting: try store.value(key: [1], inKeyspaceNamed: "settings") ?? [])
  }

  private struct Extractor: IndexExtractor {
    let setting: [UInt8]

    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      entries.add(key: Array(setting.suffix(4)), reference: key.loadUnaligned(as: UInt64.self))
    }
  }
}

@Suite("Values that extractors read")
struct StoredValuesTests {
  @Test("An extractor can read a value from its blob file, even at opening")
  func blob() throws {
    let directory = try TemporaryDirectory()
    var options = StoreOptions()
    options.blobThresholdBytes = 4096
    options.indexExtractors = ["settings": Settings()]
    var store = try Store(at: directory.file("s.perdure"), options: options)
    let settings = try store.keyspace("settings", .bytes)
    let rows = try store.keyspace("rows", .dense)
    try store.write { transaction in
      try transaction.put([UInt8](repeating: 3, count: 3 << 20) + [1, 2, 3, 4], key: [1], in: settings)
      try transaction.put([0], id: 7, in: rows)
    }
    let source = IndexDefinition.Source.records(keyspaces: [rows], extractor: "settings", parameters: [])
    let index = try store.defineIndex(IndexDefinition(name: "index", source: source))
    #expect(try store.snapshot().count(in: index, range: .prefix([1, 2, 3, 4])) == 1)
    try store.close()
    store = try Store(at: directory.file("s.perdure"), options: options)
    try store.write { try $0.put([0], id: 8, in: rows) }
    #expect(try store.snapshot().count(in: index, range: .prefix([1, 2, 3, 4])) == 2)
    #expect(try store.verify().isClean)
  }
}
