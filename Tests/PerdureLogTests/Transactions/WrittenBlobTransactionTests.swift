import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Values written in pieces in transactions")
struct WrittenBlobTransactionTests {
  private let memory: MemoryStore
  private let store: Store
  private let rows: Keyspace
  private let names: Keyspace

  init() throws {
    memory = try MemoryStore()
    store = try memory.open()
    rows = try store.keyspace("rows", .dense)
    names = try store.keyspace("names", .bytes)
  }

  private func written(_ byte: UInt8) throws -> WrittenBlob {
    let writer = try store.makeBlobWriter()
    try writer.append(Self.value(byte))
    return try writer.finish()
  }

  private static func value(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 70_000) }

  private func blobFiles() throws -> Int {
    try memory.fileSystem.contents(of: store.path).count { $0.hasSuffix(".blob") }
  }

  private func expect(_ code: StoreError.Code, _ body: () throws -> Void) {
    let error = #expect(throws: StoreError.self) { try body() }
    #expect(error?.code == code)
  }

  @Test(
    "A transaction can read, count and visit a value that it puts, and later snapshots can read the value")
  func commit() throws {
    let (first, second) = (try written(1), try written(2))
    try store.transaction { transaction in
      try transaction.put(first, id: 5, in: rows)
      try transaction.put(second, key: [9], in: names)
      try transaction.put([3], id: 6, in: rows)
      #expect(try transaction.value(id: 5, in: rows) == Self.value(1))
      #expect(try transaction.value(key: [9], in: names) == Self.value(2))
      #expect(try transaction.contains(.id(5), in: rows))
      #expect(try transaction.count(in: rows, ids: 0...9) == 2)
      #expect(try transaction.entries(in: rows, ids: 0...9).map(\.value) == [Self.value(1), [3]])
      #expect(try transaction.entries(in: names, range: .all).map(\.value) == [Self.value(2)])
    }
    #expect(try store.snapshot().value(id: 5, in: rows) == Self.value(1))
    #expect(try store.snapshot().value(key: [9], in: names) == Self.value(2))
    #expect(try blobFiles() == 2)
    try store.close()
    let again = try memory.open()
    #expect(try again.snapshot().value(id: 5, in: rows) == Self.value(1))
    #expect(try again.verify().isClean)
  }

  @Test("After a conflict, the value can be put by the next attempt or another transaction")
  func conflict() throws {
    let blob = try written(7)
    func run(_ attemptsMax: Int, conflicts: Int) throws {
      var runs = 0
      try store.transaction(attemptsMax: attemptsMax) { transaction in
        runs += 1
        _ = try transaction.value(id: 1, in: rows)
        if runs <= conflicts { try store.write { try $0.put([UInt8(runs)], id: 1, in: rows) } }
        try transaction.put(blob, id: 2, in: rows)
      }
    }
    expect(.conflict) { try run(1, conflicts: 1) }
    #expect(try store.snapshot().value(id: 2, in: rows) == nil)
    #expect(try blobFiles() == 1)
    try run(3, conflicts: 2)
    #expect(try store.snapshot().value(id: 2, in: rows) == Self.value(7))
    expect(.invalidArgument) { try run(1, conflicts: 0) }
    #expect(try store.snapshot().value(id: 2, in: rows) == Self.value(7))
  }

  @Test("A value leaves no file if its transaction fails or overwrites the key")
  func orphans() throws {
    struct Stop: Error {}
    do {
      let blob = try written(1)
      expect(.conflict) {
        try store.transaction { transaction in
          _ = try transaction.contains(.id(1), in: rows)
          try store.write { try $0.put([1], id: 1, in: rows) }
          try transaction.put(blob, id: 1, in: rows)
        }
      }
    }
    #expect(try blobFiles() == 0)
    #expect(throws: Stop.self) {
      try store.transaction { transaction in
        try transaction.put(try written(2), id: 1, in: rows)
        throw Stop()
      }
    }
    #expect(try blobFiles() == 0)
    try store.transaction { transaction in
      try transaction.put(try written(3), id: 1, in: rows)
      try transaction.put([4], id: 1, in: rows)
      try transaction.put(try written(5), key: [1], in: names)
      try transaction.remove(key: [1], in: names)
      #expect(try transaction.count(in: names, range: .all) == 0)
    }
    #expect(try blobFiles() == 0)
    #expect(try store.snapshot().value(id: 1, in: rows) == [4])
  }

  @Test(
    "A value is refused if it is put for two keys, in another store, or for a key of the wrong kind")
  func refused() throws {
    let blob = try written(1)
    expect(.invalidArgument) {
      try store.transaction { transaction in
        try transaction.put(blob, id: 1, in: rows)
        try transaction.put(blob, id: 2, in: rows)
      }
    }
    expect(.invalidArgument) { try store.transaction { try $0.put(blob, id: 1, in: names) } }
    expect(.invalidArgument) { try store.transaction { try $0.put(blob, key: [1], in: rows) } }
    let other = try MemoryStore().open()
    let others = try other.keyspace("rows", .dense)
    expect(.invalidArgument) { try other.transaction { try $0.put(blob, id: 1, in: others) } }
    #expect(store.snapshot().count(in: rows) == 0)
    try store.transaction { try $0.put(blob, id: 3, in: rows) }
    #expect(try store.snapshot().value(id: 3, in: rows) == Self.value(1))
  }
}
