import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Random changes of a store with many keyspaces, compared with a model.
///
/// Debug builds also compare each new root with the published one (RC2).
@Suite("Histories of stores with many keyspaces")
struct KeyspaceHistoryTests {
  @Test("All snapshots agree with a model after random definitions, commits, refusals and reopenings")
  func histories() throws {
    let random = SeededGenerator.forTest("histories of many keyspaces")
    for run in 0..<6 as Range<UInt64> {
      var history = try History(random.derived(run), keyspaceCount: [10, 70, 150, 300, 500, 700][Int(run)])
      for _ in 0..<400 { try history.step() }
      try history.finish()
    }
  }
}

private struct History {
  /// The content of the store at one time.
  struct Model {
    var rows: [[UInt64: UInt8]] = []
    /// The keyspaces of the indexes, by index name.
    var indexes: [String: Int] = [:]
  }

  private var random: SeededGenerator
  private let disk = SimulatedFileSystem()
  private var store: Store
  private var keyspaces: [Keyspace] = []
  private var indexes: [String: DerivedIndex] = [:]
  private var model = Model()
  private var held: [(snapshot: Snapshot, model: Model, indexes: [String: DerivedIndex])] = []

  init(_ random: SeededGenerator, keyspaceCount: Int) throws {
    self.random = random
    store = try Self.open(disk)
    for _ in 0..<keyspaceCount { try makeKeyspace() }
  }

  private static func open(_ disk: SimulatedFileSystem) throws -> Store {
    var options = StoreOptions()
    options.fileSystem = disk
    options.durability = .relaxed
    options.segmentCapacityBytes = 64 << 10
    // Injected failures must hit the commits of the test.
    options.checkpoints = .manual
    options.compactsAutomatically = false
    return try Store(at: "/s.perdure", options: options)
  }

  mutating func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<8: try makeKeyspace()
    case 8..<12: try refuseKeyspace()
    case 12..<15: try defineIndex()
    case 15..<17: try removeIndex()
    case 17..<27: held.append((store.snapshot(), model, indexes))
    case 27..<37: try release()
    case 37..<38: try reopen()
    case 38..<40: try store.checkpoint()
    case 40..<55: try refuse()
    default: try commit()
    }
    if random.chance(5) { try compare(store.snapshot(), model, indexes) }
  }

  mutating func finish() throws {
    while !held.isEmpty { try release() }
    try reopen()
    try compare(store.snapshot(), model, indexes)
    #expect(try store.verify().findings.map(\.description) == [])
    try store.close()
  }

  private mutating func makeKeyspace() throws {
    keyspaces.append(try store.keyspace("k\(keyspaces.count)", .dense))
    model.rows.append([:])
  }

  private mutating func refuseKeyspace() throws {
    try failing { _ = try store.keyspace("k\(keyspaces.count)", .bytes) }
    #expect(try store.keyspaces == keyspaces)
  }

  private mutating func defineIndex() throws {
    let number = Int.random(in: 0..<keyspaces.count, using: &random)
    let name = "i\(Int.random(in: 0..<20, using: &random))"
    let parameters = SliceExtractor.parameters([.value(offset: 0, length: 1)])
    let source = IndexDefinition.Source.records(
      keyspaces: [keyspaces[number]], extractor: SliceExtractor.name, parameters: parameters)
    indexes[name] = try store.defineIndex(IndexDefinition(name: name, source: source))
    model.indexes[name] = number
  }

  private mutating func removeIndex() throws {
    guard let name = indexes.keys.sorted().randomElement(using: &random), let index = indexes[name] else {
      return
    }
    try store.removeIndex(index)
    (indexes[name], model.indexes[name]) = (nil, nil)
  }

  private mutating func commit() throws {
    var next = model
    let changes = changes()
    try store.write { try Self.apply(changes, in: keyspaces, to: &$0, and: &next) }
    model = next
  }

  /// A commit that fails when its first bytes are written. At that time, it has already made all
  /// its changes in memory.
  private mutating func refuse() throws {
    var next = model
    var changes = changes()
    // A commit that only removes absent keys writes nothing.
    changes.append((0, 0, 1))
    try failing { try store.write { try Self.apply(changes, in: keyspaces, to: &$0, and: &next) } }
  }

  private func failing(_ body: () throws -> Void) throws {
    disk.inject(InjectedFailure(of: .write, repeats: true, code: .noSpace))
    let error = #expect(throws: StoreError.self) { try body() }
    #expect(error?.code == .diskFull, "\(String(describing: error))")
    disk.removeInjectedFailures()
  }

  /// Random changes: a keyspace, an id, and a value or nil. Most commits are short.
  private mutating func changes() -> [(keyspace: Int, id: UInt64, value: UInt8?)] {
    let count = random.chance(10) ? Int.random(in: 1...300, using: &random) : 2
    return (0..<count).map { _ in
      let keyspace = random.chance(30) ? 0 : Int.random(in: 0..<keyspaces.count, using: &random)
      let value = random.chance(75) ? UInt8.random(in: 0...255, using: &random) : nil
      return (keyspace, UInt64.random(in: 0..<20, using: &random), value)
    }
  }

  private static func apply(
    _ changes: [(keyspace: Int, id: UInt64, value: UInt8?)], in keyspaces: [Keyspace],
    to transaction: inout WriteTransaction, and model: inout Model
  ) throws {
    for (number, id, value) in changes {
      if let value {
        try transaction.put([value], id: id, in: keyspaces[number])
      } else {
        try transaction.remove(id: id, in: keyspaces[number])
      }
      model.rows[number][id] = value
    }
  }

  private mutating func release() throws {
    guard !held.isEmpty else { return }
    let old = held.remove(at: Int.random(in: 0..<held.count, using: &random))
    try compare(old.snapshot, old.model, old.indexes)
  }

  private mutating func reopen() throws {
    // Snapshots of a closed store stay valid, but retain its files.
    while !held.isEmpty { try release() }
    if random.chance(50) { try store.close() } else { store.engine.abandon() }
    store = try Self.open(disk)
    #expect(try store.keyspaces == keyspaces)
    indexes = Dictionary(
      uniqueKeysWithValues: try store.indexes.map { ($0.definition.name, $0.index) })
    #expect(Set(indexes.keys) == Set(model.indexes.keys))
  }

  private func compare(_ snapshot: Snapshot, _ model: Model, _ indexes: [String: DerivedIndex]) throws {
    for (number, keyspace) in keyspaces.enumerated() {
      let expected = number < model.rows.count ? model.rows[number] : [:]
      var found: [UInt64: UInt8] = [:]
      for id in 0..<20 as Range<UInt64> { found[id] = try snapshot.value(id: id, in: keyspace)?.first }
      try #require(found == expected && snapshot.count(in: keyspace) == expected.count, "\(keyspace.name)")
    }
    for (name, number) in model.indexes {
      let index = try #require(indexes[name])
      try #require(try snapshot.count(in: index) == model.rows[number].count, "\(name)")
    }
  }
}
