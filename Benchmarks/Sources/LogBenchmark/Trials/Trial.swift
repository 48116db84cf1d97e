import CLogFloor
import Foundation

/// The workloads and the size of a trial.
struct TrialPlan: Codable {
  var shape: Shape
  /// The number of records in the store.
  var records: Int
  /// The maximum number of single operations of a workload.
  var operations: Int
  var durableCommits: Int
  /// The number of durable commits that are measured while another thread overwrites records.
  var steadyCommits: Int
  var workloads: [Workload]
  /// The workload that fills the store.
  var load = Workload.fillRandom1000
  var round: Int
}

/// Measures one engine with one shape in one round, in a separate process: fills a store, and runs
/// workloads on it.
///
/// The plan determines each workload, so that all engines end in the same state. For comparison,
/// the trial reports sums over the values read and over the final state.
final class Trial<Engine: LogEngine> {
  let plan: TrialPlan
  let folder: String
  let pool: ValuePool
  private(set) var output = TrialOutput()
  private var store: Engine?

  var shape: Shape { plan.shape }
  var records: Int { plan.records }

  init(_ plan: TrialPlan, in folder: String) {
    self.plan = plan
    self.folder = folder
    pool = ValuePool(valueLength: plan.shape.valueLength)
  }

  /// The folder of the store that all workloads after the fill use.
  var storeFolder: String { folder + "/store" }

  func run() throws {
    try fillOthers()
    let engine = try openStore(in: storeFolder)
    store = engine
    try fill(engine)
    settle()
    note(plan.load)
    try read(engine)
    try mix(engine)
    try change(engine)
    try workTogether(engine)
    try overwriteSteadily(engine)
    output.checks["final state"] = try digest(engine)
  }

  func close() throws {
    try store?.close()
    store = nil
  }

  func isWanted(_ workload: Workload) -> Bool {
    plan.workloads.contains(workload) && workload.makesSense(for: shape)
      && (Engine.isOrdered || !workload.needsOrder) && (Engine.compacts || !workload.needsCompaction)
  }

  func openStore(in folder: String) throws -> Engine {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return try Engine(in: folder, shape)
  }

  /// A seed that differs between workloads and rounds, but not between engines.
  func seed(of workload: Workload) -> UInt64 {
    let place = Workload.allCases.firstIndex(of: workload) ?? 0
    return UInt64(place + 100 * plan.round + 1)
  }

  /// - Parameter calls: The latencies of calls.
  func report(
    _ workload: Workload, _ operations: Int, _ cost: Cost, _ calls: Histogram, in folder: String? = nil,
    details: [String: Double] = [:]
  ) {
    guard isWanted(workload), operations > 0 else { return }
    let folder = folder ?? storeFolder
    output.measurements.append(
      Measurement(
        engine: Engine.name, workload: workload.rawValue, shape: shape.rawValue, n: records,
        valueBytes: shape.valueLength, operations: operations,
        nsPerOp: Double(cost.nanoseconds) / Double(operations),
        cpuNsPerOp: Double(cost.cpuNanoseconds) / Double(operations), p50: calls.percentile(0.5),
        p99: calls.percentile(0.99), p999: calls.percentile(0.999), p9999: calls.percentile(0.9999),
        maxNs: calls.maximum, diskBytes: Resources.diskBytes(of: folder),
        memoryBytes: Resources.privateMemoryBytes, details: details))
  }

  func check(_ workload: Workload, _ sum: UInt64) {
    if isWanted(workload) { output.checks[workload.rawValue] = sum }
  }

  /// Measures disk and memory for a workload again, after background work has ended.
  func note(_ workload: Workload) {
    guard let index = output.measurements.lastIndex(where: { $0.workload == workload.rawValue }) else {
      return
    }
    output.measurements[index].diskBytes = Resources.diskBytes(of: storeFolder)
    output.measurements[index].details["reserved_bytes"] = Double(Resources.reservedBytes(of: storeFolder))
    output.measurements[index].memoryBytes = Resources.privateMemoryBytes
  }

  /// Waits until the engine's own threads are idle, at most 20 seconds.
  func settle() {
    for _ in 0..<200 {
      let before = log_cpu_ns()
      usleep(100_000)
      if log_cpu_ns() - before < 2_000_000 { return }
    }
  }

  func digest(_ engine: Engine) throws -> UInt64 {
    var view = try engine.makeView()
    defer { view.end() }
    let all = try view.scan(from: nil, limit: .max)
    return all.sum &+ UInt64(all.count)
  }
}

/// A trial's report to the process that started it.
struct TrialOutput: Codable {
  var measurements: [Measurement] = []
  /// Sums that must be equal for all engines, by name.
  var checks: [String: UInt64] = [:]
}
