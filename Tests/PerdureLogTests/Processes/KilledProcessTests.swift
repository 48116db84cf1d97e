import PerdureFileIO
import PerdureProving
import PerdureTestSupport
import Testing

@testable import PerdureLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Accounts whose amounts always have the same sum.
private enum Bank {
  static let accounts: UInt64 = 32
  /// The account whose value is in a blob file.
  static let largeAccount: UInt64 = 32
  static let total: UInt64 = 1000 * 33

  static func open(_ path: String, isReadOnly: Bool = false) throws -> Store {
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    options.segmentCapacityBytes = 32 << 10
    options.blobThresholdBytes = 1024
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.durability = .processCrash
    options.reserveBytes = 0
    options.logRoom = .always(upTo: 4000)
    return try Store(at: path, options: options)
  }

  static func create(_ path: String) throws {
    let store = try open(path)
    let rows = try store.keyspace("accounts", .dense)
    _ = try store.defineIndex(.slices("amounts", rows, .value(offset: 0, length: 8)))
    try store.write { transaction in
      for id in 0...largeAccount { try transaction.put(value(1000, id), id: id, in: rows) }
    }
    try store.close()
  }

  private static func value(_ amount: UInt64, _ id: UInt64) -> [UInt8] {
    withUnsafeBytes(of: amount.bigEndian) { Array($0) }
      + [UInt8](repeating: UInt8(id), count: id == largeAccount ? 4000 : 40 + Int(amount % 64))
  }

  private static func amount(_ value: [UInt8]) -> UInt64 {
    value.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Moves amounts between accounts without end, with checkpoints and compactions.
  static func write(_ path: String, _ random: inout SeededGenerator) throws {
    let store = try open(path)
    let rows = try store.keyspace("accounts", .dense)
    while true {
      let (from, to) = (
        UInt64.random(in: 0...largeAccount, using: &random),
        UInt64.random(in: 0...largeAccount, using: &random)
      )
      try store.write { transaction in
        let snapshot = store.snapshot()
        let source = amount(try #require(try snapshot.value(id: from, in: rows)))
        let target = amount(try #require(try snapshot.value(id: to, in: rows)))
        let moved = UInt64.random(in: 0...source, using: &random)
        guard from != to else { return }
        try transaction.put(value(source - moved, from), id: from, in: rows)
        try transaction.put(value(target + moved, to), id: to, in: rows)
      }
      switch Int.random(in: 0..<40, using: &random) {
      case 0: try store.compact()
      case 1, 2: try store.checkpoint()
      default: break
      }
    }
  }

  /// The first violation in the state; nil if there is none.
  static func complaint(_ snapshot: Snapshot, _ store: Store) throws -> String? {
    let rows = try store.keyspace("accounts", .dense)
    let index = try #require(try store.indexes.first?.index)
    var sum: UInt64 = 0
    for id in 0...largeAccount {
      guard let value = try snapshot.value(id: id, in: rows) else { return "account \(id) is gone" }
      sum += amount(value)
      guard value.dropFirst(8).allSatisfy({ $0 == UInt8(id) }) else {
        return "account \(id) has a value of another account"
      }
    }
    if sum != total { return "the sum is \(sum)" }
    let entries = try snapshot.count(in: index)
    return entries == Int(largeAccount + 1) ? nil : "the index has \(entries) entries"
  }

  /// Opens the store, keeps the first snapshot, and refreshes the store for some rounds. Throws the
  /// first violation.
  static func read(_ path: String, rounds: Int) throws {
    let store = try open(path, isReadOnly: true)
    let first = store.snapshot()
    var last: UInt64 = 0
    for _ in 0..<rounds {
      try store.refresh()
      let snapshot = store.snapshot()
      if snapshot.sequence < last {
        throw Complaint("a refresh went from commit \(last) back to commit \(snapshot.sequence)")
      }
      last = snapshot.sequence
      for state in [first, snapshot] {
        if let complaint = try complaint(state, store) {
          throw Complaint("\(complaint) at \(state.sequence)")
        }
      }
    }
  }

  struct Complaint: Error {
    init(_ text: String) { print(text) }
  }
}

@Suite("Killed processes")
struct KilledProcessTests {
  /// The number of kills of the writer. A long run sets it in the environment. 600 kills take about
  /// ten minutes.
  private static let kills = Environment.value(of: "PERDURE_KILLS").flatMap(Int.init) ?? 4

  @Test("Readers always see the same sum while the writer compacts and processes are killed")
  func sums() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s.perdure")
    try Bank.create(path)
    let random = SeededGenerator.forTest("killed processes")
    let isDone = Guarded(false)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { isDone.withLock { $0 = true } }
        for round in 0..<Self.kills { try await Self.writer(path, random.derived(UInt64(round)).seed) }
      }
      for reader in 0..<4 as Range<UInt64> {
        group.addTask {
          var round: UInt64 = 0
          while !isDone.withLock({ $0 }) {
            round += 1
            await Self.reader(path, random.derived(1000 * (reader + 1) + round).seed, dies: reader % 2 == 1)
          }
        }
      }
      try await group.waitForAll()
    }
    let store = try Bank.open(path)
    #expect(try store.readers == [])
    #expect(try Bank.complaint(store.snapshot(), store) == nil)
    #expect(try store.verify().findings.map(\.description) == [])
  }

  /// Runs a writer that is killed at a random time. Then another writer must be able to open the
  /// store.
  private static func writer(_ path: String, _ seed: UInt64) async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, seed = seed as UInt64] in
      var random = SeededGenerator(seed: seed)
      dieAfter(microseconds: .random(in: 0..<400_000, using: &random))
      try Bank.write(path, &random)
    }
    let next = try Bank.open(path)
    #expect(try Bank.complaint(next.snapshot(), next) == nil)
  }

  private static func reader(_ path: String, _ seed: UInt64, dies: Bool) async {
    if dies {
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, seed = seed as UInt64] in
        var random = SeededGenerator(seed: seed)
        dieAfter(microseconds: .random(in: 0..<100_000, using: &random))
        while true { try Bank.read(path, rounds: 20) }
      }
    } else {
      await #expect(processExitsWith: .success) { [path = path as String] in
        // Limits the time that the reader may wait.
        alarm(300)
        try Bank.read(path, rounds: 40)
      }
    }
  }

  @Test(
    "The error for a second writer names the holder's process; opening succeeds after the holder is killed")
  func secondWriter() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("s.perdure")
    try Bank.create(path)
    let store = try Bank.open(path)
    let error = #expect(throws: StoreError.self) { try Bank.open(path) }
    #expect(error?.code == .locked)
    let message = try #require(error?.message)
    #expect(message.contains("held by process \(Environment.processID)") && message.contains(" since 2"))
    try store.close()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let store = try Bank.open(path)
      _ = withExtendedLifetime(store) { raise(SIGKILL) }
    }
    try Bank.open(path).close()
  }
}

/// Kills this process from another thread, at any point of its execution.
private func dieAfter(microseconds: UInt32) {
  PlatformThread.start(name: "executioner") {
    usleep(microseconds)
    raise(SIGKILL)
  }
}
