import PerdureCompression
import PerdureFileIO
import PerdureFormat
import Testing

@testable import PerdureLog

@Suite("Samples of moved records")
struct MovedSampleTests {
  private static let path = "/store.perdure"

  /// A value of a fixed length. Values of one keyspace have a prefix in common.
  private func value(_ prefix: String, _ number: UInt64) -> [UInt8] {
    Array("\(prefix), an ordinary row of the table, number \(1000 + number), in a currency".utf8)
  }

  /// Copies one record over another record of the same length. The arguments are addresses.
  private func copy(_ from: UInt64, over to: UInt64, _ fileSystem: any FileSystem) throws {
    let (from, to) = (RecordAddress(rawValue: from), RecordAddress(rawValue: to))
    func file(_ address: RecordAddress) throws -> any File {
      try fileSystem.open(Self.path + "/" + StoreFileName.segment(address.segment).string, .readWrite)
    }
    let length = RecordHeader.length + 8 + value("public", 0).count
    try file(to).write(file(from).read(length, at: UInt64(from.offset)), at: UInt64(to.offset))
  }

  @Test(
    "If a record was copied over another record, sampling and training throw corruption",
    arguments: [KeyspaceKind.dense, .bytes], [true, false])
  func moved(kind: KeyspaceKind, fromAnotherKeyspace: Bool) throws {
    var memory = try MemoryStore(segmentCapacityBytes: 256 << 10)
    memory.options.checkpoints = .manual
    // If records are bound, the checksum alone detects the copy.
    memory.options.bindsRecords = false
    func words(_ store: Store, _ keyspace: Keyspace) throws -> [UInt64] {
      try store.engine.readingState { state in
        var words: [UInt64] = []
        IndexBuild.visitRecords(of: keyspace, state.root) { word, _ in words.append(word) }
        return words
      }
    }
    let places: (from: UInt64, to: UInt64)
    do {
      let store = try memory.open()
      let rows = try store.keyspace("rows", kind)
      let secrets = try store.keyspace("secrets", kind)
      try store.write { transaction in
        for id in 0..<300 as Range<UInt64> {
          for (keyspace, prefix) in [(rows, "public"), (secrets, "secret")] {
            if kind == .dense {
              try transaction.put(value(prefix, id), id: id, in: keyspace)
            } else {
              try transaction.put(value(prefix, id), key: Array("key \(1000 + id)".utf8), in: keyspace)
            }
          }
        }
      }
      try store.checkpoint()
      let source = fromAnotherKeyspace ? secrets : rows
      places = (try words(store, source)[7], try words(store, rows)[200])
      try store.close()
    }
    memory.options.compression.mode = .dictionary
    memory.options.compression.trainsAutomatically = false
    memory.options.compression.dictionaryBytes = 1024
    do {
      let store = try memory.open()
      let samples = try store.snapshot()
        .samples(of: store.keyspace("rows", kind), byteCount: 1 << 20, prefersNew: false)
      #expect(samples.count == 300)
      try store.close()
    }
    try copy(places.from, over: places.to, memory.fileSystem)
    let store = try memory.open()
    #expect(store.recoveryReport.checkpointSequence > 0)
    let rows = try store.keyspace("rows", kind)
    for prefersNew in [false, true] {
      let error = #expect(throws: StoreError.self) {
        try store.snapshot().samples(of: rows, byteCount: 1 << 20, prefersNew: prefersNew)
      }
      #expect(error?.code == .corruption)
      #expect(error?.place?.hasPrefix("0000000000000001.segment") == true, "\(String(describing: error))")
    }
    let error = #expect(throws: StoreError.self) { try store.trainDictionary(for: rows) }
    #expect(error?.code == .corruption, "\(String(describing: error))")
    #expect(try store.dictionaries(of: rows) == [])
  }
}
