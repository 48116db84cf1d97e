import CLogFloor
import Foundation

// A store that is overwritten repeatedly, uniformly at random. These workloads measure the space
// that the store uses meanwhile, the bytes written, and the time that commits wait for background
// compaction.
//
// For engines that compact in the background, they also measure commits of one record, and durable
// commits during overwriting by another thread. Other engines write the same values in large
// batches without measurement, so that all engines end in the same state.

extension Trial {
  func overwriteSteadily(_ engine: Engine) throws {
    if isWanted(.steadyOverwrite) { try overwriteTwice(engine) }
    if plan.workloads.contains(.steadyCommit) { try overwriteSingly(engine) }
    if plan.workloads.contains(.steadyDurable) { try commitBesideOverwriting(engine) }
  }

  private func ordinals(_ workload: Workload, _ count: Int) -> [UInt32] {
    var generator = Scramble(seed: seed(of: workload))
    return (0..<count).map { _ in UInt32(Int.random(in: 0..<records, using: &generator)) }
  }

  /// Overwrites as many records as the store has, twice. Times and written bytes are those of both
  /// passes. The space is measured only in the second pass, because it is stable then.
  private func overwriteTwice(_ engine: Engine) throws {
    let workload = Workload.steadyOverwrite
    let all = ordinals(workload, 2 * records)
    let salt = Scramble.mix(seed(of: workload))
    var writer = try engine.makeWriter()
    defer { writer.end() }
    var space = SteadySpace(folder: storeFolder)
    let written = Resources.writtenBytes
    let figuresBefore = try engine.figures
    var operations: [log_operation] = []
    var recorder = LatencyRecorder()
    for (position, ordinal) in all.enumerated() {
      let value = pool.value(salt &+ UInt64(position))
      operations.append(log_operation(key: shape.key(Int(ordinal)), value: value, length: shape.valueLength))
      guard operations.count == workload.batchSize || position == all.count - 1 else { continue }
      try operations.withUnsafeBufferPointer { try writer.commit($0) }
      operations.removeAll(keepingCapacity: true)
      recorder.lap()
      // Measures the space about forty times, outside of the measured time.
      if position >= records, (position + 1) / 1000 % max(records / 40_000, 1) == 0 {
        try recorder.skip { space.look(try engine.figures) }
      }
    }
    var details = space.details
    details["written_bytes"] = Double(Resources.writtenBytes - written)
    details["given_bytes"] = Double(all.count * (shape.keyLength + shape.valueLength))
    let recordBytes = "record_bytes_since_open"
    details["record_bytes"] = try engine.figures[recordBytes].map { $0 - (figuresBefore[recordBytes] ?? 0) }
    report(workload, all.count, recorder.elapsed, recorder.histogram, details: details)
  }

  /// Overwrites as many records as the store has, in commits of one record.
  private func overwriteSingly(_ engine: Engine) throws {
    let workload = Workload.steadyCommit
    try put(engine, workload, ordinals(workload, records), inBatchesOf: Engine.compacts ? 1 : 1000)
  }

