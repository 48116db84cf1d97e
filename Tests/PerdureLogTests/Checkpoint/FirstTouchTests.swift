import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// The index file is damaged while the store is closed, and the opening does not detect the damage.
@Suite("Damage in the index that is detected by a read")
struct FirstTouchTests {
  private let seed = SeededGenerator.seedFromEnvironment()

  private static func text(_ id: UInt64) -> [UInt8] {
    let bytes = withUnsafeBytes(of: (id &* 0x9E37_79B9_7F4A_7C15).bigEndian) { Array($0) }
    return id % 17 == 0 ? (0..<40).flatMap { _ in bytes } : bytes
  }

  private static func value(_ id: UInt64) -> [UInt8] {
    [0, 0, 0, 0, 0, 0, 0, UInt8(id % 50)] + withUnsafeBytes(of: id.bigEndian) { Array($0) }
  }

  private static let count: UInt64 = 2500

  /// Returns a closed store with a checkpoint, and the name and bytes of its index file.
  private static func makeStore() throws -> (CheckpointedStore, index: String, bytes: [UInt8]) {
    let memory = CheckpointedStore(segmentCapacityBytes: 64 << 10)
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let texts = try store.keyspace("texts", .bytes)
    _ = try store.defineIndex(.slices("groups", rows, .value(offset: 0, length: 8)))
    for start in stride(from: 1, through: count, by: 100) {
      try store.write(durability: .relaxed) { transaction in
        for id in start..<min(start + 100, count + 1) {
          try transaction.put(value(id), id: id, in: rows)
          try transaction.put(value(id), key: text(id), in: texts)
        }
      }
    }
    try store.close()
    let name = try #require(try memory.indexFiles().first)
    return (memory, name, try memory.bytes(name))
  }

  /// Makes one random read. Returns whether its result is right. The read may throw an error about
  /// the damage.
  private static func isRight(_ store: Store, _ random: inout SeededGenerator) throws -> Bool {
    let rows = try store.keyspace("rows", .dense)
    let texts = try store.keyspace("texts", .bytes)
    let snapshot = store.snapshot()
    let id = UInt64.random(in: 1...(count + 20), using: &random)
    let expected = id <= count ? value(id) : nil
    switch Int.random(in: 0..<9, using: &random) {
    case 0: return try snapshot.value(id: id, in: rows) == expected
    case 1: return try snapshot.value(key: text(id), in: texts) == expected
    case 2: return try snapshot.contains(.id(id), in: rows) == (expected != nil)
    case 3: return try snapshot.count(in: rows, ids: 1...id) == Int(min(id, count))
    case 4:
      var sum = 0
      try snapshot.forEach(in: rows, ids: id...(id + 90)) { (found: UInt64, bytes: RawSpan) in
        sum += bytes.withUnsafeBytes({ Array($0) }) == value(found) ? 1 : 1000
        return true
      }
      return sum == Int(max(id, min(id + 90, count) + 1) - id)
    case 5:
      var found = 0
      try snapshot.forEachKey(in: texts) { key in
        found += 1
        return found < 200
      }
      return found == 200
    case 6:
      let all = try store.indexes
      let index = try #require(all.first { $0.index.name == "groups" }).index
      let group = UInt8(id % 50)
      let members = (1...count).count { $0 % 50 == UInt64(group) }
      return try snapshot.count(in: index, range: .prefix([0, 0, 0, 0, 0, 0, 0, group])) == members
    case 7:
      var right = 0
      let keys = (0..<30 as Range<UInt64>).map { text(($0 &* 83 &+ id) % count + 1) }
      try snapshot.withValues(keys: keys, in: texts) { place, bytes in
        let wanted = value((UInt64(place) &* 83 &+ id) % count + 1)
        right += bytes?.withUnsafeBytes({ Array($0) }) == wanted ? 1 : 0
      }
      return right == keys.count
    default:
      var right = 0
      let ids = (0..<30 as Range<UInt64>).map { ($0 &* 83 &+ id) % count + 1 }
      try snapshot.withValues(ids: ids, in: rows) { place, bytes in
        right += bytes?.withUnsafeBytes({ Array($0) }) == value(ids[place]) ? 1 : 0
      }
      return right == ids.count
    }
  }

