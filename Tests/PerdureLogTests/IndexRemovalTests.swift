import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// In the catalog, a removed index has the extractor `removed` (FORMAT.md, "Catalog").
@Suite("Removing a derived index")
struct IndexRemovalTests {
  private let memory = CheckpointedStore()

  private func groups(_ rows: Keyspace, by extractor: String = SliceExtractor.name) -> IndexDefinition {
    .slices("groups", rows, .value(offset: 0, length: 8), by: extractor)
  }

  private func put(_ ids: Range<UInt64>, in rows: Keyspace, of store: Store) throws {
    try store.write(durability: .relaxed) { transaction in
      for id in ids {
        try transaction.put([0, 0, 0, 0, 0, 0, 0, UInt8(id % 7), UInt8(id % 251)], id: id, in: rows)
      }
    }
  }

  private func names(_ store: Store) throws -> [String] { try store.indexes.map(\.index.name) }

  @Test("One small commit removes the definition, entries and memory of an index, even after reopening")
  func removed() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try put(0..<2000, in: rows, of: store)
    let before = try store.statistics
    let index = try store.defineIndex(groups(rows))
    let between = try store.statistics
    try store.removeIndex(index)
    let after = try store.statistics
    #expect(try names(store) == [] && after.indexEntries == 0)
    #expect(after.logBytes - between.logBytes < 256)
    #expect(after.indexBytes - after.indexBytesRetired <= before.indexBytes)
    #expect(try store.verify().findings.map(\.description) == [])
    try put(2000..<2010, in: rows, of: store)
    store.engine.abandon()
    // The first opening reads the log. The second reads the checkpoint that the first closing
    // writes.
    for _ in 0..<2 {
      let again = try memory.open()
      #expect(try names(again) == [] && again.recoveryReport.unavailableIndexes == [])
      #expect(again.snapshot().count(in: rows) == 2010)
      #expect(try again.verify().findings.map(\.description) == [])
      try again.close()
    }
  }

  @Test("A handle of a removed index is refused, and earlier snapshots still have the index")
  func handles() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try put(0..<20, in: rows, of: store)
    let index = try store.defineIndex(groups(rows))
    let old = store.snapshot()
    try store.removeIndex(index)
    #expect(try old.count(in: index) == 20)
    let snapshot = store.snapshot()
    let attempts: [() throws -> Void] = [
      { _ = try snapshot.count(in: index) },
      { try snapshot.forEachEntry(in: index) { _, _ in true } },
      { try store.removeIndex(index) },
      { _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: index))) },
      {
        try store.write {
          try $0.put([1], id: 77, in: rows)
          $0.require(.indexRangeUnchanged(index, .all, since: old))
        }
      },
    ]
    for attempt in attempts {
      let error = #expect(throws: StoreError.self) { try attempt() }
      #expect(error?.code == .invalidArgument && error?.message.contains("was removed") == true)
    }
    #expect(try !store.snapshot().contains(.id(77), in: rows))
    #expect(try old.count(in: index) == 20)
  }

  @Test("The name of a removed index can be reused for any definition, with and without a checkpoint")
  func again() throws {
    for (checkpoints, isSame) in [(false, true), (true, true), (true, false)] {
      let memory = CheckpointedStore()
      let store = try memory.open()
      let rows = try store.keyspace("rows", .dense)
      try put(0..<50, in: rows, of: store)
      let index = try store.defineIndex(groups(rows))
      if checkpoints { try store.checkpoint() }
      try store.removeIndex(index)
      try put(20..<70, in: rows, of: store)
      let definition = isSame ? groups(rows) : .slices("groups", rows, .value(offset: 8, length: 1))
      let other = try store.defineIndex(definition)
      #expect(other.id == index.id)
      try put(60..<80, in: rows, of: store)
      #expect(try store.verify().findings.map(\.description) == [])
      store.engine.abandon()
      let opened = try memory.open()
      #expect(try opened.indexes.map(\.definition) == [definition])
      #expect(try opened.snapshot().count(in: other) == 80)
      #expect(try opened.verify().findings.map(\.description) == [])
    }
  }

  @Test("An index cannot be removed before the indexes derived from it, nor in a read-only store")
  func order() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let index = try store.defineIndex(groups(rows))
    let counts = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: index)))
    #expect(throws: StoreError.self) { try store.removeIndex(index) }.map {
      #expect($0.code == .invalidArgument && $0.message.contains("counts"))
    }
    #expect(try names(store) == ["groups", "counts"])
    try store.removeIndex(counts)
    try store.removeIndex(index)
    #expect(try names(store) == [])
    try store.close()
    let reader = try memory.open(readOnly: true)
    #expect(throws: StoreError.self) { try reader.removeIndex(index) }.map { #expect($0.code == .readOnly) }
  }

  @Test("A reader in another process keeps a removed index until its next refresh")
  func readers() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try put(0..<20, in: rows, of: store)
    let index = try store.defineIndex(groups(rows))
    try store.checkpoint()
    let reader = try memory.open(readOnly: true)
    try store.removeIndex(index)
    try put(20..<30, in: rows, of: store)
    try store.checkpoint()
    try put(30..<40, in: rows, of: store)
    let before = reader.snapshot()
    #expect(try before.count(in: index) == 20)
    #expect(try reader.refresh())
    #expect(try names(reader) == [] && before.count(in: index) == 20)
    #expect(throws: StoreError.self) { try reader.snapshot().count(in: index) }
    #expect(try reader.verify().findings.map(\.description) == [])
  }

  @Test("An unavailable index can be removed, and then no index is unavailable")
  func unavailable() throws {
    var withExtractor = memory
    withExtractor.options.indexExtractors = ["theirs": SliceExtractor()]
    let first = try withExtractor.open()
    let rows = try first.keyspace("rows", .dense)
    let index = try first.defineIndex(groups(rows, by: "theirs"))
    try put(0..<20, in: rows, of: first)
    try first.close()
    let store = try memory.open()
    #expect(store.recoveryReport.unavailableIndexes == ["groups"])
    try store.removeIndex(index)
    try store.close()
    let again = try memory.open()
    #expect(try again.recoveryReport.unavailableIndexes == [] && names(again) == [])
    #expect(try again.verify().findings.map(\.description) == [])
  }

  @Test("Salvage does not restore a removed index")
  func salvaged() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try put(0..<20, in: rows, of: store)
    let index = try store.defineIndex(groups(rows))
    _ = try store.defineIndex(.slices("kept", rows, .value(offset: 8, length: 1)))
    try store.removeIndex(index)
    try store.close()
    let report = try Store.salvage(from: CheckpointedStore.path, to: "/salvaged", options: memory.options)
    #expect(report.isClean && report.indexes == 1)
    let salvaged = try Store(at: "/salvaged", options: memory.options)
    #expect(try names(salvaged) == ["kept"])
  }

  @Test("Salvage restores a sum order whose id is less than the id of the sums index")
  func salvagedOrder() throws {
    var memory = memory
    memory.options.indexExtractors = ["numbers": SliceExtractor()]
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let old = try store.defineIndex(.slices("order", rows, .value(offset: 8, length: 1)))
    try store.removeIndex(old)
    let slice = groups(rows).source.extraction?.parameters ?? []
    let sums = try store.defineIndex(
      IndexDefinition(
        name: "sums",
        source: .groupSums(
          of: .integersAndDoubles, keyspaces: [rows], extractor: "numbers", parameters: slice)))
    let order = try store.defineIndex(IndexDefinition(name: "order", source: .sumOrder(of: sums)))
    #expect(order.id < sums.id)
    try store.close()
    let report = try Store.salvage(from: CheckpointedStore.path, to: "/salvaged", options: memory.options)
    #expect(report.isClean && report.indexes == 2)
    let salvaged = try Store(at: "/salvaged", options: memory.options)
    #expect(try names(salvaged).sorted() == ["order", "sums"])
    #expect(salvaged.recoveryReport.unavailableIndexes == [])
  }

  @Test("A definition through the handle of an older index refers to the current index of that name")
  func oldHandle() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let old = try store.defineIndex(groups(rows))
    try store.removeIndex(old)
    var unique = groups(rows)
    unique.isUnique = true
    let present = try store.defineIndex(unique)
    let counts = IndexDefinition(name: "counts", source: .groupCounts(of: old))
    _ = try store.defineIndex(counts)
    #expect(try store.verify().findings.map(\.description) == [])
    let sequence = store.snapshot().sequence
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: present)))
    _ = try store.defineIndex(counts)
    #expect(store.snapshot().sequence == sequence)
  }

  @Test("An index definition with the name of one of the engine's own extractors is refused")
  func reserved() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for name in CatalogRecord.reservedExtractors.sorted() {
      #expect(throws: StoreError.self) { try store.defineIndex(groups(rows, by: name)) }.map {
        #expect($0.code == .invalidArgument)
      }
    }
  }
}
