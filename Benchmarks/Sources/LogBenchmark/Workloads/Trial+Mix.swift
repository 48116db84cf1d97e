import CLogFloor

// The core workloads of YCSB with one thread and a Zipfian constant of 0.99. An update replaces a
// value in a separate commit. A read sees all earlier commits.

extension Trial {
  private enum Step { case read, update, scan, insert, readModifyWrite }

  func mix(_ engine: Engine) throws {
    let mixes: [(Workload, often: Step, seldom: Step, percent: UInt64)] = [
      (.ycsbC, .read, .read, 0), (.ycsbB, .read, .update, 5), (.ycsbE, .scan, .insert, 5),
      (.ycsbA, .read, .update, 50), (.ycsbF, .read, .readModifyWrite, 50),
    ]
    // Even an engine that cannot scan must insert. Otherwise its final state differs.
    guard mixes.contains(where: { plan.workloads.contains($0.0) }) else { return }
    let zipfian = Zipfian(count: records)
    for (workload, often, seldom, percent) in mixes where plan.workloads.contains(workload) {
      let count = min(records, plan.operations) / (workload == .ycsbE ? 10 : 1)
      try run(workload, engine, zipfian, count) { $0 < percent ? seldom : often }
    }
  }

  private func run(
    _ workload: Workload, _ engine: Engine, _ zipfian: Zipfian, _ count: Int, _ step: (UInt64) -> Step
  ) throws {
    var generator = Scramble(seed: seed(of: workload))
    let steps = (0..<count).map { _ in
      (step(generator.next() % 100), zipfian.scattered(&generator), Int(generator.next() % 100) + 1)
    }
    var view = try engine.makeView()
    var writer = try engine.makeWriter()
    defer {
      view.end()
      writer.end()
    }
    try view.advance()
    let salt = Scramble.mix(seed(of: workload))
    var inserted = records
    var sum: UInt64 = 0
    var recorder = LatencyRecorder()
    for (position, (step, ordinal, length)) in steps.enumerated() {
      var key = shape.key(ordinal)
      var value = pool.value(salt &+ UInt64(position))
      if step == .read || step == .readModifyWrite {
        try view.advance()
        sum &+= try view.read(key) ?? 1
      } else if step == .scan, Engine.isOrdered {
        try view.advance()
        sum &+= try view.scan(from: key, limit: length).sum
      } else if step == .insert {
        key = shape.key(inserted)
        inserted += 1
      }
      if step != .read && step != .scan {
        // The written value depends on the values that were read, as in real programs.
        if step == .readModifyWrite { value = pool.value(salt &+ UInt64(position) &+ (sum & 1)) }
        try writer.put(key, value, shape.valueLength)
      }
      recorder.lap()
    }
    check(workload, sum)
    report(workload, count, recorder.elapsed, recorder.histogram)
  }
}

extension EngineWriter {
  /// Puts one value in a separate commit.
  @inline(__always)
  mutating func put(_ key: log_key, _ value: UnsafeRawPointer, _ length: Int) throws {
    var operation = log_operation(key: key, value: value, length: length)
    try withUnsafePointer(to: &operation) { try commit(UnsafeBufferPointer(start: $0, count: 1)) }
  }
}
