import PerdureFileIO
import PerdureProving
import Synchronization
import Testing

@testable import PerdureLog

/// A factory of slice extractors. While a test has disabled the factory, it throws
/// `indexUnavailable`.
private final class SometimesSlices: IndexExtractorFactory {
  private let works = Mutex(true)

  func works(_ works: Bool) { self.works.withLock { $0 = works } }

  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    guard works.withLock({ $0 }) else { throw StoreError(.indexUnavailable, "not now") }
    return try SliceExtractor().makeExtractor(parameters: parameters, in: store)
  }
}

@Suite("Indexes that were unavailable for some commits")
struct UnavailableIndexTests {
  private let factory = SometimesSlices()
  private let memory: CheckpointedStore

  init() {
    var memory = CheckpointedStore()
    memory.options.indexExtractors = ["sometimes": factory]
    self.memory = memory
  }

  private func groups(_ rows: Keyspace, isUnique: Bool = false) -> IndexDefinition {
    var definition = IndexDefinition.slices("groups", rows, .value(offset: 0, length: 8), by: "sometimes")
    definition.isUnique = isUnique
    return definition
  }

  private func counts(_ index: DerivedIndex) -> IndexDefinition {
    IndexDefinition(name: "counts", source: .groupCounts(of: index))
  }

  private func put(_ ids: Range<UInt64>, in rows: Keyspace, of store: Store) throws {
    try store.write(durability: .relaxed) { transaction in
      for id in ids {
        try transaction.put([0, 0, 0, 0, 0, 0, 0, UInt8(id % 7), UInt8(id)], id: id, in: rows)
      }
    }
  }

  private func expectUnavailable(_ index: DerivedIndex, _ snapshot: Snapshot) {
    #expect(throws: StoreError.self) { try snapshot.count(in: index) }.map {
      #expect($0.code == .indexUnavailable)
    }
  }

  /// Makes a store of ten rows with the index and its counts, and closes it.
  private func make() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try put(0..<10, in: rows, of: store)
    _ = try store.defineIndex(counts(try store.defineIndex(groups(rows))))
    try store.close()
  }

  /// Makes the store of `make()`, opens it while the index cannot be maintained, and puts five more
  /// rows.
  private func behind() throws -> (store: Store, rows: Keyspace, index: DerivedIndex, counts: DerivedIndex) {
    try make()
    factory.works(false)
    let store = try memory.open()
    #expect(store.recoveryReport.unavailableIndexes == ["counts", "groups"])
    let indexes = try store.indexes.map(\.index)
    let rows = try store.keyspace("rows", .dense)
    try put(10..<15, in: rows, of: store)
    return (store, rows, indexes[0], indexes[1])
  }

  private enum Renewal: CaseIterable { case none, reload, keyspace }

  @Test("An index that can be maintained again is unavailable until its definition rebuilds it")
  func builtWhenFound() throws {
    for renewal in Renewal.allCases {
      let memory = UnavailableIndexTests()
      let (store, rows, index, counts) = try memory.behind()
      let old = store.snapshot()
      memory.factory.works(true)
      switch renewal {
      case .none: break
      case .reload: try store.reloadExtractors()
      case .keyspace: _ = try store.keyspace("another", .bytes)
      }
      memory.expectUnavailable(index, store.snapshot())
      memory.expectUnavailable(counts, store.snapshot())
      #expect(try store.defineIndex(memory.groups(rows)) == index)
      #expect(try store.defineIndex(memory.counts(index)) == counts)
      #expect(try store.snapshot().count(in: index) == 15)
      #expect(try store.snapshot().count(in: counts) == 7)
      // Earlier snapshots do not have the index.
      memory.expectUnavailable(index, old)
      try memory.put(15..<20, in: rows, of: store)
      #expect(try store.snapshot().count(in: index) == 20)
      #expect(try store.verify().findings.map(\.description) == [])
      // A further definition does not rebuild the index.
      let sequence = store.snapshot().sequence
      _ = try store.defineIndex(memory.groups(rows))
      #expect(store.snapshot().sequence == sequence)
      try store.close()
      let again = try memory.memory.open()
      #expect(again.recoveryReport.unavailableIndexes == [] && again.recoveryReport.indexRebuild == nil)
      #expect(try again.snapshot().count(in: index) == 20)
      #expect(try again.verify().findings.map(\.description) == [])
    }
  }

  @Test("An index that missed commits is unavailable until a definition rebuilds it")
  func lostAndFound() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try put(0..<10, in: rows, of: store)
    let index = try store.defineIndex(groups(rows))
    factory.works(false)
    try store.reloadExtractors()
    try put(10..<15, in: rows, of: store)
    factory.works(true)
    try store.reloadExtractors()
    expectUnavailable(index, store.snapshot())
    _ = try store.defineIndex(groups(rows))
    #expect(try store.snapshot().count(in: index) == 15)
    #expect(try store.verify().findings.map(\.description) == [])
  }

  @Test("Without an extractor, or in a read-only store, a definition returns the unavailable index")
  func foundInVain() throws {
    let (store, rows, index, _) = try behind()
    #expect(try store.defineIndex(groups(rows)) == index)
    expectUnavailable(index, store.snapshot())
    try store.close()
    let reader = try memory.open(readOnly: true)
    factory.works(true)
    #expect(try reader.defineIndex(groups(rows)) == index)
    expectUnavailable(index, reader.snapshot())
  }

  @Test("The definition of a unique index with duplicates is refused, and the index stays unavailable")
  func duplicates() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let index = try store.defineIndex(groups(rows, isUnique: true))
    factory.works(false)
    try store.reloadExtractors()
    try put(0..<10, in: rows, of: store)
    factory.works(true)
    #expect(throws: StoreError.self) { try store.defineIndex(groups(rows, isUnique: true)) }.map {
      #expect($0.code == .conflict && $0.conflicts.count == 3)
    }
    expectUnavailable(index, store.snapshot())
    try store.write { transaction in
      for id in 7..<10 as Range<UInt64> { try transaction.remove(id: id, in: rows) }
    }
    _ = try store.defineIndex(groups(rows, isUnique: true))
    #expect(try store.snapshot().count(in: index) == 7)
    #expect(try store.verify().findings.map(\.description) == [])
  }

  @Test("A snapshot that omits an unavailable index still omits it after the index is removed")
  func removed() throws {
    let (store, _, index, counts) = try behind()
    let old = store.snapshot()
    try store.removeIndex(counts)
    try store.removeIndex(index)
    expectUnavailable(index, old)
    expectUnavailable(counts, old)
  }
}
