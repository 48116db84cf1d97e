import PerdureFileIO
import PerdureLog
import PerdureTestSupport

/// One of the program's writers. Writers have no keys in common.
struct CrashWriter {
  private let number: UInt64
  private let shape: CrashShape
  private let history: CrashHistory
  private let store: Store
  private let marker: CrashMarker
  private var random: SeededGenerator
  private let rows: Keyspace
  private let names: Keyspace

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
    rows = try store.keyspace("rows", .dense)
    names = try store.keyspace("names", .bytes)
    let groups = try store.defineIndex(.slices("groups", rows, .value(offset: 0, length: 8)))
    _ = try store.defineIndex(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
    _ = try store.defineIndex(
      .slices("serials", rows, .value(offset: 8, length: 8), isUnique: true))
  }

  /// What is held while the store is compacted.
  private var held: Snapshot?

  mutating func step() async throws {
    if shape.compactsOneIn > 0, Int.random(in: 0..<shape.compactsOneIn, using: &random) == 0 {
      if held == nil, Bool.random(using: &random) {
        held = store.snapshot()
      } else {
        held = nil
      }
      try store.compact()
    }
    if shape.trainsOneIn > 0, Int.random(in: 0..<shape.trainsOneIn, using: &random) == 0 {
      try train()
    }
    if shape.mishapOneIn > 0, Int.random(in: 0..<shape.mishapOneIn, using: &random) == 0 {
      try mishap()
    } else {
      try await commit()
    }
    if shape.checkpointOneIn > 0, Int.random(in: 0..<shape.checkpointOneIn, using: &random) == 0 {
      try promising { try store.checkpoint() }
    }
    if shape.durabilities.contains(.powerLoss), Int.random(in: 0..<8, using: &random) == 0 {
      try promising { try store.sync() }
    }
  }

  /// Does something that makes all that was committed before it durable.
  private func promising(_ body: () throws -> Void) throws {
    let sequence = store.snapshot().sequence
    try body()
    marker.acknowledge(Int(sequence))
  }

  /// A dictionary takes a sequence number, and changes nothing that anybody reads.
  private func train() throws {
    let before = store.snapshot().sequence
    guard try store.trainDictionary(for: rows) != nil else { return }
    precondition(store.snapshot().sequence == before + 1, "one writer alone")
  }

  private mutating func commit() async throws {
    var change: CrashHistory.Change = []
    for _ in 0..<Int.random(in: shape.operations, using: &random) { change.append(operation()) }
    // So that every transaction is a commit of its own.
    let stamp = withUnsafeBytes(of: random.next()) { Array($0) }
    change.append((CrashKey(keyspace: "names", key: .bytes([0xFF, UInt8(number)])), stamp))
    let durability = shape.durabilities.randomElement(using: &random) ?? .powerLoss
    let sequence = try await write(change, durability)
    history.note(sequence, change)
    if durability == .powerLoss { marker.acknowledge(Int(sequence)) }
  }

  private func write(_ change: CrashHistory.Change, _ durability: Durability) async throws -> UInt64 {
    let (rows, names) = (rows, names)
    if shape.isAsynchronous {
      return try await store.write(durability: durability) { transaction in
        for (key, value) in change { try transaction.apply(key, value, rows, names) }
      }.sequence
    }
    return try writeSynchronously(change, durability)
  }

  private func writeSynchronously(
    _ change: CrashHistory.Change, _ durability: Durability, requiring precondition: Precondition? = nil
  ) throws -> UInt64 {
    try store.write(durability: durability) { transaction in
      if let precondition { transaction.require(precondition) }
      for (key, value) in change { try transaction.apply(key, value, rows, names) }
    }.sequence
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

  /// A group, a serial number that no other value has, and bytes.
  private mutating func value(group: UInt8) -> [UInt8] {
    let isBlob = shape.blobOneIn > 0 && Int.random(in: 0..<shape.blobOneIn, using: &random) == 0
    let length =
      isBlob
      ? max(1100, shape.valueLengthMax + 100) : Int.random(in: 0...shape.valueLengthMax, using: &random)
    let serial = withUnsafeBytes(of: random.next()) { Array($0) }
    return [0, 0, 0, 0, 0, 0, 0, group] + serial
      + [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: length)
  }

  /// Something that must leave no trace, or none but in the catalog.
  private mutating func mishap() throws {
    let id = CrashKey(keyspace: "rows", key: .id(number * 100 + 50))
    let twin = CrashKey(keyspace: "rows", key: .id(number * 100 + 51))
    let value = value(group: 1)
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      try expectConflict {
        try writeSynchronously([(id, value)], .powerLoss, requiring: .exists(rows, .id(9_999)))
      }
    case 1:
      try expectConflict { try writeSynchronously([(id, value), (twin, value)], .relaxed) }
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
      if count < 30 { _ = try store.keyspace("more \(number) \(count)", .bytes) }
    case 4:
      let offset = Int.random(in: 0...7, using: &random)
      _ = try store.defineIndex(.slices("by byte", rows, .value(offset: offset, length: 1)))
    default:
      _ = try store.write(durability: .powerLoss) { try $0.remove(id: 9_999, in: rows) }
    }
  }

  private func expectConflict(_ body: () throws -> UInt64) throws {
    do {
      let sequence = try body()
      throw Violation("commit \(sequence) should have been refused")
    } catch let error as StoreError where error.code == .conflict {}
  }
}

extension WriteTransaction {
  fileprivate mutating func apply(
    _ key: CrashKey, _ value: [UInt8]?, _ rows: Keyspace, _ names: Keyspace
  ) throws {
    // Rows have ids, names have bytes.
    if case .id = key.key {
      try set(value, of: key.key, in: rows)
    } else {
      try set(value, of: key.key, in: names)
    }
  }
}
