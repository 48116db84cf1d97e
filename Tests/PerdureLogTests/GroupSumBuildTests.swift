import PerdureFormat
import PerdureNumbers
import PerdureTestSupport
import Synchronization
import Testing

@testable import PerdureLog

/// An extractor that returns the integer in a value several times. The test sets how often.
private final class FickleExtractor: IndexExtractorFactory, IndexExtractor {
  private let times = Atomic<Int>(1)

  func give(_ times: Int) { self.times.store(times, ordering: .relaxed) }

  func makeExtractor(parameters: [UInt8], in store: borrowing StoredValues) throws -> any IndexExtractor {
    self
  }

  func extract(
    keyspace: UInt32, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    into entries: inout IndexEntries
  ) {
    for _ in 0..<times.load(ordering: .relaxed) {
      entries.add(.integer(Int64(value[1])), to: UInt64(value[0]))
    }
  }
}

@Suite("Building sums, and detecting impossible sums")
struct GroupSumBuildTests {
  private let extractor = FickleExtractor()
  private let memory: CheckpointedStore

  init() {
    var memory = CheckpointedStore()
    memory.options.indexExtractors = ["fickle": extractor]
    self.memory = memory
  }

  private func define(in store: Store) throws -> (rows: Keyspace, sums: DerivedIndex) {
    let rows = try store.keyspace("rows", .dense)
    let source = IndexDefinition.Source.groupSums(
      of: .integersAndDoubles, keyspaces: [rows], extractor: "fickle", parameters: [])
    let sums = try store.defineIndex(IndexDefinition(name: "sums", source: source))
    _ = try store.defineIndex(IndexDefinition(name: "order", source: .sumOrder(of: sums)))
    return (rows, sums)
  }

  /// The entries of all indexes, from a build with at most `groupsMax` groups in memory.
  private func built(_ store: Store, groupsMax: Int) throws -> [[UInt8]] {
    try store.engine.readingState { state in
      let arena = NodeArena()
      let root = Root.allocate(
        keyspaceCount: state.root.pointee.keyspaceCount, indexCount: state.root.pointee.indexCount)
      defer { Root.free(root) }
      root.pointee.keyspaces.update(
        from: state.root.pointee.keyspaces, count: state.root.pointee.keyspaceCount)
      let reader = RecordReader(root: state.root, verifiesChecksum: true)
      var build = IndexBuild(
        of: state.catalog, state.indexes, root, reader, store.engine.contents, arena, groupsMax: groupsMax)
      _ = try build.fill(state.catalog.ids)
      var entries: [[UInt8]] = []
      for id in state.catalog.ids.sorted() {
        var cursor = OrderedCursor(root.pointee.indexes[Int(id)])
        while cursor.next() { entries.append([UInt8(id)] + Array(cursor.key)) }
      }
      return entries
    }
  }

  @Test(
    "A build with few groups in memory gives the same sums as a build with all groups in memory",
    arguments: [1, 3, 19, 20, 21])
  func spilled(_ groupsMax: Int) throws {
    let store = try memory.open()
    let rows = try define(in: store).rows
    var random = SeededGenerator.forTest("builds of sums")
    for id in 0..<300 as Range<UInt64> {
      // The records of a group are not adjacent.
      let value = [UInt8.random(in: 0..<20, using: &random), UInt8.random(in: 0...255, using: &random)]
      try store.write(durability: .relaxed) { try $0.put(value, id: id, in: rows) }
    }
    let whole = try built(store, groupsMax: SumBuild.groupsMax)
    #expect(whole.count == 40 && Set(whole.map { $0[0] }) == [0, 1])
    #expect(try built(store, groupsMax: groupsMax) == whole, "seed \(random.seed)")
    #expect(try store.verify().isClean)
    try store.close()
  }

  /// Checks that both indexes are unavailable, and that the error gives the reason.
  private func expectLeftOut(_ store: Store, _ sums: DerivedIndex, _ order: DerivedIndex) throws {
    for index in [sums, order] {
      let error = #expect(throws: StoreError.self) { try store.snapshot().count(in: index) }
      #expect(error?.code == .indexUnavailable && error?.message.contains("group 3 in index sums") == true)
    }
    #expect(throws: StoreError.self) { try store.snapshot().sum(of: 4, in: sums) }
    #expect(try store.verify().findings.map(\.description) == [])
  }

  enum Remedy: CaseIterable { case definition, opening, openingWithoutCheckpoint }

