import PerdureLog

// The ways to commit (CrashWay). After each way, the store has the state that the noted changes
// describe.
extension CrashWriter {
  /// - Parameters:
  ///   - change: The changes to commit. `pieces` adds its own change.
  ///   - other: A value that no other step uses.
  /// - Returns: The commit's sequence number.
  func commit(
    _ change: inout CrashHistory.Change, _ durability: Durability, _ way: CrashWay, or other: [UInt8]
  ) throws -> UInt64 {
    switch way {
    case .write: return try write(change, durability)
    case .transaction: return try transact(change, durability)
    case .overtaken: return try transact(change, durability, overtakenBy: other)
    case .required:
      return try write(change, durability, requiring: conditions(on: change, since: store.snapshot()))
    case .refused:
      let before = store.snapshot()
      let sequence = try write(change, durability)
      // Every commit changes at least the writer's own name, so each precondition is false now.
      for condition in try conditions(on: change, since: before) {
        try expectConflict { try write([(change[0].key, other)], .powerLoss, requiring: [condition]) }
      }
      return sequence
    case .pieces: return try writeInPieces(&change, durability, other)
    }
  }

  func write(
    _ change: CrashHistory.Change, _ durability: Durability, requiring preconditions: [Precondition] = []
  ) throws -> UInt64 {
    try store.write(durability: durability) { transaction in
      for precondition in preconditions { transaction.require(precondition) }
      for (key, value) in change { try transaction.apply(key, value, rows, names) }
    }.sequence
  }

  func expectConflict(_ body: () throws -> UInt64) throws {
    do {
      let sequence = try body()
      throw Violation("commit \(sequence) should have been refused")
    } catch let error as StoreError where error.code == .conflict {}
  }

  private func keyspace(_ key: CrashKey) -> Keyspace { key.keyspace == "rows" ? rows : names }

  /// Preconditions that this change makes false: all kinds except `exists`. Kinds of rows are
  /// omitted if the change has no row.
  private func conditions(
    on change: CrashHistory.Change, since snapshot: Snapshot
  ) throws -> [Precondition] {
    guard let (stamped, _) = change.last else { return [] }
    var conditions: [Precondition] = [
      .unchanged(names, stamped.key, try snapshot.version(stamped.key, in: names)),
      .rangeUnchanged(names, .all, since: snapshot),
    ]
    // The last put of a row writes a serial number that no row had before.
    var last: [CrashKey: [UInt8]] = [:]
    for (key, value) in change where key.keyspace == "rows" { last[key] = value }
    guard let (row, _) = last.first, case .id(let id) = row.key else { return conditions }
    conditions += [
      .idRangeUnchanged(rows, 0...id, since: snapshot),
      .indexRangeUnchanged(serials, .all, since: snapshot),
    ]
    return conditions
  }

  /// - Parameter other: The value in the commit that conflicts with the first run; nil for no
  ///   conflicting commit.
  private func transact(
    _ change: CrashHistory.Change, _ durability: Durability, overtakenBy other: [UInt8]? = nil
  ) throws -> UInt64 {
    var runs = 0
    let sequence = try store.transaction(durability: durability, attemptsMax: 2) { transaction in
      runs += 1
      _ = try transaction.count(in: rows, ids: 0...200)
      _ = try transaction.entries(in: names, range: .all, limit: 2)
      _ = try transaction.indexEntries(in: groups, limit: 3)
      for (key, value) in change {
        _ = try transaction.value(of: key.key, in: keyspace(key))
        try transaction.set(value, of: key.key, in: keyspace(key))
      }
      guard let other, runs == 1 else { return }
      let overtaking = [(key: change[0].key, value: Optional(other))]
      history.note(try write(overtaking, .relaxed), overtaking)
    }.sequence
    guard runs == (other == nil ? 1 : 2) else { throw Violation("a transaction ran \(runs) times") }
    return sequence
  }

  /// Adds one more row, with a long value written in pieces, and sometimes creates an unreferenced
  /// file.
  private func writeInPieces(
    _ change: inout CrashHistory.Change, _ durability: Durability, _ beginning: [UInt8]
  ) throws -> UInt64 {
    let id = number * 100 + 60
    let pieces = [beginning, [UInt8](repeating: 7, count: 900), [UInt8](repeating: 8, count: 700)]
    let writer = try store.makeBlobWriter()
    for piece in pieces { try writer.append(piece) }
    if beginning.last.map({ $0 % 4 == 0 }) == true { _ = try store.makeBlobWriter().finish() }
    let blob = try writer.finish()
    let before = change
    change.append((CrashKey(keyspace: "rows", key: .id(id)), pieces.flatMap { $0 }))
    return try store.write(durability: durability) { transaction in
      for (key, value) in before { try transaction.apply(key, value, rows, names) }
      try transaction.put(blob, id: id, in: rows)
    }.sequence
  }
}

extension WriteTransaction {
  mutating func apply(_ key: CrashKey, _ value: [UInt8]?, _ rows: Keyspace, _ names: Keyspace) throws {
    try set(value, of: key.key, in: key.keyspace == "rows" ? rows : names)
  }
}
