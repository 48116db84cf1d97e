import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Synchronization

/// Several threads at one store: what they do is random, when is the machine's affair, and what each of them saw is
/// recorded.
package final class RaceRun: Sendable {
  /// Keys of the rows, and as many of the names.
  fileprivate static let keysOfSpace = 5
  fileprivate static let writers = 3

  fileprivate let store: Store
  fileprivate let rows: Keyspace
  fileprivate let names: Keyspace
  fileprivate let subject: any HistorySubject
  fileprivate let clock = Atomic<UInt64>(0)
  fileprivate let working = Atomic<Int>(RaceRun.writers)

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
  }

  /// Runs so many transactions on each of three threads, while a fourth looks after the store.
  ///
  /// - Returns: What was recorded, and what the keys had at the end.
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

  /// Compacts and writes checkpoints until the writers are done.
  fileprivate func lookAfter(_ generator: SeededGenerator) throws {
    var random = generator
    while working.load(ordering: .sequentiallyConsistent) > 0 {
      switch random.pick(0..<4) {
      case 0: try store.checkpoint()
      case 1: try store.sync()
      default: try subject.compact(store)
      }
    }
  }

  fileprivate func tick() -> UInt64 { clock.add(1, ordering: .sequentiallyConsistent).newValue }

  fileprivate func everything(_ snapshot: Snapshot) throws -> [RaceTransaction.Access] {
    try (0..<2 * Self.keysOfSpace).map { RaceTransaction.Access($0, try tag(of: $0, snapshot)) }
  }

  fileprivate func tag(of key: Int, _ snapshot: Snapshot) throws -> UInt64 {
    if key < Self.keysOfSpace {
      return Self.tag(try snapshot.value(id: UInt64(key), in: rows))
    }
    return Self.tag(try snapshot.value(key: [UInt8(key)], in: names))
  }

  fileprivate static func tag(_ value: [UInt8]?) -> UInt64 {
    value.map { $0.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } } ?? 0
  }
}

/// One of the threads.
private struct RaceWriter {
  private let run: RaceRun
  private let number: Int
  private var random: SeededGenerator
  private var written: UInt64 = 0
  private(set) var recorded: [RaceTransaction] = []
  /// Snapshots that are read again later.
  private var held: [(snapshot: Snapshot, transaction: RaceTransaction)] = []

  init(_ run: RaceRun, _ number: Int, _ random: SeededGenerator) {
    (self.run, self.number, self.random) = (run, number, random)
  }

  /// - Parameter depth: How many others may run between the reads of one and its commit, one in the other.
  mutating func step(depth: Int) throws {
    switch random.pick(0..<20) {
    case 0..<6: try transaction(depth)
    case 6..<12: try write(depth, guarded: true)
    case 12..<14: try write(depth, guarded: false)
    case 14..<17: try look()
    default: try hold()
    }
  }

  /// Reads what is held for the last time.
  mutating func letGo() throws {
    while !held.isEmpty { try readAgain() }
  }

  private mutating func pickKeys() -> [Int] {
    Array(Set((0..<random.pick(1...4)).map { _ in random.pick(0..<2 * RaceRun.keysOfSpace) })).sorted()
  }

  private mutating func pickWrites() -> [(key: Int, tag: UInt64, value: [UInt8])] {
    // The first one is put: a commit of nothing but tombstones may be nothing to do, and has another's number then.
    pickKeys().prefix(random.pick(1...3)).enumerated().map { place, key in
      if place > 0, random.chance(30) { return (key, 0, []) }
      written += 1
      let tag = UInt64(number + 1) << 32 | written
      let length = random.pick(0..<60) == 0 ? 1_200 : random.pick(0...200)
      let padding = [UInt8](repeating: UInt8(truncatingIfNeeded: tag), count: length)
      return (key, tag, withUnsafeBytes(of: tag.bigEndian) { Array($0) } + padding)
    }
  }

  private func begin() -> RaceTransaction {
    var transaction = RaceTransaction()
    transaction.began = run.tick()
    return transaction
  }

  // MARK: - Reading

  private mutating func look() throws {
    var transaction = begin()
    let snapshot = run.subject.snapshot(of: run.store)
    (transaction.started, transaction.snapshot) = (run.tick(), snapshot.sequence)
    transaction.reads = try run.everything(snapshot)
    transaction.ended = run.tick()
    recorded.append(transaction)
  }

  private mutating func hold() throws {
    if held.count >= 4 { try readAgain() }
    var transaction = begin()
    let snapshot = run.subject.snapshot(of: run.store)
    (transaction.started, transaction.snapshot) = (run.tick(), snapshot.sequence)
    for key in pickKeys() { transaction.reads.append(.init(key, try run.tag(of: key, snapshot))) }
    held.append((snapshot, transaction))
  }

  private mutating func readAgain() throws {
    var (snapshot, transaction) = held.remove(at: random.pick(held.indices))
    snapshot = run.subject.held(snapshot, of: run.store)
    transaction.reads += try run.everything(snapshot)
    transaction.ended = run.tick()
    recorded.append(transaction)
  }

  // MARK: - Writing

