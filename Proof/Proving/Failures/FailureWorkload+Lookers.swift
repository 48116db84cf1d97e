import PerdureLog
import PerdureTestSupport

// Programs that read a store: readers, verifications, salvages, snapshots.
extension FailureWorkload {
  static let lookers: [FailureWorkload] = [
    FailureWorkload(name: "a reader that follows", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 100, rows)
      guard let reader = try session.run.open(readOnly: true) else { return }
      for id in 2...4 as ClosedRange<UInt64> {
        try session.put(id, 900, rows, .ordered)
        try session.run.follow(reader)
      }
      try session.run.reading("closing a reader") { try reader.close() }
    },
    FailureWorkload(name: "a reader that is not registered", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 2000, rows)
      try session.checkpoint()
      guard let reader = try session.run.open(readOnly: true, registers: false) else { return }
      try session.put(2, 10, rows, .relaxed)
      try session.run.follow(reader)
      try session.checkpoint()
      try session.put(3, 10, rows, .relaxed)
      try session.run.follow(reader)
    },
    FailureWorkload(name: "a reader beside compaction", openings: 1) { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...6).map { session.row($0, 700, rows) })
      try session.checkpoint()
      guard let reader = try session.run.open(readOnly: true) else { return }
      let held = reader.snapshot()
      try session.write((1...5).map { session.row($0, 700, rows) }, .relaxed)
      try session.compact()
      try session.run.check(held, 2, rows)
      try session.run.follow(reader)
    },
    FailureWorkload(name: "readers of a closed store") { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 100, rows, .relaxed)
    } afterwards: { run in
      for registers in [true, false] {
        guard let reader = try run.open(readOnly: true, registers: registers) else { continue }
        try run.follow(reader)
      }
    },
    FailureWorkload(name: "a snapshot that outlives its store", closes: false) { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 100, rows)
      try session.put(2, 2000, rows)
      let held = session.store.snapshot()
      try session.put(1, 300, rows, .relaxed)
      try session.run.close(session.store)
      try session.run.check(held, 1, rows)
      try session.run.check(held, 2, rows)
    },
    FailureWorkload(name: "verify") { session in
      guard let rows = try session.rows(),
        try session.define(.slices("groups", rows, .value(offset: 0, length: 8))) != nil
      else { return }
      try session.write((1...6).map { session.row($0, 700, rows) }, .relaxed)
      try session.put(7, 2000, rows)
      try session.checkpoint()
      try session.run.verify(session.store)
    },
    FailureWorkload(name: "salvage", openings: 1) { session in
      guard let rows = try session.rows(), let names = try session.names() else { return }
      try session.write((1...6).map { session.row($0, 700, rows) } + [session.named("a", 2000, names)])
      try session.remove(1, in: rows)
    } afterwards: { run in
      try run.salvage()
    },
  ]
}