  /// Makes durable commits of one record each in one half of the keys. At the same time, a thread
  /// overwrites the other half in batches that are not durable. First, that thread overwrites its
  /// whole half. Then it writes one batch for every twenty commits. So there is always garbage to
  /// compact, and the amount written is equal for all engines. The thread always writes the same
  /// value for a key. So the number of passes does not change the final state.
  private func commitBesideOverwriting(_ engine: Engine) throws {
    let workload = Workload.steadyDurable
    let half = max(records / 2, 1)
    let foreground = ordinals(workload, plan.steadyCommits).map { $0 % UInt32(half) }
    guard Engine.compacts else {
      try put(engine, workload, foreground, inBatchesOf: 1000)
      return try overwriteOnce(engine, from: half)
    }
    let (shape, pool, records, salt) = (shape, pool, records, Scramble.mix(seed(of: workload)))
    let done = Counter()
    let isDone = Signal()
    let isOverwritten = Signal()
    let result = Shared((Cost(nanoseconds: 0, cpuNanoseconds: 0), Histogram()))
    // Writers keep the durability that was set when they were made.
    let background = try engine.makeWriter()
    let writers = Shared([background, try makeDurableWriter(engine)])
    try Threads.run(2) { number in
      var writer = writers.withLock { $0[number] }
      defer { writer.end() }
      if number == 0 {
        defer { isOverwritten.set() }
        var pass = SteadyPass(shape: shape, pool: pool, first: half, count: records - half)
        while !pass.isSecond { try pass.commit(&writer) }
        isOverwritten.set()
        var batches = 0
        while !isDone.isSet {
          if done.value < 20 * batches {
            usleep(100)
          } else {
            try pass.commit(&writer)
            batches += 1
          }
        }
      } else {
        defer { isDone.set() }
        while !isOverwritten.isSet { usleep(100) }
        var recorder = LatencyRecorder()
        for (position, ordinal) in foreground.enumerated() {
          let value = pool.value(salt &+ UInt64(position))
          try writer.put(shape.key(Int(ordinal)), value, shape.valueLength)
          recorder.lap()
          done.increment()
        }
        result.withLock { $0 = (recorder.elapsed, recorder.histogram) }
      }
    }
    let (cost, calls) = result.withLock { $0 }
    report(workload, foreground.count, cost, calls)
  }

  private func makeDurableWriter(_ engine: Engine) throws -> Engine.Writer {
    try engine.setDurable(true)
    let writer = try engine.makeWriter()
    try engine.setDurable(false)
    return writer
  }

  private func overwriteOnce(_ engine: Engine, from half: Int) throws {
    var writer = try engine.makeWriter()
    defer { writer.end() }
    var pass = SteadyPass(shape: shape, pool: pool, first: half, count: records - half)
    while !pass.isSecond { try pass.commit(&writer) }
  }
}

/// Overwrites a range of keys repeatedly in batches, always with the same value for each key.
private struct SteadyPass {
  let shape: Shape
  let pool: ValuePool
  let first: Int
  let count: Int
  private var next = 0
  private var operations: [log_operation] = []
  /// Whether every key was written at least once.
  private(set) var isSecond = false

  init(shape: Shape, pool: ValuePool, first: Int, count: Int) {
    (self.shape, self.pool, self.first, self.count) = (shape, pool, first, count)
  }

  mutating func commit(_ writer: inout some EngineWriter) throws {
    operations.removeAll(keepingCapacity: true)
    while operations.count < min(1000, count) {
      // The factor is a prime greater than the count, so each pass writes every key once. Keys that
      // are adjacent in the log are usually not adjacent in the index.
      let ordinal = first + Int(UInt64(next) &* 0x9E37_79B1 % UInt64(count))
      let value = pool.value(UInt64(ordinal) ^ 0x5EAD)
      operations.append(log_operation(key: shape.key(ordinal), value: value, length: shape.valueLength))
      next += 1
      if next == count { (next, isSecond) = (0, true) }
    }
    try operations.withUnsafeBufferPointer { try writer.commit($0) }
  }
}

/// The space of a store while it is overwritten.
private struct SteadySpace {
  let folder: String
  private var disk: [Double] = []
  private var logRatios: [Double] = []
  private var segments = 0.0

  init(folder: String) { self.folder = folder }

  mutating func look(_ figures: [String: Double]) {
    disk.append(Double(Resources.diskBytes(of: folder)))
    guard let log = figures["log_bytes"], let live = figures["live_record_bytes"], live > 0 else { return }
    logRatios.append(log / live)
    segments = max(segments, figures["segments"] ?? 0)
  }

  var details: [String: Double] {
    var found: [String: Double] = [:]
    found["disk_bytes_median"] = median(disk)
    found["disk_bytes_max"] = disk.max()
    found["log_ratio_median"] = median(logRatios)
    found["log_ratio_max"] = logRatios.max()
    found["segments"] = logRatios.isEmpty ? nil : segments
    return found
  }
}
