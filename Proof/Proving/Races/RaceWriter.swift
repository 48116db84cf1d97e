import PerdureLog
import PerdureTestSupport

/// One thread that reads and writes.
struct RaceWriter {
  private let run: RaceRun
  private let number: Int
  private var random: SeededGenerator
  private var written: UInt64 = 0
  private(set) var recorded: [RaceTransaction] = []
  /// Snapshots that will be read again, and the recorded transactions of these reads.
  private var held: [(snapshot: Snapshot, transaction: RaceTransaction)] = []

  init(_ run: RaceRun, _ number: Int, _ random: SeededGenerator) {
    (self.run, self.number, self.random) = (run, number, random)
  }

  /// - Parameter depth: The maximum number of nested steps between the reads and the commit of this
  ///   step.
  mutating func step(depth: Int) throws {
    switch random.pick(0..<20) {
    case 0..<6: try transaction(depth)
    case 6..<12: try write(depth, guarded: true)
    case 12..<14: try write(depth, guarded: false)
    case 14..<17: try look()
    default: try hold()
    }
  }

  /// Reads the held snapshots for the last time.
  mutating func letGo() throws {
    while !held.isEmpty { try readAgain() }
  }

  private mutating func pickKeys() -> [Int] {
    Array(Set((0..<random.pick(1...4)).map { _ in random.pick(RaceKeys.all) })).sorted()
  }

  private mutating func pickWrites() -> [(key: Int, tag: UInt64, value: [UInt8])] {
    // The first change is always a put. A commit that only removes keys may change nothing, and
    // then has the number of an earlier commit.
    pickKeys().prefix(random.pick(1...3)).enumerated().map { place, key in
      if place > 0, random.chance(30) { return (key, 0, []) }
      written += 1
      let label = UInt64(random.pick(0..<Int(RaceKeys.labelCount(for: key))))
      let tag = RaceKeys.tag(written, of: number, label: label)
      let length = random.pick(0..<60) == 0 ? 1_200 : random.pick(0...200)
      let padding = [UInt8](repeating: UInt8(truncatingIfNeeded: tag), count: length)
      return (key, tag, withUnsafeBytes(of: tag.bigEndian) { Array($0) } + padding)
    }
  }

  /// A label that rows can have.
  private mutating func pickLabel() -> UInt8 {
    UInt8(random.pick(0..<Int(RaceKeys.labelCount(for: RaceKeys.rows.lowerBound))))
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
    transaction.entries = [try run.entries(of: pickLabel(), snapshot)]
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

  /// Writes with preconditions that cover its reads, or with no preconditions.
  private mutating func write(_ depth: Int, guarded: Bool) throws {
    var transaction = begin()
    transaction.isGuarded = guarded
    let snapshot = run.subject.snapshot(of: run.store)
    (transaction.started, transaction.snapshot) = (run.tick(), snapshot.sequence)
    var conditions: [Precondition] = []
    switch guarded ? random.pick(0..<8) : 8 {
    case 0...1: conditions.append(try readRange(snapshot, &transaction))
    case 2: conditions.append(try readEntries(snapshot, &transaction))
    case 3: conditions += try need(snapshot, &transaction)
    default:
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
    let place = run.place(of: key)
    return .unchanged(place.keyspace, place.key, try snapshot.version(place.key, in: place.keyspace))
  }

  private mutating func readEntries(
    _ snapshot: Snapshot, _ transaction: inout RaceTransaction
  ) throws -> Precondition {
    let label = pickLabel()
    transaction.entries.append(try run.entries(of: label, snapshot))
    return .indexRangeUnchanged(run.labels, .prefix([label]), since: snapshot)
  }

  /// Picks up to three keys that exist in the snapshot, and adds the precondition that they still
  /// exist.
  private mutating func need(
    _ snapshot: Snapshot, _ transaction: inout RaceTransaction
  ) throws -> [Precondition] {
    transaction.needed = try pickKeys().prefix(3).filter { try run.tag(of: $0, snapshot) != 0 }
    return transaction.needed.map { .exists(run.place(of: $0).keyspace, run.place(of: $0).key) }
  }

  private mutating func readRange(
    _ snapshot: Snapshot, _ transaction: inout RaceTransaction
  ) throws -> Precondition {
    let isRows = random.chance(50)
    let keys = isRows ? RaceKeys.rows : RaceKeys.names
    let lower = random.pick(keys)
    let upper = random.pick(lower..<keys.upperBound)
    for key in lower...upper { transaction.reads.append(.init(key, try run.tag(of: key, snapshot))) }
    if isRows { return .idRangeUnchanged(run.rows, UInt64(lower)...UInt64(upper), since: snapshot) }
    return .rangeUnchanged(
      run.names, KeyRange(lower: [UInt8(lower)], upper: [UInt8(upper + 1)]), since: snapshot)
  }

  private func put(_ key: Int, _ value: [UInt8], _ open: inout WriteTransaction) throws {
    let place = run.place(of: key)
    switch (place.key, value.isEmpty) {
    case (.id(let id), false): try open.put(value, id: id, in: place.keyspace)
    case (.id(let id), true): try open.remove(id: id, in: place.keyspace)
    case (.bytes(let key), false): try open.put(value, key: key, in: place.keyspace)
    case (.bytes(let key), true): try open.remove(key: key, in: place.keyspace)
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

  /// Runs a transaction of the store.
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
    switch random.pick(0..<8) {
    case 0...1: try readRange(&transaction, &open)
    case 2:
      let label = pickLabel()
      let found = try open.indexEntries(in: run.labels, range: .prefix([label]))
      transaction.entries.append(.init(label, found.map { Int($0.reference) }.sorted()))
    default:
      for key in pickKeys() {
        let place = run.place(of: key)
        let value =
          switch place.key {
          case .id(let id): try open.value(id: id, in: place.keyspace)
          case .bytes(let key): try open.value(key: key, in: place.keyspace)
          }
        transaction.reads.append(.init(key, RaceRun.tag(value)))
      }
    }
  }

  private mutating func readRange(
    _ transaction: inout RaceTransaction, _ open: inout StoreTransaction
  ) throws {
    let lower = random.pick(RaceKeys.rows)
    let upper = random.pick(lower..<RaceKeys.rows.upperBound)
    var tags = [Int: UInt64]()
    for (id, value) in try open.entries(in: run.rows, ids: UInt64(lower)...UInt64(upper)) {
      tags[Int(id)] = RaceRun.tag(value)
    }
    for key in lower...upper { transaction.reads.append(.init(key, tags[key] ?? 0)) }
  }

  private func put(_ key: Int, _ value: [UInt8], _ open: inout StoreTransaction) throws {
    let place = run.place(of: key)
    switch (place.key, value.isEmpty) {
    case (.id(let id), false): try open.put(value, id: id, in: place.keyspace)
    case (.id(let id), true): try open.remove(id: id, in: place.keyspace)
    case (.bytes(let key), false): try open.put(value, key: key, in: place.keyspace)
    case (.bytes(let key), true): try open.remove(key: key, in: place.keyspace)
    }
  }
}
