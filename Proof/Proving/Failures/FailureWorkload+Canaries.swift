import PerdureLog

// Deliberately wrong programs, and programs that hide errors of the engine. The checks must detect
// the wrong ones.
extension FailureWorkload {
  /// Makes a commit that the history does not contain. It puts a value that the row already has.
  package static let secretCommit = FailureWorkload(name: "a commit that the history lacks") { session in
    guard let rows = try session.rows() else { return }
    let row = session.row(1, 20, rows)
    guard try session.write([row]), let value = row.value else { return }
    _ = try session.store.write(durability: .powerLoss) { try $0.put(value, id: 1, in: rows) }
  }

  /// Puts a value that never existed into the salvaged store.
  package static let inventiveSalvage = FailureWorkload(name: "an invented value", openings: 1) { session in
    guard let rows = try session.rows() else { return }
    try session.put(1, 100, rows)
  } afterwards: { run in
    try run.salvage { copy in
      guard let rows = try copy.keyspaces.first(where: { $0.name == "rows" }) else { return }
      try copy.write { try $0.put([1], id: 1, in: rows) }
    }
  }

  /// Removes a row from the salvaged store.
  package static let lossySalvage = FailureWorkload(name: "a row left out", openings: 1) { session in
    guard let rows = try session.rows() else { return }
    for id in 1...2 as ClosedRange<UInt64> { try session.put(id, 100, rows) }
  } afterwards: { run in
    try run.salvage { copy in
      guard let rows = try copy.keyspaces.first(where: { $0.name == "rows" }) else { return }
      try copy.write { try $0.remove(id: 2, in: rows) }
    }
  }

  /// Syncs repeatedly at the end, so that an earlier missing sync has no effect.
  package static let lateSyncs = FailureWorkload(name: "syncs afterwards", openings: 1, closes: false) {
    session in
    guard let rows = try session.rows() else { return }
    for id in 1...3 as ClosedRange<UInt64> { try session.put(id, 50, rows) }
    for _ in 0..<2 {
      try session.put(9, 50, rows, .relaxed)
      try session.sync()
    }
  }
}
