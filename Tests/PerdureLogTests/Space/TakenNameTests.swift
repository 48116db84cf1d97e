import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// A system may create a file but report a failure, for example if a network loses the reply.
@Suite("Segment names that are taken")
struct TakenNameTests {
  @Test("A taken segment name makes one commit throw, and later commits succeed")
  func commit() throws {
    var options = StoreOptions()
    let fileSystem = SimulatedFileSystem()
    options.fileSystem = fileSystem
    options.segmentCapacityBytes = 64 << 10
    options.compactsAutomatically = false
    options.durability = .relaxed
    let path = "/s.perdure"
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    func put(_ ids: Range<UInt64>) throws {
      try store.write { transaction in
        for id in ids { try transaction.put([UInt8](repeating: 1, count: 500), id: id, in: rows) }
      }
    }
    let taken = try store.engine.readingState { $0.nextSegment }
    _ = try fileSystem.open(path + "/" + StoreFileName.segment(taken).string, .create)
    let error = #expect(throws: StoreError.self) { try put(0..<300) }
    #expect(error?.code == .io && error?.cause?.code == .alreadyExists)
    #expect(store.snapshot().count(in: rows) == 0)
    try put(0..<300)
    try put(300..<400)
    #expect(try store.verify().isClean)
    try store.close()
    let again = try Store(at: path, options: options)
    #expect(again.snapshot().count(in: rows) == 400)
    #expect(try again.verify().isClean)
  }

  @Test("If a segment name is taken, one compaction throws, and the next compaction uses another name")
  func compaction() throws {
    let memory = try MemoryStore()
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for _ in 0..<3 { try store.write { try $0.put([UInt8](repeating: 1, count: 2000), id: 1, in: rows) } }
    let taken = try store.engine.readingState { $0.nextSegment }
    _ = try memory.fileSystem.open("/store.perdure/" + StoreFileName.segment(taken).string, .create)
    #expect(throws: StoreError.self) { try store.compact() }
    #expect(try store.compact().recordsDropped > 0)
    #expect(try store.verify().isClean)
  }
}
