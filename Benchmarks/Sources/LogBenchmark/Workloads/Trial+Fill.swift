import CLogFloor
import Foundation

// Filling a store, in the order of the keys or in random order, with batches of 1, 100 and 1000.
// One of these workloads fills the store that later workloads use. Each other workload writes at
// most a fifth of the records into a separate store, which is then removed.

extension Trial {
  func fillOthers() throws {
    for workload in [
      Workload.fillSequential1, .fillSequential100, .fillSequential1000, .fillRandom1, .fillRandom100,
    ]
    where isWanted(workload) && workload != plan.load {
      let path = folder + "/other"
      let engine = try openStore(in: path)
      let fifth = max(records / 5, 1)
      let count = workload.batchSize == 1 ? min(fifth, plan.operations) : fifth
      try put(engine, workload, order(of: workload, count), in: path)
      try engine.close()
      try FileManager.default.removeItem(atPath: path)
    }
  }

  func fill(_ engine: Engine) throws {
    try put(engine, plan.load, order(of: plan.load, records))
  }

  private func order(of workload: Workload, _ count: Int) -> [UInt32] {
    switch workload {
    case .fillSequential1, .fillSequential100, .fillSequential1000:
      let ordinals = Array(0..<UInt32(count))
      guard shape.keyKind == .hashed else { return ordinals }
      return ordinals.sorted { log_key.isOrdered(shape.key(Int($0)), shape.key(Int($1)), as: .hashed) }
    default: return Scramble.permutation(of: count, seed: seed(of: workload))
    }
  }

  /// Puts a value for each ordinal, in batches of the workload's size, and reports the workload.
  func put(
    _ engine: Engine, _ workload: Workload, _ ordinals: [UInt32], inBatchesOf size: Int? = nil,
    in path: String? = nil
  ) throws {
    let batch = size ?? workload.batchSize
    var writer = try engine.makeWriter()
    defer { writer.end() }
    let salt = Scramble.mix(seed(of: workload))
    var operations: [log_operation] = []
    operations.reserveCapacity(batch)
    var recorder = LatencyRecorder()
    for (position, ordinal) in ordinals.enumerated() {
      let value = pool.value(salt &+ UInt64(position))
      operations.append(log_operation(key: shape.key(Int(ordinal)), value: value, length: shape.valueLength))
      guard operations.count == batch || position == ordinals.count - 1 else { continue }
      try operations.withUnsafeBufferPointer { try writer.commit($0) }
      operations.removeAll(keepingCapacity: true)
      recorder.lap()
    }
    report(workload, ordinals.count, recorder.elapsed, recorder.histogram, in: path)
  }
}

extension Workload {
  /// The number of records in a commit.
  var batchSize: Int {
    switch self {
    case .fillSequential100, .fillRandom100: 100
    case .fillSequential1000, .fillRandom1000, .overwrite1000, .delete1000, .steadyOverwrite: 1000
    default: 1
    }
  }
}