  @Test(
    "Removing an absent number from a sum succeeds, and makes the index unavailable until a rebuild",
    arguments: Remedy.allCases)
  func leftOut(_ remedy: Remedy) throws {
    var store = try memory.open()
    let (rows, sums) = try define(in: store)
    let order = try #require(try store.indexes.last?.index)
    try store.write { try $0.put([3, 7], id: 1, in: rows) }
    var old: Snapshot? = store.snapshot()
    extractor.give(2)
    try store.write { try $0.remove(id: 1, in: rows) }
    #expect(store.snapshot().count(in: rows) == 0)
    try expectLeftOut(store, sums, order)
    #expect(throws: StoreError.self) { try old?.sum(of: 3, in: sums) }
    old = nil
    // Commits continue without the index.
    try store.write { try $0.put([4, 1], id: 2, in: rows) }
    try expectLeftOut(store, sums, order)
    extractor.give(1)
    if remedy != .definition {
      if remedy == .opening { try store.close() } else { store.engine.abandon() }
      store = try memory.open()
      #expect(store.recoveryReport.unavailableIndexes == [])
    }
    _ = try define(in: store)
    #expect(try store.indexes.map(\.index) == [sums, order])
    #expect(try store.snapshot().sum(of: 3, in: sums) == nil)
    #expect(try store.snapshot().sum(of: 4, in: sums)?.int64 == 1)
    #expect(try store.snapshot().count(in: order) == 1)
    #expect(try store.verify().findings.map(\.description) == [])
    try store.close()
  }

  @Test("With an index file of invalid sums, commits succeed, and the next opening rebuilds the sums")
  func hostile() throws {
    var store = try memory.open()
    let (rows, sums) = try define(in: store)
    let order = try #require(try store.indexes.last?.index)
    try store.write { try $0.put([3, 7], id: 1, in: rows) }
    try store.engine.inTurn { state in
      let next = state.makeWorkingRoot()
      let (old, new) = (
        SumEntry.find(3, in: next.pointee.indexes[Int(sums.id)])?.key,
        [0, 0, 0, 0, 0, 0, 0, 3, 255, 255] + [UInt8](repeating: 0, count: 8)
      )
      #expect(old != nil)
      SumEntry.move(3, from: old, to: new, in: next.pointee.indexes + Int(sums.id), state.arena)
      store.engine.showRoot(next, &state)
    }
    try store.checkpoint()
    store.engine.abandon()
    store = try memory.open()
    #expect(store.recoveryReport.indexRebuild == nil)
    #expect(throws: StoreError.self) { try store.snapshot().sum(of: 3, in: sums) }
    try store.write { try $0.put([3, 8], id: 2, in: rows) }
    try expectLeftOut(store, sums, order)
    store.engine.abandon()
    store = try memory.open()
    #expect(try store.snapshot().sum(of: 3, in: sums)?.int64 == 15)
    try store.write { try $0.put([3, 9], id: 3, in: rows) }
    #expect(try store.snapshot().sum(of: 3, in: sums)?.int64 == 24)
    #expect(try store.verify().findings.map(\.description) == [])
    try store.close()
  }

  @Test("If an opening must remove an absent number from a sum, it rebuilds the indexes")
  func replayed() throws {
    var store = try memory.open()
    let (rows, sums) = try define(in: store)
    try store.write { try $0.put([3, 7], id: 1, in: rows) }
    try store.write { try $0.put([4, 7], id: 2, in: rows) }
    try store.checkpoint()
    try store.write { try $0.remove(id: 1, in: rows) }
    store.engine.abandon()
    extractor.give(2)
    store = try memory.open()
    let rebuild = try #require(store.recoveryReport.indexRebuild)
    #expect(rebuild.reason.contains("group 3 in index sums") && rebuild.place.hasSuffix(".index"))
    #expect(try store.snapshot().sum(of: 3, in: sums) == nil)
    #expect(try store.snapshot().sum(of: 4, in: sums)?.int64 == 14)
    try store.close()
  }

  @Test("Encoded sums that no numbers can have are detected, and possible sums are accepted")
  func possible() {
    var sum = ExactSum(.binary)
    #expect(sum.isPossible)
    for term in [ExactSum.Term.integer(0), .double(.nan), .double(.infinity), .integer(5)] {
      sum.apply(term, isRemoval: true)
      #expect(!sum.isPossible)
      sum.apply(term, isRemoval: false)
      #expect(sum.isPossible && sum.isEmpty)
      sum.apply(term, isRemoval: false)
      #expect(sum.isPossible)
      sum.apply(.integer(1), isRemoval: true)
      #expect(!sum.isPossible)
      sum.apply(.integer(1), isRemoval: false)
      sum.apply(term, isRemoval: true)
    }
    // The sum has no terms, but its value is not zero.
    sum.apply(.integer(1), isRemoval: false)
    sum.apply(.integer(2), isRemoval: true)
    #expect(sum.termCount == 0 && !sum.isPossible)
  }
}
