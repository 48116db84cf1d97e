import PerdureLog

// Programs that use files besides the log: files of long values, checkpoints, and the reserve for a
// full volume.
extension FailureWorkload {
  static let files: [FailureWorkload] = [
    FailureWorkload(name: "values in files") { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 2000, rows)
      try session.put(2, 70_000, rows, .relaxed)
      try session.put(1, 3000, rows, .ordered)
    },
    FailureWorkload(name: "values in files, removed") { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 2000, rows)
      try session.put(2, 2000, rows, .processCrash)
      try session.remove(1, in: rows)
      try session.put(2, 5, rows)
      try session.put(3, 5, rows)
    },
    FailureWorkload(name: "values in files and in rows") { session in
      guard let rows = try session.rows(), let names = try session.names() else { return }
      try session.write(
        [session.row(1, 2000, rows), session.named("a", 3000, names)]
          + (2...9).map { session.row($0, 50, rows) })
      try session.write([session.remove("a", names), session.row(1, 10, rows)])
      try session.put(3, 10, rows)
    },
    FailureWorkload(name: "values in pieces") { session in
      guard let rows = try session.rows() else { return }
      for id in 1...2 as ClosedRange<UInt64> {
        try session.stream(150_000, id, rows) { written in
          try session.store.write(durability: .powerLoss) { try $0.put(written, id: id, in: rows) }.sequence
        }
      }
    },
    FailureWorkload(name: "values in pieces, by transaction") { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 9, rows)
      try session.stream(30_000, 1, rows) { written in
        try session.store.transaction(durability: .powerLoss) { transaction in
          _ = try transaction.value(id: 1, in: rows)
          try transaction.put(written, id: 1, in: rows)
        }.sequence
      }
    },
    FailureWorkload(name: "values in pieces, discarded") { session in
      guard let rows = try session.rows() else { return }
      for _ in 0..<2 {
        try session.run.attempt(session.store) {
          let writer = try session.store.makeBlobWriter()
          try writer.append([UInt8](repeating: 1, count: 100_000))
          if session.part == 0 { _ = try writer.finish() }
        }
        try session.put(1, 10, rows)
      }
    },
    FailureWorkload(name: "reading values in files", options: { $0.blobThresholdBytes = 2048 }) { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 200_000, rows)
      let snapshot = session.store.snapshot()
      try session.run.check(snapshot, 1, rows)
      try session.run.reading("reading in pieces") {
        let reader = try snapshot.reader(id: 1, in: rows)
        _ = try reader?.bytes(in: 66_000..<66_010)
        try reader?.forEachPiece { _ in true }
      }
    },
    FailureWorkload(name: "a checkpoint") { session in
      guard let rows = try session.rows() else { return }
      try session.write((1...9).map { session.row($0, 50, rows) }, .relaxed)
      try session.checkpoint()
      try session.put(1, 10, rows)
    },
    FailureWorkload(name: "checkpoints, one after the other", openings: 1) { session in
      guard let rows = try session.rows(), let names = try session.names() else { return }
      for round in 0..<4 as Range<UInt64> {
        try session.write([session.row(round, 500, rows), session.named("\(round)", 300, names)], .relaxed)
        try session.checkpoint()
      }
    },
    FailureWorkload(
      name: "checkpoints at close", options: { $0.checkpoints.closeTailBytes = 0 }, openings: 3
    ) { session in
      guard let rows = try session.rows() else { return }
      try session.put(session.part, 100, rows, .processCrash)
    },
    FailureWorkload(
      name: "checkpoints and values in files", options: { $0.checkpoints.closeTailBytes = 0 }
    ) { session in
      guard let rows = try session.rows() else { return }
      try session.put(1, 2000, rows, .ordered)
      try session.checkpoint()
      try session.remove(1, in: rows, .relaxed)
      try session.put(2, 2000, rows, .relaxed)
      try session.checkpoint()
    },
    FailureWorkload(name: "checkpoints and segments, left open", openings: 3, closes: false) { session in
      guard let rows = try session.rows() else { return }
      try session.fill(1...5, 900, rows, .ordered)
      try session.checkpoint()
      try session.put(9, 900, rows, .relaxed)
    },
    FailureWorkload(
      name: "a little of everything", options: { $0.checkpoints.closeTailBytes = 0 }
    ) { session in
      guard let rows = try session.rows() else { return }
      let first = session.part * 10
      try session.put(1 + first, 100, rows, .relaxed)
      try session.put(2 + first, 2500, rows, .powerLoss)
      try session.checkpoint()
      try session.define(.slices("first bytes", rows, .value(offset: 0, length: 4)))
      try session.put(3 + first, 900, rows, .ordered)
      try session.checkpoint()
      try session.put(4 + first, 900, rows, .powerLoss)
      try session.checkpoint()
      try session.put(2 + first, 4000, rows, .powerLoss)
      try session.remove(4 + first, in: rows, .processCrash)
    },
    FailureWorkload(
      name: "the reserve for a full volume",
      options: {
        $0.segmentCapacityBytes = 32 << 10
        $0.blobThresholdBytes = 64 << 10
        $0.reserveBytes = 128 << 10
      }, openings: 1
    ) { session in
      guard let rows = try session.rows() else { return }
      try session.fill(1...3, 30_000, rows, .relaxed)
      try session.put(1, 100, rows)
    },
    FailureWorkload(
      name: "a volume that fills up",
      options: {
        $0.segmentCapacityBytes = 32 << 10
        $0.blobThresholdBytes = 64 << 10
        $0.reserveBytes = 128 << 10
      }, capacityBytes: 340_000, openings: 1
    ) { session in
      guard let rows = try session.rows() else { return }
      try session.fill(1...8, 30_000, rows, .relaxed)
      for id in 1...5 as ClosedRange<UInt64> { try session.remove(id, in: rows, .relaxed) }
      try session.compact()
      try session.put(1, 100, rows)
    },
  ]
}
