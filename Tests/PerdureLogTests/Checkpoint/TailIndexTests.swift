import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// An extractor of the first bytes of values. A store has this extractor only if the test passes it
/// in the options.
private struct Prefixes: IndexExtractorFactory {
  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    Extractor()
  }

  private struct Extractor: IndexExtractor {
    func extract(
      keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
      into entries: inout IndexEntries
    ) {
      entries.add(key: Array(value.prefix(2)) + [0, 0], reference: key.loadUnaligned(as: UInt64.self))
    }
  }
}

@Suite("Derived indexes after a checkpoint")
struct TailIndexTests {
  private let memory = CheckpointedStore()

  private func definition(_ name: String, _ rows: Keyspace, unique: Bool = false) -> IndexDefinition {
    let source = IndexDefinition.Source.records(keyspaces: [rows], extractor: "prefixes", parameters: [])
    return IndexDefinition(name: name, source: source, isUnique: unique)
  }

  /// A store with the extractor of this file.
  private var withPrefixes: CheckpointedStore {
    var memory = memory
    memory.options.indexExtractors = ["prefixes": Prefixes()]
    return memory
  }

  private func entries(_ store: Store, _ name: String) throws -> Int {
    let index = try #require(try store.indexes.first { $0.index.name == name }).index
    var count = 0
    try store.snapshot().forEachEntry(in: index) { _, _ in
      count += 1
      return true
    }
    return count
  }

