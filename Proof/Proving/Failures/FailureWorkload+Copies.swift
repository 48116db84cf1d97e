import PerdureLog

// Programs that make backups and copies of a store.
extension FailureWorkload {
  static let copies: [FailureWorkload] = [
    FailureWorkload(name: "a backup") { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...6).map { session.row($0, 700, rows) }, .relaxed)
      try session.put(7, 2000, rows, .relaxed)
      try session.run.make(
        FailureCopy(.backup(since: nil), to: "/backup \(session.part)"), of: session.store)
      try session.put(1, 10, rows)
    },
    FailureWorkload(name: "a backup since another", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...6).map { session.row($0, 700, rows) })
      try session.put(7, 2000, rows)
      let first = FailureCopy(.backup(since: nil), to: "/first")
      guard try session.run.make(first, of: session.store) else { return }
      try session.write((1...6).map { session.row($0, 600, rows) })
      try session.compact()
      try session.run.make(FailureCopy(.backup(since: "/first"), to: "/second"), of: session.store)
      try session.put(1, 10, rows, .relaxed)
    },
    FailureWorkload(name: "a backup stream and its restored store", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...6).map { session.row($0, 700, rows) }, .relaxed)
      try session.put(7, 2000, rows, .relaxed)
      try session.run.make(FailureCopy(.stream, to: "/restored"), of: session.store)
      try session.put(1, 10, rows)
    },
    FailureWorkload(name: "a restored store", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...6).map { session.row($0, 700, rows) })
      try session.put(7, 2000, rows)
      try session.run.make(FailureCopy(.backup(since: nil), to: "/backup"), of: session.store)
    } afterwards: { run in
      try run.make(FailureCopy(.restore(from: "/backup"), to: "/restored"))
    },
    FailureWorkload(name: "a copy", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...6).map { session.row($0, 700, rows) }, .relaxed)
      try session.checkpoint()
      try session.put(7, 2000, rows, .relaxed)
    } afterwards: { run in
      try run.make(FailureCopy(.copy, to: "/copy"))
    },
    FailureWorkload(name: "a replacement", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...3).map { session.row($0, 700, rows) }, .relaxed)
    } afterwards: { run in
      guard try run.make(FailureCopy(.copy, to: "/target")) else { return }
      let least = run.acknowledged
      guard let store = try run.open() else { return }
      let session = FailureSession(run, store, part: 1, extractor: SliceExtractor.name)
      if let rows = try session.rows() { try session.write((1...3).map { session.row($0, 300, rows) }) }
      try run.close(store)
      try run.make(FailureCopy(.replacement, to: "/target"), over: least)
    },
  ]
}
