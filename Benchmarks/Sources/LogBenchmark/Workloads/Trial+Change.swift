import CLogFloor

// Overwriting and deleting, uniformly at random.

extension Trial {
  func change(_ engine: Engine) throws {
    let count = min(records, plan.operations)
    for workload in [Workload.overwrite1, .overwrite1000] where isWanted(workload) {
      var generator = Scramble(seed: seed(of: workload))
      let ordinals = (0..<count).map { _ in UInt32(Int.random(in: 0..<records, using: &generator)) }
      try put(engine, workload, ordinals)
      settle()
      note(workload)
    }
    if isWanted(.delete1000) { try delete(engine) }
  }

  /// Deletes a quarter of the records.
  private func delete(_ engine: Engine) throws {
    let workload = Workload.delete1000
    let ordinals = Scramble.permutation(of: records, seed: seed(of: workload)).prefix(max(records / 4, 1))
    var writer = try engine.makeWriter()
    defer { writer.end() }
    var operations: [log_operation] = []
    var recorder = LatencyRecorder()
    for (position, ordinal) in ordinals.enumerated() {
      operations.append(log_operation(key: shape.key(Int(ordinal)), value: nil, length: 0))
      guard operations.count == workload.batchSize || position == ordinals.count - 1 else { continue }
      try operations.withUnsafeBufferPointer { try writer.commit($0) }
      operations.removeAll(keepingCapacity: true)
      recorder.lap()
    }
    report(workload, ordinals.count, recorder.elapsed, recorder.histogram)
  }
}
