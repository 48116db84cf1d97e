import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("An unreadable table of readers")
struct UnreadableReadersTests {
  @Test("Statistics name an unreadable READERS, and unused blob files stay until READERS is removed")
  func statistics() throws {
    let memory = try MemoryStore()
    let path = "/store.perdure"
    let table = path + "/READERS"
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    var reading = memory.options
    reading.isReadOnly = true
    for id in 1...3 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 1, count: 5000), id: id, in: rows) }
    }
    func blobs() throws -> Int {
      try memory.fileSystem.contents(of: path).count { $0.hasSuffix(".blob") }
    }
    #expect(try blobs() == 3)
    #expect(try Store(at: path, options: reading).statistics.lastReadersFailure == nil)
    // A directory cannot be read as a file. A file of another user has the same effect.
    if try memory.fileSystem.kind(of: table) != nil { try memory.fileSystem.remove(table) }
    try memory.fileSystem.createDirectory(table)
    for id in 1...3 as ClosedRange<UInt64> { try store.write { try $0.remove(id: id, in: rows) } }
    #expect(try blobs() == 3)
    #expect(try store.statistics.lastReadersFailure?.contains("READERS") == true)
    do {
      let reader = try Store(at: path, options: reading)
      #expect(try reader.statistics.lastReadersFailure?.contains("READERS") == true)
      #expect(reader.snapshot().count(in: rows) == 0)
      try reader.close()
    }
    try memory.fileSystem.remove(table)
    try store.write { try $0.put([1], id: 9, in: rows) }
    #expect(try blobs() == 0)
    #expect(try store.statistics.lastReadersFailure == nil)
    // The next reader creates READERS again, and the files that it may read are kept.
    try store.write { try $0.put([UInt8](repeating: 2, count: 5000), id: 1, in: rows) }
    let reader = try Store(at: path, options: reading)
    #expect(try memory.fileSystem.kind(of: table) == .file)
    try store.write { try $0.remove(id: 1, in: rows) }
    #expect(try blobs() == 1)
    #expect(try reader.snapshot().value(id: 1, in: rows) == [UInt8](repeating: 2, count: 5000))
    try reader.close()
  }
}
