import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// One writer of the program. Different writers use different keys.
struct CrashWriter {
  let number: UInt64
  let shape: CrashShape
  let history: CrashHistory
  let store: Store
  let marker: CrashMarker
  private var random: SeededGenerator
  private let extractor: String
  let rows: Keyspace
  let names: Keyspace
  let groups: DerivedIndex
  let serials: DerivedIndex

  private struct Refused: Error {}

  init(
    _ number: Int, workload: CrashWorkload, _ store: Store, _ marker: CrashMarker, _ random: SeededGenerator
  ) throws {
    self.number = UInt64(number)
    shape = workload.shape
    history = workload.history
    self.store = store
    self.marker = marker
    self.random = random
    compactor =
      shape.garbageBytesMin == 0
      ? nil : HandDrivenCompactor(store, workload.options, garbageBytesMin: shape.garbageBytesMin)
    extractor = workload.extractor
    rows = try history.keyspace("rows", .dense, of: store)
    names = try history.keyspace("names", .bytes, of: store)
    groups = try history.index(
      .slices("groups", rows, .value(offset: 0, length: 8), by: extractor), of: store)
    _ = try history.index(IndexDefinition(name: "counts", source: .groupCounts(of: groups)), of: store)
    let sums = IndexDefinition.sums("sums", rows, by: extractor)
    let order = IndexDefinition(name: "order", source: .sumOrder(of: try history.index(sums, of: store)))
    _ = try history.index(order, of: store)
    serials = try history.index(
      .slices("serials", rows, .value(offset: 8, length: 8), isUnique: true, by: extractor), of: store)
  }

  /// The snapshot that is retained while the store is compacted.
  private var held: Snapshot?
  /// The compactor that runs when the store has enough garbage; nil if the workload has no such
  /// compactor.
  private let compactor: HandDrivenCompactor?

  /// Runs a step that blocks until its syncs are done.
  mutating func step() throws {
    if try prepare() { try commit() }
    try finish()
  }

  /// Runs a step that awaits its syncs without blocking a thread.
  mutating func asynchronousStep() async throws {
    if try prepare() { try await commitAsynchronously() }
    try finish()
  }

  /// Runs an operation before a commit or instead of it. Returns whether a commit follows.
  private mutating func prepare() throws -> Bool {
    if shape.compactsOneIn > 0, Int.random(in: 0..<shape.compactsOneIn, using: &random) == 0 {
      if held == nil, Bool.random(using: &random) {
        held = store.snapshot()
      } else {
        held = nil
      }
      try store.compact()
    }
    try compactIfDue()
    if shape.trainsOneIn > 0, Int.random(in: 0..<shape.trainsOneIn, using: &random) == 0 {
      try train()
    }
    if shape.replacedOneIn > 0, Int.random(in: 0..<shape.replacedOneIn, using: &random) == 0 {
      try runReplacement()
      return false
    }
    return true
  }

  private mutating func finish() throws {
    if shape.checkpointOneIn > 0, Int.random(in: 0..<shape.checkpointOneIn, using: &random) == 0 {
      try promising { try store.checkpoint() }
    }
    if shape.durabilities.contains(.powerLoss), Int.random(in: 0..<8, using: &random) == 0 {
      try promising { try store.sync() }
    }
  }

  /// Compacts under the conditions of the background compactor. Sometimes retains a snapshot, which
  /// preserves garbage.
  private mutating func compactIfDue() throws {
    guard let compactor else { return }
    if Int.random(in: 0..<6, using: &random) == 0 { held = held == nil ? store.snapshot() : nil }
    let (hasRun, failure) = compactor.step()
    if let failure { throw Violation("compaction failed: \(failure)") }
    if hasRun { history.noteCompaction() }
  }

  /// Calls `body`, which makes all earlier commits durable, and then marks the last of them as
  /// promised to be durable.
  private func promising(_ body: () throws -> Void) throws {
    let sequence = store.snapshot().sequence
    try body()
    marker.promise(Int(sequence))
  }

  private func train() throws {
    _ = try history.define {
      let made = try store.trainDictionary(for: rows)
      return (made, made.map { .dictionary($0.number, of: "rows") })
    }
  }

  private mutating func commit() throws {
    let (made, durability) = next()
    var change = made
    let other = value(group: 0)
    let way = shape.ways.randomElement(using: &random) ?? .write
    history.begin()
    defer { history.end() }
    note(try commit(&change, durability, way, or: other), change, durability)
  }

  private mutating func commitAsynchronously() async throws {
    let ((change, durability), rows, names) = (next(), rows, names)
    history.begin()
    defer { history.end() }
    let sequence = try await store.write(durability: durability) { transaction in
      for (key, value) in change { try transaction.apply(key, value, rows, names) }
    }.sequence
    note(sequence, change, durability)
  }

