import CLogFloor

// Reading with one view. Each workload runs twice. First it runs without a clock in the loop, for
// the mean. Then a quarter of it runs with a clock, for the percentiles.

extension Trial {
  func read(_ engine: Engine) throws {
    var view = try engine.makeView()
    defer { view.end() }
    let count = min(records, plan.operations)
    try readSingly(.readRandom, &view, keys(.readRandom, count) { self.shape.key($0) })
    try readSingly(.readMissing, &view, keys(.readMissing, count) { self.shape.missingKey($0) })
    try readTogether(&view, count)
    try scanAll(&view)
    try scanPrefixes(&view, count)
    try takeSnapshots(&view, count)
  }

  private func keys(_ workload: Workload, _ count: Int, _ key: (Int) -> log_key) -> [log_key] {
    var generator = Scramble(seed: seed(of: workload))
    return (0..<count).map { _ in key(Int.random(in: 0..<records, using: &generator)) }
  }

  /// Runs `body` for all operations, then for a quarter of them with a clock.
  private func measure(
    _ workload: Workload, count: Int, operations: Int, _ body: (Int) throws -> UInt64
  ) rethrows {
    var sum: UInt64 = 0
    let cost = try Cost.of { for index in 0..<count { sum &+= try body(index) } }
    check(workload, sum)
    var recorder = LatencyRecorder()
    for index in 0..<max(count / 4, 1) {
      sum &+= try body(index)
      recorder.lap()
    }
    report(workload, operations, cost, recorder.histogram)
  }

  private func readSingly(_ workload: Workload, _ view: inout Engine.View, _ keys: [log_key]) throws {
    guard isWanted(workload) else { return }
    try measure(workload, count: keys.count, operations: keys.count) { index in
      // For a missing key, 1 is added to the sum.
      try view.read(keys[index]) ?? 1
    }
  }

  private func readTogether(_ view: inout Engine.View, _ count: Int) throws {
    guard isWanted(.getMany64) else { return }
    let all = keys(.getMany64, max(count / 64, 1) * 64) { shape.key($0) }
    // The keys of a group differ, because an IN list of SQLite returns an entry only once, even if
    // the list contains the key several times.
    let groups = stride(from: 0, to: all.count, by: 64).map { distinct(all, from: $0) }
    try measure(.getMany64, count: groups.count, operations: groups.count * 64) {
      try view.readMany(groups[$0])
    }
  }

  private func distinct(_ keys: [log_key], from start: Int) -> [log_key] {
    var seen: Set<UInt64> = []
    var result: [log_key] = []
    var place = start
    while result.count < 64 {
      let key = place < start + 64 ? keys[place] : shape.key(place % records)
      if seen.insert(key.first).inserted { result.append(key) }
      place += 1
    }
    return result
  }

  private func takeSnapshots(_ view: inout Engine.View, _ count: Int) throws {
    guard isWanted(.snapshot), Engine.View.takesSnapshots else { return }
    try measure(.snapshot, count: count, operations: count) { _ in
      try view.takeSnapshot()
      return 1
    }
  }

  private func scanAll(_ view: inout Engine.View) throws {
    guard isWanted(.scan) else { return }
    try measure(.scan, count: 1, operations: records) { _ in
      try view.scan(from: nil, limit: .max).sum
    }
  }

  private func scanPrefixes(_ view: inout Engine.View, _ count: Int) throws {
    guard isWanted(.prefix) else { return }
    // In a million records, each prefix has about 15 entries.
    let length = records >= 200_000 ? 2 : 1
    let starts = keys(.prefix, max(count / 16, 1)) { shape.key($0) }
    try measure(.prefix, count: starts.count, operations: starts.count) {
      try view.scan(prefixOf: starts[$0], length: length).sum
    }
  }
}
