import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// The tests measure cost as the number of copied entries of the root. Each commit makes a new root
/// (RootChanges.swift).
@Suite("Stores with many keyspaces")
struct ManyKeyspacesTests {
  private let disk = SimulatedFileSystem()

  private func open() throws -> Store {
    var options = StoreOptions()
    options.fileSystem = disk
    options.durability = .relaxed
    options.checkpoints = .manual
    options.compactsAutomatically = false
    return try Store(at: "/s.perdure", options: options)
  }

  private func make(_ numbers: Range<Int>, in store: Store) throws -> [Keyspace] {
    try numbers.map { try store.keyspace("k\($0)", .dense) }
  }

  /// The number of entries that `body` copies into new roots.
  private func copies(in store: Store, _ body: () throws -> Void) throws -> Int {
    let before = try store.engine.readingState { $0.rootPool.copiedEntryCount }
    try body()
    return try store.engine.readingState { $0.rootPool.copiedEntryCount } - before
  }

  @Test("The cost of a new keyspace does not grow with the number of keyspaces")
  func making() throws {
    let store = try open()
    let few = try copies(in: store) { _ = try make(0..<2000, in: store) }
    let more = try copies(in: store) { _ = try make(2000..<4000, in: store) }
    #expect(few <= 2000 * 48 && more <= 2000 * 48, "\(few), then \(more) entries copied")
    #expect(try store.keyspaces.map(\.name) == (0..<4000).map { "k\($0)" })
    #expect(try store.verify().findings.map(\.description) == [])
  }

  @Test("The cost of a commit does not grow with the number of keyspaces, even if there is a snapshot")
  func commits() throws {
    let store = try open()
    let all = try make(0..<3000, in: store)
    let slices = SliceExtractor.parameters([.value(offset: 0, length: 1)])
    for keyspace in all[..<3] {
      let source = IndexDefinition.Source.records(
        keyspaces: [keyspace], extractor: SliceExtractor.name, parameters: slices)
      _ = try store.defineIndex(IndexDefinition(name: keyspace.name, source: source))
    }
    func commit(_ count: Int) throws {
      for i in 0..<count {
        try store.write { try $0.put([UInt8(i % 5)], id: UInt64(i), in: all[i * 7 % 3000]) }
      }
    }
    // The first commits copy whole roots. Later commits reuse these roots (RootPool).
    try commit(64)
    let alone = try copies(in: store) { try commit(500) }
    #expect(alone <= 500 * 20, "\(alone) entries copied")
    let snapshot = store.snapshot()
    let beside = try copies(in: store) { try commit(500) }
    // The snapshot retains one root, so the pool copies one whole root to replace it.
    #expect(beside <= 500 * 20 + 3004, "\(beside) entries copied")
    #expect(snapshot.count(in: all[7]) == 1)
    #expect(try store.verify().findings.map(\.description) == [])
  }

  @Test("The cost of a refused commit does not grow with the number of keyspaces")
  func refusals() throws {
    let store = try open()
    let all = try make(0..<3000, in: store)
    let slices = SliceExtractor.parameters([.value(offset: 0, length: 1)])
    let source = IndexDefinition.Source.records(
      keyspaces: [all[5]], extractor: SliceExtractor.name, parameters: slices)
    _ = try store.defineIndex(IndexDefinition(name: "unique", source: source, isUnique: true))
    try store.write { try $0.put([1], id: 1, in: all[5]) }
    func refuse(_ count: Int) throws {
      for _ in 0..<count {
        #expect(throws: StoreError.self) { try store.write { try $0.put([1], id: 2, in: all[5]) } }
      }
    }
    try refuse(1)
    let copied = try copies(in: store) { try refuse(200) }
    #expect(copied <= 200 * 20, "\(copied) entries copied")
    #expect(store.snapshot().count(in: all[5]) == 1)
    #expect(try store.verify().findings.map(\.description) == [])
  }

  @Test("A new keyspace that the disk refuses leaves no trace, at any number of keyspaces")
  func refusedKeyspaces() throws {
    var store = try open()
    var all: [Keyspace] = []
    for number in 0..<300 {
      let before = store.snapshot()
      disk.inject(InjectedFailure(of: .write, code: .noSpace))
      let error = #expect(throws: StoreError.self) { try store.keyspace("k\(number)", .bytes) }
      #expect(error?.code == .diskFull, "\(String(describing: error))")
      disk.removeInjectedFailures()
      #expect(try store.keyspaces == all)
      #expect(store.snapshot().sequence == before.sequence)
      // The refused keyspace had the same number, but the other kind.
      all.append(try store.keyspace("k\(number)", .dense))
      try store.write { try $0.put([UInt8(number & 255)], id: UInt64(number), in: all[number / 2]) }
    }
    for opened in 0..<2 {
      let snapshot = store.snapshot()
      #expect(all.map { snapshot.count(in: $0) } == (0..<300).map { $0 < 150 ? 2 : 0 }, "opened \(opened)")
      #expect(try store.keyspaces == all)
      #expect(try store.verify().findings.map(\.description) == [])
      store.engine.abandon()
      store = try open()
    }
  }

  @Test("After a failed write of a new keyspace, the store opens with all earlier keyspaces")
  func poisoned() throws {
    var store = try open()
    let all = try make(0..<300, in: store)
    disk.inject(InjectedFailure(of: .write, code: .mediaError))
    #expect(throws: StoreError.self) { try store.keyspace("one more", .bytes) }
    disk.removeInjectedFailures()
    #expect(try store.keyspaces == all)
    store.engine.abandon()
    store = try open()
    #expect(Array(try store.keyspaces.prefix(300)) == all)
    _ = try store.keyspace("one more", .bytes)
    #expect(try store.verify().findings.map(\.description) == [])
  }
}