  @Test("Opening builds the indexes that were defined or changed after the checkpoint, and keeps the others")
  func defined() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let kept = IndexDefinition.slices("kept", rows, .value(offset: 0, length: 1))
    let groups = try store.defineIndex(.slices("groups", rows, .value(offset: 0, length: 8)))
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
    _ = try store.defineIndex(kept)
    let changing = try store.defineIndex(.slices("changing", rows, .value(offset: 0, length: 1)))
    for id in 0..<60 as Range<UInt64> {
      try store.write { try $0.put([0, 0, 0, 0, 0, 0, 0, UInt8(id % 5), UInt8(id)], id: id, in: rows) }
    }
    try store.checkpoint()
    _ = try store.defineIndex(.slices("groups", rows, .value(offset: 1, length: 8)))
    // Now an index with a lower number counts the groups of an index with a higher number.
    let late = try store.defineIndex(.slices("late", rows, .value(offset: 1, length: 8)))
    _ = try store.defineIndex(IndexDefinition(name: "changing", source: .groupCounts(of: late)))
    for id in 30..<80 as Range<UInt64> {
      try store.write { try $0.put([1, 0, 0, 0, 0, 0, 0, UInt8(id % 3), UInt8(id)], id: id, in: rows) }
    }
    #expect(changing.id < late.id)
    store.engine.abandon()
    let again = try memory.open()
    #expect(again.recoveryReport.checkpointSequence > 0 && again.recoveryReport.unavailableIndexes == [])
    #expect(try entries(again, "kept") == 80 && entries(again, "late") == 80)
    #expect(try again.verify().findings.map(\.description) == [])
    try again.close()
    let third = try memory.open()
    #expect(third.recoveryReport.indexRebuild == nil && third.recoveryReport.logBytes == 0)
    #expect(try third.verify().findings.map(\.description) == [])
  }

  /// Checks that every use of the only index throws `indexUnavailable`.
  private func expectUnavailable(_ store: Store) throws {
    let index = try #require(try store.indexes.first).index
    let rows = try store.keyspace("rows", .dense)
    let snapshot = store.snapshot()
    let condition = Precondition.indexRangeUnchanged(index, .all, since: snapshot)
    let attempts: [() throws -> Void] = [
      { _ = try snapshot.count(in: index) },
      { try snapshot.forEachEntry(in: index) { _, _ in true } },
      {
        try store.write {
          try $0.put([1], id: 77, in: rows)
          $0.require(condition)
        }
      },
    ]
    for attempt in attempts {
      #expect(throws: StoreError.self) { try attempt() }.map { #expect($0.code == .indexUnavailable) }
    }
    #expect(try !store.snapshot().contains(.id(77), in: rows))
  }

  @Test("An index of group counts stays valid when the counted index becomes unique")
  func redefinedCounted() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    let slice = SliceExtractor.Slice.value(offset: 0, length: 8)
    let groups = try store.defineIndex(.slices("groups", rows, slice))
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
    try store.write { try $0.put([0, 0, 0, 0, 0, 0, 0, 1], id: 1, in: rows) }
    _ = try store.defineIndex(.slices("groups", rows, slice, isUnique: true))
    let definitions = try store.indexes.map(\.definition)
    #expect(try store.verify().findings.map(\.description) == [])
    try store.close()
    let again = try memory.open()
    #expect(try again.indexes.map(\.definition) == definitions)
    #expect(try again.verify().findings.map(\.description) == [])
    // A changed definition causes a rebuild, with a commit. This definition is unchanged, so no
    // commit is made.
    let sequence = again.snapshot().sequence
    let counted = try #require(try again.indexes.first).index
    _ = try again.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: counted)))
    #expect(again.snapshot().sequence == sequence)
  }

  @Test("A program with the extractor rebuilds an index that programs without it did not maintain")
  func unavailable() throws {
    var store = try withPrefixes.open()
    let rows = try store.keyspace("rows", .dense)
    _ = try store.defineIndex(definition("prefixes", rows))
    for id in 0..<40 as Range<UInt64> { try store.write { try $0.put([UInt8(id), 1], id: id, in: rows) } }
    try store.close()
    // Opens without the extractor. The first round closes with a checkpoint, the second without a
    // checkpoint.
    for closing in [true, false] {
      store = try memory.open()
      #expect(store.recoveryReport.unavailableIndexes == ["prefixes"])
      try expectUnavailable(store)
      try store.write { transaction in
        for id in 20..<50 as Range<UInt64> {
          try transaction.put([UInt8(id), closing ? 2 : 3], id: id, in: rows)
        }
      }
      if closing { try store.close() } else { store.engine.abandon() }
      store = try withPrefixes.open()
      #expect(try entries(store, "prefixes") == 50)
      #expect(try store.verify().findings.map(\.description) == [])
      try store.close()
    }
  }

  @Test("Every opening reports a duplicate key of a unique index until the duplicate is removed")
  func duplicates() throws {
    var store = try withPrefixes.open()
    let rows = try store.keyspace("rows", .dense)
    _ = try store.defineIndex(definition("unique", rows, unique: true))
    try store.write { try $0.put([1, 1], id: 1, in: rows) }
    try store.close()
    store = try memory.open()
    try store.write { try $0.put([1, 1], id: 2, in: rows) }
    store.engine.abandon()
    for _ in 0..<3 {
      store = try withPrefixes.open()
      #expect(store.recoveryReport.duplicates.count == 1)
      try store.write { try $0.put([7, UInt8(store.snapshot().sequence)], id: 9, in: rows) }
      try store.close()
    }
    store = try withPrefixes.open()
    try store.write { try $0.remove(id: 2, in: rows) }
    store.engine.abandon()
    store = try withPrefixes.open()
    #expect(store.recoveryReport.duplicates.isEmpty && store.recoveryReport.checkpointSequence > 0)
    #expect(try store.verify().isClean)
  }

  @Test("Replay of the tail removes replaced blob files, keeps new ones and updates indexes")
  func blobs() throws {
    var store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    _ = try store.defineIndex(.slices("first", rows, .value(offset: 0, length: 1)))
    for id in 1...6 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: UInt8(id), count: 3000), id: id, in: rows) }
    }
    try store.checkpoint()
    // In the tail, row 1 gets a short value and row 2 gets another blob file. Row 3 gets two blob
    // files, one after the other. Row 7 gets a new blob file, and row 4 is removed.
    try store.write { try $0.put([100], id: 1, in: rows) }
    try store.write { try $0.put([UInt8](repeating: 101, count: 3000), id: 2, in: rows) }
    try store.write { try $0.put([UInt8](repeating: 102, count: 3000), id: 3, in: rows) }
    try store.write { try $0.put([UInt8](repeating: 103, count: 3000), id: 3, in: rows) }
    try store.write { try $0.put([UInt8](repeating: 104, count: 3000), id: 7, in: rows) }
    try store.write { try $0.remove(id: 4, in: rows) }
    let content = try CrashOracle.content(of: store)
    store.engine.abandon()
    for round in 0..<3 {
      store = try memory.open()
      #expect(store.recoveryReport.checkpointSequence > 0 && store.recoveryReport.unavailableIndexes == [])
      let blobs = try memory.fileSystem.contents(of: CheckpointedStore.path).filter { $0.hasSuffix(".blob") }
      #expect(blobs.count == 5, "\(blobs)")
      #expect(try CrashOracle.content(of: store) == content)
      #expect(try store.verify().findings.map(\.description) == [])
      if round == 1 { try store.close() } else { store.engine.abandon() }
    }
  }
}

