import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

/// The required state of a store: values, definitions and entries of indexes.
@Suite("The required state of a store")
struct CrashStateTests {
  private let fileSystem = SimulatedFileSystem()

  /// Makes a store with five values, an empty keyspace, an index and an index of its counts. Also
  /// makes the required state of this store.
  private func make() throws -> (Store, CrashState) {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    let store = try Store(at: "/s.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    _ = try store.keyspace("empty", .bytes)
    let groups = IndexDefinition.slices("groups", rows, .value(offset: 0, length: 8))
    let counts = IndexDefinition(name: "counts", source: .groupCounts(of: try store.defineIndex(groups)))
    _ = try store.defineIndex(counts)
    var state = CrashState()
    for definition in [.keyspace("rows", .dense), .keyspace("empty", .bytes)] as [CrashDefinition] {
      state.catalog.add(definition)
    }
    for definition in [groups, counts] { state.catalog.add(CrashDefinition(definition)) }
    for id in 1...5 as ClosedRange<UInt64> {
      let value = [0, 0, 0, 0, 0, 0, 0, UInt8(id % 2), UInt8(id)] as [UInt8]
      try store.write { try $0.put(value, id: id, in: rows) }
      state.content[CrashKey(keyspace: "rows", key: .id(id))] = value
    }
    return (store, state)
  }

  @Test("The check accepts a store with the required state")
  func same() throws {
    let (store, state) = try make()
    try state.check(store, "now")
  }

  @Test("The sums of values of both signs and beyond 64 bits are right, and so is their order")
  func sums() throws {
    var (store, state) = try make()
    let rows = try store.keyspace("rows", .dense)
    let sums = IndexDefinition.sums("sums", rows)
    let order = IndexDefinition(name: "order", source: .sumOrder(of: try store.defineIndex(sums)))
    _ = try store.defineIndex(order)
    for definition in [sums, order] { state.catalog.add(CrashDefinition(definition)) }
    for (id, number) in ([.max, .max, -300, .min, 7, 128, -7] as [Int64]).enumerated() {
      let key = CrashKey(keyspace: "rows", key: .id(UInt64(id)))
      let value = [0, 0, 0, 0, 0, 0, 0, UInt8(id / 2)] + withUnsafeBytes(of: number.bigEndian) { Array($0) }
      try store.write { try $0.put(value, id: UInt64(id), in: rows) }
      state.content[key] = value
    }
    try state.check(store, "now")
    state.catalog.add(.removedIndex("order"))
    #expect(throws: Violation.self) { try state.check(store, "now") }
    try store.removeIndex(try #require(try store.indexes.last).index)
    try state.check(store, "now")
  }

  @Test(
    "The check detects a missing definition and a different one",
    arguments: [
      .keyspace("lost", .dense), .keyspace("empty", .dense), .dictionary(1, of: "rows"),
      .index("groups", over: ["rows"], extractor: "slices", parameters: [0], isUnique: false),
      .groupCounts("counts", of: "groups", isUnique: true),
    ] as [CrashDefinition])
  func definitions(_ definition: CrashDefinition) throws {
    var (store, state) = try make()
    state.catalog.add(definition)
    let violation = #expect(throws: Violation.self) { try state.check(store, "now") }
    #expect(violation?.description.contains("the definitions now are wrong") == true)
  }

  /// A difference between the values of a store and the required ones.
  enum WrongValue: CaseIterable { case different, missing, surplus }

  @Test("The check detects a different, a missing and a surplus value", arguments: WrongValue.allCases)
  func values(_ wrong: WrongValue) throws {
    var (store, state) = try make()
    func key(_ id: UInt64) -> CrashKey { CrashKey(keyspace: "rows", key: .id(id)) }
    switch wrong {
    case .different: state.content[key(3)]?[8] = 0
    case .missing: state.content[key(6)] = [1]
    case .surplus: state.content[key(3)] = nil
    }
    let violation = #expect(throws: Violation.self) { try state.check(store, "now") }
    #expect(violation?.description == "the content now is wrong")
  }

  @Test("Each commit that changed no value is assigned a definition, in order")
  func numbers() throws {
    let history = CrashHistory()
    try history.define(.keyspace("rows", .dense)) {}
    history.note(2, [(CrashKey(keyspace: "rows", key: .id(1)), [1])])
    try history.define(.keyspace("names", .bytes)) {}
    try history.define(.keyspace("rows", .dense)) {}
    try history.checkComplete(upTo: 3)
    #expect(throws: Violation.self) { try history.checkComplete(upTo: 4) }
    let counts = history.states(upTo: 3).map(\.catalog.keyspaces.count)
    #expect(counts == [0, 1, 1, 2])
  }
}
