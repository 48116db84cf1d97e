import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Writes in asynchronous functions")
struct AsynchronousWriteTests {
  /// A type that is not Sendable.
  private final class Ledger {
    var lines: [String] = []
  }

  private actor Clerk {
    private let store: Store
    private let rows: Keyspace
    private let ledger = Ledger()

    init(_ store: Store, _ rows: Keyspace) {
      self.store = store
      self.rows = rows
    }

    func enter(_ id: UInt64) async throws -> Int {
      let (book, _) = try await store.write { transaction in
        try transaction.put([1], id: id, in: rows)
        ledger.lines.append("\(id)")
        return ledger
      }
      return book.lines.count
    }
  }

  @Test("A transaction on the caller's actor can use and return values that are not Sendable")
  func isolation() async throws {
    let store = try MemoryStore().open()
    let rows = try store.keyspace("rows", .dense)
    let clerk = Clerk(store, rows)
    #expect(try await clerk.enter(1) == 1)
    #expect(try await clerk.enter(2) == 2)
    let ledger = Ledger()
    try await store.write { transaction in
      try transaction.put([1], id: 3, in: rows)
      ledger.lines.append("3")
    }
    #expect(ledger.lines == ["3"])
    #expect(store.snapshot().count(in: rows) == 3)
  }

  @Test("A transaction that throws writes nothing, and a completed transaction survives a power cut")
  func durability() async throws {
    let system = SimulatedFileSystem()
    var options = StoreOptions()
    options.fileSystem = system
    let store = try Store(at: "/store.perdure", options: options)
    let rows = try store.keyspace("rows", .dense)
    struct Refused: Error {}
    await #expect(throws: Refused.self) {
      try await store.write { transaction in
        try transaction.put([1], id: 1, in: rows)
        throw Refused()
      }
    }
    #expect(store.snapshot().count(in: rows) == 0)
    try await store.write { try $0.put([1], id: 1, in: rows) }
    let journal = system.journal
    for image in CrashExplorer(seed: 1).images(of: journal, after: journal.operationCount) {
      options.fileSystem = image.fileSystem()
      #expect(try Store(at: "/store.perdure", options: options).snapshot().count(in: rows) == 1)
    }
  }

  @Test("An awaited transaction has the requested durability for any default of the store")
  func durabilities() async throws {
    for (durability, byDefault) in [(Durability.powerLoss, Durability.relaxed), (.relaxed, .powerLoss)] {
      let system = SimulatedFileSystem()
      var options = StoreOptions()
      options.fileSystem = system
      options.durability = byDefault
      let store = try Store(at: "/store.perdure", options: options)
      let rows = try store.keyspace("rows", .dense)
      try store.sync()
      try await store.transaction(durability: durability) { try $0.put([1], id: 1, in: rows) }
      let journal = system.journal
      var counts: Set<Int> = []
      for image in CrashExplorer(seed: 1).images(of: journal, after: journal.operationCount) {
        options.fileSystem = image.fileSystem()
        counts.insert(try Store(at: "/store.perdure", options: options).snapshot().count(in: rows))
      }
      #expect(counts == (durability == .powerLoss ? [1] : [0, 1]), "\(durability)")
    }
  }
}
