import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Checkpoints after a failed sync of the index file")
struct AnotherIndexFileTests {
  private let simulated = SimulatedFileSystem()
  private var memory: CheckpointedStore { CheckpointedStore(simulated) }

  @Test("The next checkpoint writes the whole index to another file, including nodes of the mapped file")
  func mappedNodes() throws {
    var store = try memory.open()
    let (rows, names) = (try store.keyspace("rows", .dense), try store.keyspace("names", .bytes))
    let index = try store.defineIndex(.slices("first bytes", rows, .value(offset: 0, length: 2)))
    for id in 0..<3000 as Range<UInt64> {
      try store.write(durability: .relaxed) { transaction in
        try transaction.put([UInt8(id % 251), UInt8(id % 7), 3], id: id * 5, in: rows)
        try transaction.put([1], key: Self.key(id), in: names)
      }
    }
    try store.close()
    store = try memory.open()
    #expect(store.recoveryReport.logBytes == 0)
    try store.write { try $0.put([9, 9, 9], id: 7, in: rows) }
    simulated.inject(InjectedFailure(of: .sync, effect: .forgetsWrites, pathContains: ".index"))
    #expect(throws: StoreError.self) { try store.checkpoint() }
    try store.write { try $0.remove(key: Self.key(77), in: names) }
    try store.checkpoint()
    #expect(try store.verify().findings.map(\.description) == [])
    for round in 0..<5 as Range<UInt64> {
      for id in 0..<40 as Range<UInt64> {
        try store.write(durability: .relaxed) { try $0.put([1, 2, 3], id: round * 131 + id, in: rows) }
      }
      try store.checkpoint()
      #expect(try store.verify().findings.map(\.description) == [])
    }
    let (rowCount, nameCount) = (store.snapshot().count(in: rows), store.snapshot().count(in: names))
    store.engine.abandon()
    store = try memory.open(checking: true)
    #expect(store.recoveryReport.indexRebuild == nil && store.recoveryReport.logBytes == 0)
    #expect(store.snapshot().count(in: rows) == rowCount && store.snapshot().count(in: names) == nameCount)
    #expect(try store.snapshot().count(in: index) == rowCount)
    #expect(try store.verify().findings.map(\.description) == [])
    #expect(try memory.indexFiles().count == 1)
  }

  /// Every fiftieth key is too long for a node.
  private static func key(_ id: UInt64) -> [UInt8] {
    Array("name \(id)".utf8) + [UInt8](repeating: 120, count: id % 50 == 0 ? 400 : 0)
  }

  @Test("Repeated sync failures leave every checkpoint complete while snapshots are taken and released")
  func histories() throws {
    let random = SeededGenerator.forTest("another index file")
    for history in 0..<12 as Range<UInt64> {
      var random = random.derived(history)
      let simulated = SimulatedFileSystem()
      let memory = CheckpointedStore(simulated)
      var (store, model, held) = (try memory.open(), [UInt64: UInt8](), [(Snapshot, Int)]())
      let rows = try store.keyspace("rows", .dense)
      _ = try store.defineIndex(.slices("values", rows, .value(offset: 0, length: 1)))
      for step in 0..<150 {
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
          if random.chance(60) {
            simulated.inject(InjectedFailure(of: .sync, effect: .forgetsWrites, pathContains: ".index"))
          }
          do { try store.checkpoint() } catch let error as StoreError {
            #expect(error.code == .io && error.cause?.operation.isSync == true, "\(error)")
          }
          simulated.removeInjectedFailures()
        case 1: held.append((store.snapshot(), model.count))
        case 2: if !held.isEmpty { held.remove(at: .random(in: 0..<held.count, using: &random)) }
        case 3 where step % 3 == 0:
          held = []
          if random.chance(50) { try store.close() } else { store.engine.abandon() }
          store = try memory.open(checking: true)
          #expect(store.recoveryReport.indexRebuild == nil)
        default:
          try store.write(durability: .relaxed) { transaction in
            for _ in 0..<20 {
              let id = UInt64.random(in: 0..<4000, using: &random)
              if random.chance(20) {
                model[id] = nil
                try transaction.remove(id: id, in: rows)
              } else {
                model[id] = UInt8(id % 256)
                try transaction.put([UInt8(id % 256)], id: id, in: rows)
              }
            }
          }
        }
        for (snapshot, count) in held { #expect(snapshot.count(in: rows) == count) }
      }
      held = []
      let findings = try store.verify().findings.map(\.description)
      #expect(findings == [], "history \(history), seed \(random.seed)")
      store.engine.abandon()
      store = try memory.open(checking: true)
      #expect(store.recoveryReport.indexRebuild == nil, "history \(history), seed \(random.seed)")
      for (id, byte) in model { #expect(try store.snapshot().value(id: id, in: rows) == [byte]) }
      #expect(store.snapshot().count(in: rows) == model.count)
      #expect(try store.verify().isClean)
    }
  }
}
