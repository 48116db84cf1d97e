import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Transactions")
struct TransactionTests {
  private let store: Store
  private let accounts: Keyspace
  private let names: Keyspace

  init() throws {
    store = try MemoryStore().open()
    accounts = try store.keyspace("accounts", .dense)
    names = try store.keyspace("names", .bytes)
  }

  private func put(_ value: UInt8, id: UInt64) throws {
    try store.write(durability: .relaxed) { try $0.put([value], id: id, in: accounts) }
  }

  @Test("Reads see only the snapshot and the transaction's own writes")
  func readsOwnWrites() throws {
    try put(1, id: 1)
    let (result, sequence) = try store.transaction { transaction in
      try transaction.put([2], id: 2, in: accounts)
      try transaction.remove(id: 1, in: accounts)
      try transaction.put([9], key: [5], in: names)
      let seen = try transaction.entries(in: accounts, ids: 0 ... .max).map(\.id)
      #expect(try transaction.value(id: 1, in: accounts) == nil)
      #expect(try transaction.contains(.id(2), in: accounts))
      #expect(try transaction.count(in: accounts, ids: 0...9) == 1)
      #expect(try transaction.count(in: names, range: .prefix([5])) == 1)
      #expect(try store.snapshot().contains(.id(1), in: accounts))
      return seen
    }
    #expect(result == [2])
    #expect(sequence == store.snapshot().sequence)
    #expect(try store.snapshot().value(id: 2, in: accounts) == [2])
    #expect(try !store.snapshot().contains(.id(1), in: accounts))
  }