  /// The changes and the durability of the next commit.
  private mutating func next() -> (CrashHistory.Change, Durability) {
    var change: CrashHistory.Change = []
    for _ in 0..<Int.random(in: shape.operations, using: &random) { change.append(operation()) }
    // The stamp is new in each transaction, so that each transaction changes something and is a
    // commit.
    let stamp = withUnsafeBytes(of: random.next()) { Array($0) }
    change.append((CrashKey(keyspace: "names", key: .bytes([0xFF, UInt8(number)])), stamp))
    return (change, shape.durabilities.randomElement(using: &random) ?? .powerLoss)
  }

  private func note(_ sequence: UInt64, _ change: CrashHistory.Change, _ durability: Durability) {
    history.note(sequence, change)
    if durability == .powerLoss { marker.promise(Int(sequence)) }
  }

  private mutating func operation() -> (key: CrashKey, value: [UInt8]?) {
    let id = number * 100 + UInt64.random(in: 1...12, using: &random)
    let name = [UInt8](repeating: UInt8(truncatingIfNeeded: id), count: Int(id % 4) + (number > 0 ? 4 : 0))
    let isRemoval = Int.random(in: 0..<6, using: &random) < shape.removalsOf6
    if isRemoval ? Bool.random(using: &random) : Int.random(in: 0..<4, using: &random) == 0 {
      return (CrashKey(keyspace: "names", key: .bytes(name)), isRemoval ? nil : value(group: 0))
    }
    return (CrashKey(keyspace: "rows", key: .id(id)), isRemoval ? nil : value(group: UInt8(id % 3)))
  }

  /// A value: a group, a serial number that no other value has, and repetitions of a random byte.
  private mutating func value(group: UInt8) -> [UInt8] {
    let isBlob = shape.blobOneIn > 0 && Int.random(in: 0..<shape.blobOneIn, using: &random) == 0
    let length =
      isBlob
      ? max(1100, shape.valueLengthMax + 100) : Int.random(in: 0...shape.valueLengthMax, using: &random)
    let serial = withUnsafeBytes(of: random.next()) { Array($0) }
    return [0, 0, 0, 0, 0, 0, 0, group] + serial
      + [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: length)
  }

  /// Runs an operation that must not change any value. Some of these operations change the catalog.
  private mutating func runReplacement() throws {
    let id = CrashKey(keyspace: "rows", key: .id(number * 100 + 50))
    let twin = CrashKey(keyspace: "rows", key: .id(number * 100 + 51))
    let value = value(group: 1)
    switch Int.random(in: 0..<7, using: &random) {
    case 0:
      try expectConflict {
        try write([(id, value)], .powerLoss, requiring: [.exists(rows, .id(9_999))])
      }
    case 1:
      try expectConflict { try write([(id, value), (twin, value)], .relaxed) }
    case 2:
      let blob = [UInt8](repeating: 7, count: 1 << 14)
      do {
        _ = try store.write { transaction in
          try transaction.apply(id, blob, rows, names)
          throw Refused()
        }
      } catch is Refused {}
    case 3:
      let count = try store.keyspaces.count
      let kind = number % 2 == 0 ? KeyspaceKind.bytes : .dense
      if count < 30 { _ = try history.keyspace("more \(number) \(count)", kind, of: store) }
    case 4:
      let offset = Int.random(in: 0...7, using: &random)
      _ = try history.index(
        .slices("by byte", rows, .value(offset: offset, length: 1), by: extractor), of: store)
    case 5: try history.removeIndex(Bool.random(using: &random) ? "by byte" : "order", of: store)
    default:
      _ = try store.write(durability: .powerLoss) { try $0.remove(id: 9_999, in: rows) }
    }
  }
}

extension CrashHistory {
  /// Removes an index if it exists. Other writers may have removed it.
  fileprivate func removeIndex(_ name: String, of store: Store) throws {
    try define {
      guard let index = try store.indexes.first(where: { $0.index.name == name })?.index else {
        return ((), nil)
      }
      try store.removeIndex(index)
      return ((), .removedIndex(name))
    }
  }

  fileprivate func keyspace(_ name: String, _ kind: KeyspaceKind, of store: Store) throws -> Keyspace {
    try define(.keyspace(name, kind)) { try store.keyspace(name, kind) }
  }

  fileprivate func index(_ definition: IndexDefinition, of store: Store) throws -> DerivedIndex {
    try define(CrashDefinition(definition)) { try store.defineIndex(definition) }
  }
}