  private static func damage(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var damaged = bytes
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      damaged[.random(in: 64..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    }
    return damaged
  }

  @Test("Each read returns the right result or throws, and the next opening rebuilds the index without loss")
  func randomDamage() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let (memory, name, bytes) = try Self.makeStore()
    let content = try CrashOracle.content(of: memory.open(readOnly: true))
    var found = 0
    for _ in 0..<25 {
      let copy = CheckpointedStore(try InMemoryFileSystem.copy(of: memory), segmentCapacityBytes: 64 << 10)
      try copy.change(name) { $0 = Self.damage(bytes, &random) }
      let store = try copy.open()
      var errors = 0
      for _ in 0..<40 {
        do {
          let isRight = try Self.isRight(store, &random)
          #expect(isRight)
        } catch let error as StoreError {
          #expect(error.code == .corruption && error.message.contains("index"), "\(error)")
          errors += 1
        }
      }
      if errors > 0 {
        let rows = try store.keyspace("rows", .dense)
        #expect(throws: StoreError.self) { try store.write { try $0.put([1], id: 1, in: rows) } }
        // The checkpoint and the compaction may fail or succeed. The content is checked below.
        _ = try? store.checkpoint()
        _ = try? store.compact()
      }
      try store.close()
      let again = try copy.open()
      #expect(
        errors == 0 || again.recoveryReport.indexRebuild != nil || store.recoveryReport.indexRebuild != nil)
      if again.recoveryReport.indexRebuild != nil || errors == 0 {
        do {
          #expect(try CrashOracle.content(of: again) == content)
        } catch let error as StoreError {
          // This comparison has read damaged nodes that no earlier read reached.
          #expect(errors == 0 && error.code == .corruption)
        }
      }
      if errors > 0 { found += 1 }
    }
    #expect(found > 5)
  }

  @Test("A commit that reaches a damaged node is rejected, and writes nothing to the log")
  func commits() throws {
    print("PERDURE_SEED=\(seed)")
    var random = SeededGenerator(seed: seed)
    let (memory, name, bytes) = try Self.makeStore()
    let content = try CrashOracle.content(of: memory.open(readOnly: true))
    var refused = 0
    for _ in 0..<25 {
      let copy = CheckpointedStore(try InMemoryFileSystem.copy(of: memory), segmentCapacityBytes: 64 << 10)
      try copy.change(name) { $0 = Self.damage(bytes, &random) }
      let store = try copy.open()
      let rows = try store.keyspace("rows", .dense)
      let texts = try store.keyspace("texts", .bytes)
      var expected = content
      for _ in 0..<30 {
        let id = UInt64.random(in: 1...Self.count, using: &random)
        let removes = Bool.random(using: &random)
        do {
          try store.write { transaction in
            if removes {
              try transaction.remove(id: id, in: rows)
              try transaction.remove(key: Self.text(id), in: texts)
            } else {
              try transaction.put(Self.value(id + 1), id: id, in: rows)
              try transaction.put(Self.value(id + 1), key: Self.text(id), in: texts)
            }
          }
          let new = removes ? nil : Self.value(id + 1)
          expected[CrashKey(keyspace: "rows", key: .id(id))] = new
          expected[CrashKey(keyspace: "texts", key: .bytes(Self.text(id)))] = new
        } catch let error as StoreError {
          #expect(error.code == .corruption, "\(error)")
          refused += 1
        }
      }
      try? store.close()
      let again = try copy.open(checking: true)
      #expect(try CrashOracle.content(of: again) == expected)
      #expect(try again.verify().isClean)
    }
    #expect(refused > 20)
  }

  @Test("A precondition with a snapshot of an earlier opening reads that opening's index file")
  func earlierOpening() throws {
    let (memory, name, _) = try Self.makeStore()
    // Damages all nodes of the rows except the root, because an opening reads the root.
    let nodes = try memory.nodes(name).dropFirst()
    try memory.change(name) { file in
      for node in nodes { file[node.lowerBound + 100] ^= 0xFF }
    }
    let first = try memory.open()
    let rows = try first.keyspace("rows", .dense)
    let snapshot = first.snapshot()
    first.engine.abandon()
    // The second opening must create its own index file.
    try memory.fileSystem.remove(CheckpointedStore.path + "/" + name)
    let second = try memory.open()
    try second.write { transaction in
      for id in 100...200 as ClosedRange<UInt64> { try transaction.remove(id: id, in: rows) }
    }
    let error = #expect(throws: StoreError.self) {
      try second.write { transaction in
        transaction.require(.idRangeUnchanged(rows, 100...200, since: snapshot))
        try transaction.put([1], id: 100, in: rows)
      }
    }
    #expect(error?.code == .corruption)
    #expect(try second.snapshot().value(id: 100, in: rows) == nil)
  }

  @Test("A snapshot that outlives its store keeps its state and does not clear the header of the index file")
  func outliving() throws {
    let (memory, name, _) = try Self.makeStore()
    let first = try memory.open()
    let rows = try first.keyspace("rows", .dense)
    let snapshot = first.snapshot()
    try first.close()
    let second = try memory.open()
    #expect(try second.readers.count == 1)
    for round in 0..<6 as Range<UInt8> {
      try second.write { transaction in
        for id in 1...Self.count { try transaction.put([round], id: id, in: rows) }
      }
      try second.checkpoint()
    }
    var sum = 0
    try snapshot.forEach(in: rows) { (id: UInt64, bytes: RawSpan) in
      sum += bytes.withUnsafeBytes({ Array($0) }) == Self.value(id) ? 1 : 0
      return true
    }
    #expect(sum == Int(Self.count))
    try second.close()
    let header = Array(try memory.bytes(name).prefix(8))
    #expect(header.contains { $0 != 0 })
  }

  @Test("A read-only store checks the whole index on request, and reports damage")
  func readOnly() throws {
    let (memory, name, bytes) = try Self.makeStore()
    let content = try CrashOracle.content(of: memory.open(readOnly: true))
    try memory.change(name) { file in
      for place in stride(from: 4096, to: bytes.count, by: 512) { file[place] ^= 1 }
    }
    let store = try memory.open(readOnly: true, checking: true)
    #expect(store.recoveryReport.indexRebuild != nil)
    #expect(try CrashOracle.content(of: store) == content)
    // V10 reports that the index file is still damaged.
    #expect(try store.verify().findings.map(\.invariant) == [.checkpoint])
  }
}

extension InMemoryFileSystem {
  /// Copies the files of a store in memory to another file system.
  fileprivate static func copy(of store: CheckpointedStore) throws -> InMemoryFileSystem {
    let copy = InMemoryFileSystem()
    try copy.createDirectory(CheckpointedStore.path)
    for name in try store.fileSystem.contents(of: CheckpointedStore.path) {
      let bytes = try store.bytes(name)
      let file = try copy.open(CheckpointedStore.path + "/" + name, .create)
      try file.write(bytes, at: 0)
    }
    return copy
  }
}
