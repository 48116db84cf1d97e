import CLogFloor

/// Opens the store of a killed trial, closes it, and opens it again. It runs in a separate process,
/// so that the measured memory is only that of the store.
struct Reopening<Engine: LogEngine> {
  let plan: TrialPlan
  let folder: String

  func run() throws -> TrialOutput {
    var output = TrialOutput()
    for workload in [Workload.openAfterKill, .openClean] {
      let (measurement, digest) = try open(workload)
      if plan.workloads.contains(workload) { output.measurements.append(measurement) }
      output.checks[workload.rawValue] = digest
    }
    return output
  }

  /// Measures an opening up to the first read, and the memory of the store after everything was
  /// read.
  private func open(_ workload: Workload) throws -> (Measurement, UInt64) {
    let memory = Resources.privateMemoryBytes
    var opened: Engine?
    let cost = try Cost.of {
      let engine = try Engine(in: folder + "/store", plan.shape)
      var view = try engine.makeView()
      _ = try view.read(plan.shape.key(0))
      view.end()
      opened = engine
    }
    guard let engine = opened else { throw EngineError("no store was opened") }
    var view = try engine.makeView()
    let all = try view.scan(from: nil, limit: .max)
    view.end()
    let memoryAfter = Resources.privateMemoryBytes
    var details = try engine.figures
    details["live_records"] = Double(all.count)
    details["reserved_bytes"] = Double(Resources.reservedBytes(of: folder + "/store"))
    try engine.close()
    let measurement = Measurement(
      engine: Engine.name, workload: workload.rawValue, shape: plan.shape.rawValue, n: plan.records,
      valueBytes: plan.shape.valueLength, operations: 1, nsPerOp: Double(cost.nanoseconds),
      cpuNsPerOp: Double(cost.cpuNanoseconds), p50: cost.nanoseconds, p99: cost.nanoseconds,
      p999: cost.nanoseconds, p9999: cost.nanoseconds, maxNs: cost.nanoseconds,
      diskBytes: Resources.diskBytes(of: folder + "/store"), memoryBytes: max(memoryAfter - memory, 0),
      details: details)
    return (measurement, all.sum &+ UInt64(all.count))
  }
}
