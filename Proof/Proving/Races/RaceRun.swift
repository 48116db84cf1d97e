import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Synchronization

/// Several threads that use one store. Their operations are random, and the machine determines the
/// schedule. Each thread records its reads and writes.
package final class RaceRun: Sendable {
  static let writers = 3

  let store: Store
  let rows: Keyspace
  let names: Keyspace
  let badges: Keyspace
  let labels: DerivedIndex
  let subject: any HistorySubject
  let clock = Atomic<UInt64>(0)
  let working = Atomic<Int>(RaceRun.writers)

  private init(_ subject: any HistorySubject, _ random: inout SeededGenerator) throws {
    self.subject = subject
    var options = HistoryOptions.random(&random)
    options.blobThreshold = 1024
    var storeOptions = options.storeOptions(
      on: random.chance(20) ? SimulatedFileSystem() : InMemoryFileSystem())
    subject.adapt(&storeOptions)
    store = try Store(at: "/r.perdure", options: storeOptions)
    rows = try store.keyspace("rows", .dense)
    names = try store.keyspace("names", .bytes)
    badges = try store.keyspace("badges", .dense)
    let label = SliceExtractor.Slice.value(offset: 7, length: 1)
    labels = try store.defineIndex(.slices("labels", rows, label, by: subject.groupExtractor))
    _ = try store.defineIndex(
      .slices("badges", badges, label, isUnique: true, by: subject.groupExtractor))
  }

  /// Runs `transactions` steps on each of three threads, while a fourth thread maintains the store.
  ///
  /// - Returns: The recorded transactions, and the tags of the keys at the end.
  package static func run(
    on subject: any HistorySubject = WholeStore(), seed: UInt64, transactions: Int
  ) async throws -> (transactions: [RaceTransaction], end: [RaceTransaction.Access]) {
    var random = SeededGenerator(seed: seed)
    let run = try RaceRun(subject, &random)
    let generators = (0...writers).map { SeededGenerator(seed: seed).derived(UInt64($0)) }
    let recorded = try await withThrowingTaskGroup(of: [RaceTransaction].self) { group in
      for (number, generator) in generators.enumerated() {
        group.addTask {
          try await onThread {
            if number == writers {
              try run.lookAfter(generator)
              return []
            }
            defer { run.working.subtract(1, ordering: .sequentiallyConsistent) }
            var writer = RaceWriter(run, number, generator)
            for _ in 0..<transactions { try writer.step(depth: 1) }
            try writer.letGo()
            return writer.recorded
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let end = try run.everything(run.store.snapshot())
    guard try run.store.verify().isClean else { throw Violation("\(try run.store.verify().findings)") }
    try run.store.close()
    return (recorded, end)
  }

  /// Compacts, syncs and writes checkpoints until the writers have ended.
  func lookAfter(_ generator: SeededGenerator) throws {
    var random = generator
    while working.load(ordering: .sequentiallyConsistent) > 0 {
      switch random.pick(0..<4) {
      case 0: try store.checkpoint()
      case 1: try store.sync()
      default: try subject.compact(store)
      }
    }
  }

  func tick() -> UInt64 { clock.add(1, ordering: .sequentiallyConsistent).newValue }

  func everything(_ snapshot: Snapshot) throws -> [RaceTransaction.Access] {
    try RaceKeys.all.map { RaceTransaction.Access($0, try tag(of: $0, snapshot)) }
  }

  /// The keyspace and the stored key of a key.
  func place(of key: Int) -> (keyspace: Keyspace, key: Key) {
    if RaceKeys.rows.contains(key) { return (rows, .id(UInt64(key))) }
    return RaceKeys.badges.contains(key) ? (badges, .id(UInt64(key))) : (names, .bytes([UInt8(key)]))
  }

  func tag(of key: Int, _ snapshot: Snapshot) throws -> UInt64 {
    let place = place(of: key)
    return Self.tag(try snapshot.value(of: place.key, in: place.keyspace))
  }

  func entries(of label: UInt8, _ snapshot: Snapshot) throws -> RaceTransaction.Entries {
    var keys: [Int] = []
    try snapshot.forEachEntry(in: labels, range: .prefix([label])) { _, reference in
      keys.append(Int(reference))
      return true
    }
    return .init(label, keys.sorted())
  }

  static func tag(_ value: [UInt8]?) -> UInt64 {
    value.map { $0.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } } ?? 0
  }
}
