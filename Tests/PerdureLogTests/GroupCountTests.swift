import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Indexes that count groups")
struct GroupCountTests {
  private let memory = CheckpointedStore()

  /// The groups in the order of their counts.
  private func counts(_ store: Store, _ name: String) throws -> [UInt64] {
    let index = try #require(try store.indexes.first { $0.index.name == name }).index
    var groups: [UInt64] = []
    try store.snapshot().forEachEntry(in: index) { _, group in
      groups.append(group)
      return true
    }
    return groups
  }

  @Test("If an index is redefined and the store reopened, two indexes of its group counts stay correct")
  func redefined() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let members = try store.defineIndex(.slices("members", rows, .value(offset: 0, length: 8)))
    for name in ["first", "second"] {
      _ = try store.defineIndex(IndexDefinition(name: name, source: .groupCounts(of: members)))
    }
    func put(_ ids: Range<UInt64>) throws {
      try store.write { transaction in
        for id in ids {
          // The first eight bytes of the value give the groups 0 to 2; group 0 has the most
          // members. The next eight bytes give the groups 10 to 14.
          let (a, b) = (id < 40 ? 0 : UInt8(id % 3), 10 + UInt8(id % 5))
          try transaction.put([0, 0, 0, 0, 0, 0, 0, a, 0, 0, 0, 0, 0, 0, 0, b], id: id, in: rows)
        }
      }
    }
    func expect(_ store: Store, _ groups: [UInt64]) throws {
      for name in ["first", "second"] { #expect(try counts(store, name).sorted() == groups, "\(name)") }
      #expect(try store.verify().findings.map(\.description) == [])
    }
    try put(0..<60)
    try expect(store, [0, 1, 2])
    #expect(try counts(store, "second").last == 0)
    _ = try store.defineIndex(.slices("members", rows, .value(offset: 8, length: 8)))
    try expect(store, [10, 11, 12, 13, 14])
    try store.write { transaction in
      for id in 0..<60 as Range<UInt64> where id % 5 == 2 { try transaction.remove(id: id, in: rows) }
    }
    try expect(store, [10, 11, 13, 14])
    store.engine.abandon()
    let again = try memory.open()
    try expect(again, [10, 11, 13, 14])
  }
}
