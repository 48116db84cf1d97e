import Foundation
import PerdureFileIO
import Testing

@testable import PerdureLog

@Suite("The example store of FORMAT.md")
struct FormatExampleTests {
  /// The files of the example. Each line of a hex block is `offset: bytes ; meaning`.
  private func files() throws -> [String: [UInt8]] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("FORMAT.md").path
    var files: [String: [UInt8]] = [:]
    for block in try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "```hex ")
      .dropFirst()
    {
      let lines = block.components(separatedBy: "```")[0].split(separator: "\n")
      let title = lines[0].split(separator: " ")
      var bytes = [UInt8](repeating: 0, count: try #require(Int(title[1])))
      for line in lines.dropFirst() {
        let parts = line.split(separator: ";")[0].split(separator: ":")
        let start = try #require(Int(parts[0], radix: 16))
        for (index, byte) in parts[1].split(separator: " ").enumerated() {
          bytes[start + index] = try #require(UInt8(byte, radix: 16))
        }
      }
      files[String(title[0])] = bytes
    }
    return files
  }

  private func makeStore() throws -> MemoryStore {
    let memory = try MemoryStore(segmentCapacityBytes: 4096)
    try memory.fileSystem.createDirectory("/store.perdure")
    for (name, bytes) in try files() {
      let file = try memory.fileSystem.open("/store.perdure/" + name, .create)
      try file.write(bytes, at: 0)
      try file.close()
    }
    return memory
  }

  @Test("The example store opens with the content in the document")
  func opens() throws {
    let store = try makeStore().open()
    let notes = try store.keyspace("notes", .dense)
    let snapshot = store.snapshot()
    let found = try (1...4 as ClosedRange<UInt64>).map { try snapshot.value(id: $0, in: notes) }
    let expected = [nil, "second", "third", "a long value"].map { $0.map { Array($0.utf8) } }
    #expect(found == expected)
    #expect(store.recoveryReport.wasClosed && store.recoveryReport.tornTailBytes == 0)
    #expect(store.recoveryReport.commits == 4)
    #expect(try store.verify().isClean)
  }

  @Test("The example store can be written and reopened")
  func goesOn() throws {
    let memory = try makeStore()
    let store = try memory.open()
    let notes = try store.keyspace("notes", .dense)
    try store.write { try $0.put(Array("fifth".utf8), id: 5, in: notes) }
    try store.close()
    let snapshot = try memory.open().snapshot()
    #expect(try snapshot.value(id: 5, in: notes) == Array("fifth".utf8))
    #expect(snapshot.count(in: notes) == 4)
  }
}