  /// With conditions of its own, or with none.
  private mutating func write(_ depth: Int, guarded: Bool) throws {
    var transaction = begin()
    transaction.isGuarded = guarded
    let snapshot = run.subject.snapshot(of: run.store)
    (transaction.started, transaction.snapshot) = (run.tick(), snapshot.sequence)
    var conditions: [Precondition] = []
    if guarded, random.chance(25) {
      conditions.append(try readRange(snapshot, &transaction))
    } else {
      for key in pickKeys() {
        transaction.reads.append(.init(key, try run.tag(of: key, snapshot)))
        if guarded { conditions.append(try unchanged(key, snapshot)) }
      }
    }
    if depth > 0, random.chance(40) { try step(depth: depth - 1) }
    let writes = pickWrites()
    let durability = random.pick(Durability.allCases)
    do {
      let (_, sequence) = try run.store.write(durability: durability) { open in
        for condition in run.subject.filter(conditions) { open.require(condition) }
        for write in writes { try put(write.key, write.value, &open) }
      }
      finish(&transaction, writes, sequence)
    } catch let error as StoreError where error.code == .conflict {
      refuse(&transaction, writes)
    }
  }

  private func unchanged(_ key: Int, _ snapshot: Snapshot) throws -> Precondition {
    if key < RaceRun.keysOfSpace {
      return .unchanged(run.rows, .id(UInt64(key)), try snapshot.version(.id(UInt64(key)), in: run.rows))
    }
    let bytes = Key.bytes([UInt8(key)])
    return .unchanged(run.names, bytes, try snapshot.version(bytes, in: run.names))
  }

  private mutating func readRange(
    _ snapshot: Snapshot, _ transaction: inout RaceTransaction
  ) throws -> Precondition {
    let isRows = random.chance(50)
    let first = isRows ? 0 : RaceRun.keysOfSpace
    let lower = first + random.pick(0..<RaceRun.keysOfSpace)
    let upper = random.pick(lower..<first + RaceRun.keysOfSpace)
    for key in lower...upper { transaction.reads.append(.init(key, try run.tag(of: key, snapshot))) }
    if isRows { return .idRangeUnchanged(run.rows, UInt64(lower)...UInt64(upper), since: snapshot) }
    return .rangeUnchanged(
      run.names, KeyRange(lower: [UInt8(lower)], upper: [UInt8(upper + 1)]), since: snapshot)
  }

  private func put(_ key: Int, _ value: [UInt8], _ open: inout WriteTransaction) throws {
    switch (key < RaceRun.keysOfSpace, value.isEmpty) {
    case (true, false): try open.put(value, id: UInt64(key), in: run.rows)
    case (true, true): try open.remove(id: UInt64(key), in: run.rows)
    case (false, false): try open.put(value, key: [UInt8(key)], in: run.names)
    case (false, true): try open.remove(key: [UInt8(key)], in: run.names)
    }
  }

  private mutating func finish(
    _ transaction: inout RaceTransaction, _ writes: [(key: Int, tag: UInt64, value: [UInt8])],
    _ sequence: UInt64
  ) {
    transaction.ended = run.tick()
    transaction.writes = writes.map { .init($0.key, $0.tag) }
    transaction.outcome = .committed(sequence)
    recorded.append(transaction)
  }

  private mutating func refuse(
    _ transaction: inout RaceTransaction, _ writes: [(key: Int, tag: UInt64, value: [UInt8])]
  ) {
    transaction.ended = run.tick()
    transaction.writes = writes.map { .init($0.key, $0.tag) }
    transaction.outcome = .refused
    recorded.append(transaction)
  }

  /// An engine transaction.
  private mutating func transaction(_ depth: Int) throws {
    var transaction = begin()
    transaction.isGuarded = true
    var writes: [(key: Int, tag: UInt64, value: [UInt8])] = []
    do {
      let (_, sequence) = try run.store.transaction(durability: random.pick(Durability.allCases)) { open in
        (transaction.started, transaction.snapshot) = (run.tick(), open.sequence)
        try read(&transaction, &open)
        if depth > 0, random.chance(40) { try step(depth: depth - 1) }
        writes = pickWrites()
        for write in writes { try put(write.key, write.value, &open) }
      }
      finish(&transaction, writes, sequence)
    } catch let error as StoreError where error.code == .conflict {
      refuse(&transaction, writes)
    }
  }

  private mutating func read(_ transaction: inout RaceTransaction, _ open: inout StoreTransaction) throws {
    if random.chance(25) {
      let lower = random.pick(0..<RaceRun.keysOfSpace)
      let upper = random.pick(lower..<RaceRun.keysOfSpace)
      var tags = [Int: UInt64]()
      for (id, value) in try open.entries(in: run.rows, ids: UInt64(lower)...UInt64(upper)) {
        tags[Int(id)] = RaceRun.tag(value)
      }
      for key in lower...upper { transaction.reads.append(.init(key, tags[key] ?? 0)) }
      return
    }
    for key in pickKeys() {
      let value =
        key < RaceRun.keysOfSpace
        ? try open.value(id: UInt64(key), in: run.rows) : try open.value(key: [UInt8(key)], in: run.names)
      transaction.reads.append(.init(key, RaceRun.tag(value)))
    }
  }

  private func put(_ key: Int, _ value: [UInt8], _ open: inout StoreTransaction) throws {
    switch (key < RaceRun.keysOfSpace, value.isEmpty) {
    case (true, false): try open.put(value, id: UInt64(key), in: run.rows)
    case (true, true): try open.remove(id: UInt64(key), in: run.rows)
    case (false, false): try open.put(value, key: [UInt8(key)], in: run.names)
    case (false, true): try open.remove(key: [UInt8(key)], in: run.names)
    }
  }
}
