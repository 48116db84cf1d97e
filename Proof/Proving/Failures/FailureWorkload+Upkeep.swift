import PerdureLog

// Compaction, groups, dictionaries, derived indexes.
extension FailureWorkload {
  static let upkeep: [FailureWorkload] = [
    FailureWorkload(name: "compaction of overwritten rows") { session in
      guard let rows = try session.rows() else { return }
      for _ in 0..<3 { try session.write((1...5).map { session.row($0, 500, rows) }, .relaxed) }
      try session.compact()
      try session.put(1, 10, rows)
    },
    FailureWorkload(name: "compaction of removed rows") { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...9).map { session.row($0, 700, rows) }, .relaxed)
      try session.remove(1, 2, 3, 5, 8, in: rows, .relaxed)
      try session.compact()
      try session.compact()
    },
    FailureWorkload(name: "compaction under a snapshot", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...6).map { session.row($0, 700, rows) })
      let held = session.store.snapshot()
      try session.write((1...5).map { session.row($0, 700, rows) }, .relaxed)
      try session.compact()
      try session.run.check(held, 1, rows)
      try session.put(1, 10, rows)
      try session.run.check(held, 6, rows)
    },
    FailureWorkload(
      name: "compaction and checkpoints", options: { $0.checkpoints.closeTailBytes = 0 }
    ) { session in
      guard let rows = try session.rows() else { return }
      for round in 0..<2 {
        try session.write((1...6).map { session.row($0, 600, rows) }, .ordered)
        if round == 1 { try session.compact() }
        try session.checkpoint()
      }
      try session.compact()
    },
    FailureWorkload(name: "compaction and values in files", closes: false) { session in
      guard let rows = try session.rows() else { return }
      for _ in 0..<2 {
        try session.write([session.row(1, 2000, rows), session.row(2, 900, rows), session.row(3, 900, rows)])
      }
      try session.compact()
      try session.remove(1, in: rows)
    },
    FailureWorkload(
      name: "compaction into groups",
      options: {
        $0.compression.groupsColdRecords = true
        $0.compression.groupLengthTarget = 512
        $0.compression.groupCacheBytes = 1024
      }
    ) { session in
      guard let rows = try session.rows() else { return }
      let texts = (1...60 as ClosedRange<UInt64>).map {
        FailureSession.Operation(keyspace: rows, key: .id($0), value: session.text($0))
      }
      try session.write(texts, .relaxed)
      try session.write(texts.filter { $0.key != .id(3) }, .relaxed)
      try session.compact()
      try session.compact()
      try session.put(3, 100, rows)
      try session.run.check(session.store)
    },
    FailureWorkload(name: "compressed values", options: { $0.compression.mode = .eachValue }) { session in
      guard let rows = try session.rows() else { return }
      for id in 1...3 as ClosedRange<UInt64> { try session.put(id, 600, rows, .ordered) }
      try session.put(4, 5000, rows)
      try session.put(4, 10, rows)
    },
    FailureWorkload(name: "a dictionary", options: dictionaries, openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.writeTexts(1...60, rows)
      try session.train(rows)
      try session.writeTexts(61...70, rows)
    },
    FailureWorkload(name: "dictionaries and compaction", options: dictionaries, openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.writeTexts(1...60, rows)
      try session.train(rows)
      try session.writeTexts(1...50, rows)
      try session.compact()
      try session.checkpoint()
      try session.writeTexts(61...62, rows)
    },
    FailureWorkload(name: "an index over existing rows") { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...9).map { session.row($0, 50, rows) }, .relaxed)
      try session.define(.slices("groups", rows, .value(offset: 0, length: 8)))
      try session.put(10, 50, rows)
      try session.define(.slices("serials", rows, .value(offset: 8, length: 8)))
    },
    FailureWorkload(name: "an index and its counts") { session in
      guard let rows = try session.rows(),
        let groups = try session.define(.slices("groups", rows, .value(offset: 0, length: 8)))
      else { return }
      try session.define(IndexDefinition(name: "counts", source: .groupCounts(of: groups)))
      try session.write((1...5).map { session.row($0, 50, rows) })
      try session.remove(1, 2, in: rows)
      try session.checkpoint()
      try session.put(3, 20, rows, .relaxed)
    },
    FailureWorkload(name: "sums of groups and their order") { session in
      guard let rows = try session.rows(), let sums = try session.define(.sums("sums", rows)) else { return }
      try session.define(IndexDefinition(name: "order", source: .sumOrder(of: sums)))
      try session.write((1...5).map { session.row($0, 50, rows) })
      try session.remove(1, 2, in: rows)
      try session.checkpoint()
      try session.put(3, 20, rows, .relaxed)
    },
    FailureWorkload(name: "an index that is defined again") { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...5).map { session.row($0, 50, rows) })
      for offset in 0...2 {
        try session.define(.slices("by byte", rows, .value(offset: offset + Int(session.part), length: 1)))
        try session.put(9, 50, rows, .relaxed)
      }
    },
    FailureWorkload(name: "an index that is removed") { session in
      guard let rows = try session.rows(),
        let index = try session.define(.slices("gone \(session.part)", rows, .value(offset: 0, length: 8)))
      else { return }
      try session.write((1...5).map { session.row($0, 50, rows) })
      try session.removeIndex(index)
      try session.checkpoint()
      try session.put(9, 50, rows, .relaxed)
    },
    FailureWorkload(name: "a unique index") { session in
      guard let rows = try session.rows(),
        try session.define(.slices("serials", rows, .value(offset: 8, length: 8), isUnique: true)) != nil
      else { return }
      let put = session.row(1 + 10 * session.part, 50, rows)
      guard try session.write([put]) else { return }
      let twin = FailureSession.Operation(keyspace: rows, key: .id(5 + 10 * session.part), value: put.value)
      try session.write([twin], isRefused: true)
      try session.remove(1 + 10 * session.part, in: rows, .ordered)
    },
  ]

  private static let dictionaries: @Sendable (inout StoreOptions) -> Void = { options in
    options.compression = .dictionaries
    options.compression.trainsAutomatically = false
    options.compression.valueBytesMin = 16
    options.compression.dictionaryBytes = 1024
  }
}

extension FailureSession {
  fileprivate func writeTexts(_ ids: ClosedRange<UInt64>, _ rows: Keyspace) throws {
    try write(ids.map { Operation(keyspace: rows, key: .id($0), value: text($0)) }, .ordered)
  }
}
