import PerdureFileIO
import PerdureFormat
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// Only the checkpoint writer reads the damaged node of the index file.
@Suite("Damage in the index that is first read by a checkpoint")
struct UntouchedDamageTests {
  private static let count: UInt64 = 600

  /// Returns a closed store and its content. In its checkpoint the last leaf of the rows is
  /// damaged.
  private static func damagedStore() throws -> (CheckpointedStore, CrashHistory.Content) {
    var memory = CheckpointedStore()
    memory.options.checkpoints.closeTailBytes = .max
    let store = try memory.open()
    let rows = try store.keyspace("rows", .dense)
    try store.write { transaction in
      for id in 0..<count { try transaction.put([UInt8(id % 250)], id: id, in: rows) }
    }
    try store.checkpoint()
    let content = try CrashOracle.content(of: store)
    try store.close()
    let name = try #require(try memory.indexFiles().first)
    let last = try #require(try memory.nodes(name).last)
    try memory.change(name) { $0[last.lowerBound + 100] ^= 0xFF }
    return (memory, content)
  }

  /// Commits to a row whose nodes are undamaged.
  private static func commit(to store: Store, _ content: inout CrashHistory.Content) throws {
    let rows = try store.keyspace("rows", .dense)
    try store.write { try $0.put([99], id: 1, in: rows) }
    content[CrashKey(keyspace: "rows", key: .id(1))] = [99]
  }

  private static func expectHealed(
    _ memory: CheckpointedStore, _ content: CrashHistory.Content
  ) throws {
    let next = try memory.open()
    #expect(next.recoveryReport.indexRebuild != nil)
    #expect(try CrashOracle.content(of: next) == content)
    try next.checkpoint()
    #expect(try next.verify().isClean)
    try next.close()
    #expect(try memory.open().recoveryReport.indexRebuild == nil)
  }

  @Test(
    "A checkpoint that reads the damage throws, later calls throw, and the next opening rebuilds the index"
  )
  func byHand() throws {
    var (memory, content) = try Self.damagedStore()
    let store = try memory.open()
    try Self.commit(to: store, &content)
    let error = #expect(throws: StoreError.self) { try store.checkpoint() }
    #expect(error?.code == .corruption && error?.message.contains("index") == true)
    let rows = try store.keyspace("rows", .dense)
    for action in [
      { _ = try store.snapshot().value(id: 1, in: rows) },
      { try store.write { try $0.put([1], id: 2, in: rows) } },
      { try store.checkpoint() },
    ] {
      let error = #expect(throws: StoreError.self) { try action() }
      #expect(error?.code == .corruption)
    }
    #expect(store.engine.checkpointer.statistics.failureCount > 0)
    try store.close()
    try Self.expectHealed(memory, content)
  }

  @Test("If the checkpoint at closing reads the damage, the next opening rebuilds the index")
  func atClose() throws {
    var (memory, content) = try Self.damagedStore()
    memory.options.checkpoints.closeTailBytes = 0
    let store = try memory.open()
    try Self.commit(to: store, &content)
    try store.close()
    try Self.expectHealed(memory, content)
  }
}
