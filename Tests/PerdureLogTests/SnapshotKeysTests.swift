import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Batch reads of a snapshot")
struct SnapshotKeysTests {
  @Test("A batch read of present and absent keys gives the values of single reads")
  func likeSingleReads() throws {
    let seed = SeededGenerator.seedFromEnvironment()
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let store = try MemoryStore().open()
    let keyspace = try store.keyspace("keys", .bytes)
    let keys = (0..<500).map { _ in
      (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    try store.write { transaction in
      for key in keys {
        let length =
          Int.random(in: 0...9, using: &random) == 0 ? 5000 : Int.random(in: 0...300, using: &random)
        try transaction.put(Array(repeating: UInt8(length % 251), count: length), key: key, in: keyspace)
      }
    }
    let snapshot = store.snapshot()
    for count in [0, 1, 7, 8, 9, 63, 64, 65, 300] {
      var asked = (0..<count).map { _ in keys[Int.random(in: 0..<keys.count, using: &random)] }
      for position in stride(from: 0, to: count, by: 5) {
        asked[position] = [1, 2, 3, UInt8(position % 256)]
      }
      var next = 0
      try snapshot.withValues(keys: asked, in: keyspace) { position, value in
        #expect(position == next)
        next += 1
        var found: [UInt8]?
        if let value { found = value.withUnsafeBytes { Array($0) } }
        let alone = try snapshot.value(key: asked[position], in: keyspace)
        #expect(found == alone)
      }
      #expect(next == count)
    }
  }

  @Test("An error of the closure ends the batch read")
  func throwing() throws {
    struct Enough: Error {}
    let store = try MemoryStore().open()
    let keyspace = try store.keyspace("keys", .bytes)
    try store.write { try $0.put([1], key: [1], in: keyspace) }
    var calls = 0
    #expect(throws: Enough.self) {
      try store.snapshot().withValues(keys: [[1], [2]], in: keyspace) { _, _ in
        calls += 1
        throw Enough()
      }
    }
    #expect(calls == 1)
  }
}