  @Test("A value that changed after it was read is a retryable conflict, and nothing is written")
  func lostUpdate() throws {
    try put(1, id: 1)
    let error = #expect(throws: StoreError.self) {
      try store.transaction { transaction in
        let value = try #require(try transaction.value(id: 1, in: accounts))
        try put(5, id: 1)
        try transaction.put([value[0] + 1], id: 1, in: accounts)
      }
    }
    #expect(error?.code == .conflict)
    #expect(error?.isRetryable == true)
    #expect(error?.conflicts.count == 1)
    #expect(try store.snapshot().value(id: 1, in: accounts) == [5])
  }

  @Test("If a key was absent when it was read, and was inserted later, the commit conflicts")
  func cameSince() throws {
    let error = #expect(throws: StoreError.self) {
      try store.transaction { transaction in
        #expect(try !transaction.contains(.bytes([1]), in: names))
        try store.write { try $0.put([], key: [1], in: names) }
        try transaction.put([2], key: [1], in: names)
      }
    }
    #expect(error?.isRetryable == true)
    #expect(try store.snapshot().value(key: [1], in: names) == [])
  }

  @Test("If each of two transactions reads a key that the other writes, only one can commit")
  func writeSkew() throws {
    try put(1, id: 1)
    try put(1, id: 2)
    #expect(throws: StoreError.self) {
      try store.transaction { first in
        #expect(try first.count(in: accounts, ids: 1...2) == 2)
        try store.transaction { second in
          #expect(try second.value(id: 1, in: accounts) == [1])
          try second.remove(id: 2, in: accounts)
        }
        try first.remove(id: 1, in: accounts)
      }
    }
    #expect(try store.snapshot().value(id: 1, in: accounts) == [1])
  }

  @Test("A key inserted into a range after the range was read is a conflict")
  func phantoms() throws {
    let range = KeyRange(lower: [10], upper: [20])
    func commit(whileComes key: [UInt8]) throws {
      try store.transaction { transaction in
        #expect(try transaction.entries(in: names, range: range).isEmpty)
        try store.write { try $0.put([], key: key, in: names) }
        try transaction.put([], id: 7, in: accounts)
      }
    }
    try commit(whileComes: [20])
    try commit(whileComes: [9, 255])
    #expect(throws: StoreError.self) { try commit(whileComes: [19, 255]) }
    #expect(throws: StoreError.self) {
      try store.transaction { transaction in
        #expect(try transaction.entries(in: accounts, ids: 8...1000).isEmpty)
        try put(1, id: 1000)
        try transaction.put([], id: 1, in: accounts)
      }
    }
  }

  @Test("If a read stops early, its transaction depends only on the visited entries")
  func limitedRange() throws {
    for id in [10, 20, 30] as [UInt64] { try put(1, id: id) }
    func first(descending: Bool, whileComes id: UInt64) throws -> [UInt64] {
      try store.transaction { transaction in
        let found = try transaction.entries(in: accounts, ids: 0 ... .max, limit: 1, descending: descending)
        try put(2, id: id)
        try transaction.put([], key: [], in: names)
        return found.map(\.id)
      }.result
    }
    #expect(try first(descending: false, whileComes: 25) == [10])
    #expect(try first(descending: true, whileComes: 15) == [30])
    #expect(throws: StoreError.self) { try first(descending: false, whileComes: 5) }
    #expect(throws: StoreError.self) { try first(descending: true, whileComes: 35) }
  }

  @Test("An entry inserted into a range of a derived index is a conflict")
  func indexRange() throws {
    let index = try store.defineIndex(.slices("first byte", accounts, .value(offset: 0, length: 1)))
    try put(4, id: 1)
    func commit(whilePutting value: UInt8) throws -> Int {
      try store.transaction { transaction in
        let found = try transaction.indexEntries(in: index, range: .prefix([4]))
        try put(value, id: 2)
        try transaction.put([], key: [], in: names)
        return found.count
      }.result
    }
    #expect(try commit(whilePutting: 5) == 1)
    #expect(throws: StoreError.self) { try commit(whilePutting: 4) }
  }

  @Test("After a limited read of a derived index, the transaction depends only on the visited range")
  func indexRangeLimit() throws {
    let index = try store.defineIndex(
      IndexDefinition(
        name: "first byte",
        source: .records(
          keyspaces: [accounts], extractor: SliceExtractor.name,
          parameters: SliceExtractor.parameters([.value(offset: 0, length: 1)]))))
    for id in 1...4 as ClosedRange<UInt64> { try put(UInt8(10 * id), id: id) }
    func first(_ limit: Int, descending: Bool = false, whileComes value: UInt8) throws -> [UInt64] {
      try store.transaction(attemptsMax: 1) { transaction in
        let found = try transaction.indexEntries(in: index, limit: limit, descending: descending)
        try put(value, id: 9)
        try transaction.put([], key: [], in: names)
        return found.map(\.reference)
      }.result
    }
    #expect(try first(2, whileComes: 25) == [1, 2])
    #expect(try first(2, descending: true, whileComes: 15) == [4, 3])
    // The first call adds another entry with a visited key, and the second call removes that entry.
    #expect(throws: StoreError.self) { try first(1, whileComes: 10) }
    #expect(throws: StoreError.self) { try first(1, whileComes: 30) }
    #expect(throws: StoreError.self) { try first(2, descending: true, whileComes: 35) }
    #expect(throws: StoreError.self) { try first(.max, whileComes: 99) }
  }

  @Test("A transaction without writes never conflicts, and makes no commit")
  func readOnly() throws {
    let before = store.snapshot().sequence
    let (found, sequence) = try store.transaction { transaction in
      let found = try transaction.contains(.id(1), in: accounts)
      try put(1, id: 1)
      return found
    }
    #expect(!found)
    #expect(sequence == before)
    #expect(store.snapshot().sequence == before + 1)
  }

  @Test("Attempts are limited, each attempt reads a new snapshot, and the last conflict is thrown")
  func attempts() throws {
    var runs = 0
    func run(_ attemptsMax: Int, conflicts: Int) throws {
      runs = 0
      try store.transaction(attemptsMax: attemptsMax) { transaction in
        runs += 1
        let value = try transaction.value(id: 1, in: accounts)?.first ?? 0
        if runs <= conflicts { try put(value &+ 10, id: 1) }
        try transaction.put([value &+ 1], id: 1, in: accounts)
      }
    }
    try run(3, conflicts: 2)
    #expect(runs == 3)
    #expect(try store.snapshot().value(id: 1, in: accounts) == [21])
    let error = #expect(throws: StoreError.self) { try run(3, conflicts: 3) }
    #expect(error?.isRetryable == true)
    #expect(runs == 3)
    let misuse = #expect(throws: StoreError.self) { try run(0, conflicts: 0) }
    #expect(misuse?.code == .invalidArgument)
  }

  @Test("An error of the body is thrown immediately, and nothing is written")
  func bodyThrows() throws {
    struct Refusal: Error {}
    var runs = 0
    #expect(throws: Refusal.self) {
      try store.transaction(attemptsMax: 9) { transaction in
        runs += 1
        try transaction.put([1], id: 1, in: accounts)
        throw Refusal()
      }
    }
    #expect(runs == 1)
    #expect(try !store.snapshot().contains(.id(1), in: accounts))
  }

  @Test("A duplicate key of a unique index is a conflict without retries")
  func duplicate() throws {
    _ = try store.defineIndex(
      .slices("unique byte", accounts, .value(offset: 0, length: 1), isUnique: true))
    try put(4, id: 1)
    var runs = 0
    let error = #expect(throws: StoreError.self) {
      try store.transaction(attemptsMax: 5) { transaction in
        runs += 1
        try transaction.put([4], id: 2, in: accounts)
      }
    }
    #expect(error?.code == .conflict && error?.isRetryable == false)
    #expect(runs == 1)
  }

  @Test("A key of the wrong kind is refused")
  func wrongKind() throws {
    let errors = [
      #expect(throws: StoreError.self) { try store.transaction { try $0.put([], id: 1, in: names) } },
      #expect(throws: StoreError.self) { _ = try store.transaction { try $0.value(key: [], in: accounts) } },
      #expect(throws: StoreError.self) { _ = try store.transaction { try $0.count(in: names, ids: 0...1) } },
    ]
    #expect(errors.allSatisfy { $0?.code == .invalidArgument })
  }

  @Test("Asynchronous functions can await a transaction")
  func awaited() async throws {
    let (result, sequence) = try await store.transaction { transaction in
      try transaction.put([1], id: 3, in: accounts)
      return try transaction.value(id: 3, in: accounts)
    }
    #expect(result == [1])
    #expect(store.snapshot().sequence == sequence)
  }
}
