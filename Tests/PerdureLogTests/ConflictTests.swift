import PerdureProving
import Testing

@testable import PerdureLog

@Suite("Descriptions of conflicts")
struct ConflictTests {
  private struct World {
    let store: Store
    let rows: Keyspace
    let names: Keyspace

    init() throws {
      store = try MemoryStore().open()
      rows = try store.keyspace("rows", .dense)
      names = try store.keyspace("names", .bytes)
    }

    /// The error of a commit with these preconditions.
    func refusal(_ preconditions: Precondition...) throws -> StoreError {
      try #require(
        throws: StoreError.self,
        performing: {
          try store.write { transaction in
            for precondition in preconditions { transaction.require(precondition) }
            try transaction.put([], id: 99, in: rows)
          }
        })
    }
  }

  @Test("The description names the keyspace or the index, and the key")
  func names() throws {
    let world = try World()
    let before = world.store.snapshot()
    try world.store.write { transaction in
      try transaction.put([1], id: 7, in: world.rows)
      try transaction.put([], key: Array("Ada".utf8), in: world.names)
    }
    func text(_ precondition: Precondition) throws -> String { try world.refusal(precondition).description }
    #expect(
      try text(.unchanged(world.rows, .id(7), nil)).hasSuffix("key 7 of keyspace rows already exists"))
    #expect(
      try text(.unchanged(world.rows, .id(7), RecordVersion(rawValue: 1)))
        .hasSuffix("key 7 of keyspace rows was changed or removed"))
    #expect(
      try text(.exists(world.names, .bytes(Array("Bob".utf8))))
        .hasSuffix("key \"Bob\" of keyspace names does not exist"))
    #expect(
      try text(.exists(world.names, .bytes([0, 255]))).hasSuffix("key 00ff of keyspace names does not exist"))
    #expect(
      try text(.rangeUnchanged(world.names, .prefix(Array("A".utf8)), since: before))
        .hasSuffix("keys of keyspace names from \"A\" to before \"B\" were added, changed or removed"))
  }

  @Test("A conflict's description has a bounded length for any keys and any number of preconditions")
  func length() throws {
    let world = try World()
    let long = Precondition.exists(world.names, .bytes([UInt8](repeating: 65, count: 60_000)))
    let error = try world.refusal(long, long, long, long, long)
    #expect(error.conflicts.count == 5)
    #expect(error.description.count < 500)
    #expect(error.description.hasSuffix("and 2 more"))
  }

  private func definition(_ rows: Keyspace) -> IndexDefinition {
    .slices("by value", rows, .valueRest(offset: 0), isUnique: true)
  }

  @Test("The description of a duplicate key names both records")
  func duplicate() throws {
    let world = try World()
    _ = try world.store.defineIndex(definition(world.rows))
    try world.store.write { try $0.put(Array("x".utf8), id: 1, in: world.rows) }
    let error = try #require(
      throws: StoreError.self,
      performing: { try world.store.write { try $0.put(Array("x".utf8), id: 2, in: world.rows) } })
    #expect(
      error.description.contains("records 1 and 2 would share the key 780000 of the unique index by value"))
  }

  @Test("The error of a refused unique index lists the first duplicates and counts the others")
  func manyDuplicates() throws {
    let world = try World()
    try world.store.write { transaction in
      for id in 1...100 as ClosedRange<UInt64> {
        try transaction.put([UInt8(id % 50)], id: id, in: world.rows)
      }
    }
    let error = try #require(
      throws: StoreError.self, performing: { try world.store.defineIndex(definition(world.rows)) })
    #expect(error.code == .conflict)
    #expect(error.conflicts.count == 20)
    #expect(error.message.contains("50 of its keys occur twice, of which 30 are not listed"))
    #expect(try world.store.indexes.isEmpty)
    #expect(try world.store.verify().isClean)
  }
}
