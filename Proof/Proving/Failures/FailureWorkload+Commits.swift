import PerdureLog

// Programs that make commits of all kinds.
extension FailureWorkload {
  /// Options for early background syncs and for reserved space in the log.
  private static let ahead: @Sendable (inout StoreOptions) -> Void = { options in
    options.syncAheadBytes = 500
    options.logRoom = .always(upTo: 700)
  }

  static let commits: [FailureWorkload] = [
    FailureWorkload(name: "a store is made") { _ in },
    FailureWorkload(name: "keyspaces") { session in
      for number in 0..<4 {
        _ = try session.keyspace("keyspace \(number)", number % 2 == 0 ? .dense : .bytes)
      }
    },
    puts(.relaxed), puts(.processCrash), puts(.ordered), puts(.powerLoss),
    FailureWorkload(name: "put, and sync") { session in
      guard let rows = try session.rows() else { return }
      for id in 1...3 as ClosedRange<UInt64> {
        try session.put(id, 50, rows, .relaxed)
        try session.sync()
      }
    },
    FailureWorkload(name: "remove") { session in
      guard let rows = try session.rows(), let names = try session.names() else { return }
      try session.write([session.row(1, 20, rows), session.row(2, 20, rows), session.named("a", 20, names)])
      try session.remove(1, in: rows, .processCrash)
      try session.write([session.remove("a", names), session.named("b", 1, names)])
      try session.remove(2, 77, in: rows)
    },
    FailureWorkload(name: "overwrite") { session in
      guard let rows = try session.rows() else { return }
      for length in [10, 300, 0, 700] { try session.put(1, length, rows, .ordered) }
      try session.put(1, 9, rows)
    },
    FailureWorkload(name: "byte-string keys") { session in
      guard let names = try session.names() else { return }
      for name in ["", "a", String(repeating: "long", count: 200), "a\u{0}"] {
        try session.write([session.named(name, 30, names)], .ordered)
      }
      try session.write([session.remove("a", names)])
    },
    FailureWorkload(name: "batches") { session in
      guard let rows = try session.rows(), let names = try session.names() else { return }
      for length in [10, 60] {
        try session.write(
          (1...12).map { session.row($0, length, rows) }
            + (1...8).map { session.named("\($0)", length, names) })
      }
      try session.write((1...6).map { session.remove("\($0)", names) }, .processCrash)
    },
    FailureWorkload(name: "a commit over many segments") { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...14).map { session.row($0, 900, rows) })
      try session.put(1, 5, rows)
    },
    FailureWorkload(name: "a commit over segments, not synced") { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...14).map { session.row($0, 900, rows) }, .relaxed)
      try session.write((3...9).map { session.row($0, 900, rows) }, .ordered)
    },
    FailureWorkload(
      name: "values longer than a segment", options: { $0.blobThresholdBytes = 20_000 }
    ) { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 9000, rows, .processCrash)
      try session.put(2, 14_000, rows)
      try session.put(1, 3, rows)
    },
    rotation(.relaxed), rotation(.ordered), rotation(.powerLoss),
    FailureWorkload(name: "segments prepared ahead", options: ahead) { session in
      guard let rows = try session.rows() else { return }
      try session.fill(1...10, 800, rows, .relaxed)
    },
    FailureWorkload(
      name: "segments prepared ahead, synced", options: ahead, openings: 3,
      closes: false
    ) { session in
      guard let rows = try session.rows() else { return }
      for id in 1...7 as ClosedRange<UInt64> {
        try session.put(id, 800, rows, id % 3 == 0 ? .powerLoss : .ordered)
      }
    },
    FailureWorkload(name: "opened and closed", openings: 5) { session in
      guard let rows = try session.rows() else { return }
      try session.put(session.part, 100, rows, .relaxed)
    },
    FailureWorkload(name: "opened and not closed", openings: 5, closes: false) { session in
      guard let rows = try session.rows() else { return }
      try session.put(session.part, 400, rows, session.part % 2 == 0 ? .processCrash : .powerLoss)
      try session.put(session.part + 10, 700, rows, .relaxed)
    },
    FailureWorkload(name: "preconditions") { session in
      guard let rows = try session.rows(), let names = try session.names() else { return }
      try session.write([session.row(1, 30, rows)])
      let isThere = try session.store.snapshot().value(id: 1, in: rows) != nil
      try session.write([session.row(1, 40, rows)], requiring: isThere ? [.exists(rows, .id(1))] : [])
      try session.write([session.row(2, 30, rows)], isRefused: true, requiring: [.exists(rows, .id(99))])
      let before = session.store.snapshot()
      let range = Precondition.rangeUnchanged(names, .prefix([7]), since: before)
      try session.write([session.named("other", 10, names)], .ordered, requiring: [range])
    },
    FailureWorkload(name: "refused by the program") { session in
      guard let rows = try session.rows() else { return }
      struct Refused: Error {}
      for length in [10, 5000] {
        let value = session.value(length)
        try session.run.attempt(session.store) {
          do {
            _ = try session.store.write { transaction in
              try transaction.put(value, id: 9, in: rows)
              throw Refused()
            }
          } catch is Refused {}
        }
      }
      try session.put(1, 10, rows)
    },
    FailureWorkload(name: "transactions") { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 40, rows)
      for length in [5, 200] {
        let put = session.row(1, length, rows)
        guard let value = put.value else { return }
        try session.run.commit(session.store, [put.change], .powerLoss) {
          try session.store.transaction(durability: .powerLoss) { transaction in
            _ = try transaction.value(id: 1, in: rows)
            try transaction.put(value, id: 1, in: rows)
          }.sequence
        }
      }
    },
    FailureWorkload(name: "a transaction that another one precedes") { session in
      guard let rows = try session.rows() else { return }
      let (first, second) = (session.row(1, 40, rows), session.row(2, 40, rows))
      try session.run.commit(session.store, [second.change], .powerLoss, isRefused: true) {
        try session.store.transaction(durability: .powerLoss) { transaction in
          _ = try transaction.value(id: 1, in: rows)
          guard try session.write([first]) else { throw StoreError(.conflict, "the first commit failed") }
          try transaction.put(second.value ?? [], id: 2, in: rows)
        }.sequence
      }
    },
  ]

  private static func puts(_ durability: Durability) -> FailureWorkload {
    FailureWorkload(name: "put, \(durability)") { session in
      guard let rows = try session.rows() else { return }
      for id in 1...4 as ClosedRange<UInt64> {
        try session.put(id + 10 * session.part, 100, rows, durability)
      }
    }
  }

  private static func rotation(_ durability: Durability) -> FailureWorkload {
    FailureWorkload(name: "many segments, \(durability)", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.fill(1...18, 900, rows, durability)
    }
  }
}