@Suite("Failures to write an index file")
struct CheckpointFailureTests {
  private let simulated = SimulatedFileSystem()
  private var memory: CheckpointedStore { CheckpointedStore(simulated) }

  @Test("Without space for a checkpoint the store stays usable, and a later checkpoint is complete")
  func noSpace() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    for id in 0..<500 as Range<UInt64> {
      try store.write(durability: .relaxed) { try $0.put([1], id: id, in: rows) }
    }
    // The first failure is in a new file. The last failure is in a file that has a checkpoint.
    for (round, fails) in [true, false, true].enumerated() {
      if fails {
        simulated.inject(
          InjectedFailure(
            of: .write, repeats: true, code: .noSpace, effect: .partialWrite(byteCount: 100),
            pathContains: ".index"))
        let error = #expect(throws: StoreError.self) { try store.checkpoint() }
        #expect(error?.code == .diskFull)
        simulated.removeInjectedFailures()
      } else {
        try store.checkpoint()
      }
      try store.write { try $0.put([2], id: UInt64(round), in: rows) }
    }
    #expect(try store.statistics.checkpointFailuresSinceOpen == 2)
    try store.checkpoint()
    store.engine.abandon()
    let again = try memory.open()
    #expect(again.recoveryReport.indexRebuild == nil && again.recoveryReport.logBytes == 0)
    #expect(again.snapshot().count(in: rows) == 500)
    #expect(try again.verify().isClean)
  }

  @Test("A checkpoint without a free file descriptor fails, and the next checkpoint succeeds")
  func tooManyOpenFiles() throws {
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 1, in: rows) }
    simulated.inject(InjectedFailure(of: .create, code: .tooManyOpenFiles, pathContains: ".index"))
    let error = #expect(throws: StoreError.self) { try store.checkpoint() }
    #expect(error?.cause?.code == .tooManyOpenFiles)
    try store.checkpoint()
    store.engine.abandon()
    let again = try memory.open()
    #expect(again.recoveryReport.checkpointSequence > 0 && again.recoveryReport.logBytes == 0)
    #expect(try again.snapshot().value(id: 1, in: rows) == [1])
  }

  @Test("After a failed sync, the older checkpoint stays valid, and the next one uses another file")
  func failedSync() throws {
    var store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([1], id: 1, in: rows) }
    try store.checkpoint()
    let sequence = store.snapshot().sequence
    try store.write { try $0.put([2], id: 2, in: rows) }
    simulated.inject(InjectedFailure(of: .sync, effect: .forgetsWrites, pathContains: ".index"))
    #expect(throws: StoreError.self) { try store.checkpoint() }
    #expect(try store.statistics.checkpointFailuresSinceOpen == 1)
    #expect(try store.statistics.lastCheckpointFailure?.contains("sync") == true)
    try store.write(durability: .powerLoss) { try $0.put([3], id: 3, in: rows) }
    let before = try CheckpointedStore(simulated.currentImage.fileSystem()).open()
    #expect(before.recoveryReport.checkpointSequence == sequence && before.recoveryReport.indexRebuild == nil)
    #expect(before.snapshot().count(in: rows) == 3)
    try store.checkpoint()
    #expect(try store.verify().isClean)
    let indexes = try simulated.contents(of: store.path).filter { $0.hasSuffix(".index") }
    #expect(indexes.count == 2)
    store.engine.abandon()
    store = try memory.open()
    #expect(store.recoveryReport.checkpointSequence == sequence + 2 && store.recoveryReport.logBytes == 0)
    #expect(try simulated.contents(of: store.path).filter { $0.hasSuffix(".index") } == [indexes[1]])
    #expect(store.snapshot().count(in: rows) == 3)
    try store.write { try $0.put([4], id: 4, in: rows) }
    try store.close()
    store = try memory.open()
    #expect(store.recoveryReport.logBytes == 0 && store.snapshot().count(in: rows) == 4)
    #expect(try store.verify().isClean)
  }
}
