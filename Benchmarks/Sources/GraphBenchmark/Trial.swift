import Foundation
import Measuring

/// What one engine came to in one workload.
struct Measurement {
  var workload: Workload
  var answer: Answer
  /// Of the clock on the wall, and of the process's processors.
  var cost: Cost

  /// Per object, or for the whole.
  var nanoseconds: (elapsed: Double, processor: Double) {
    let divisor = workload.isPerObject ? Double(max(1, answer.count)) : 1
    return (cost.seconds * 1e9 / divisor, cost.processorSeconds * 1e9 / divisor)
  }
}

/// Takes an engine through all workloads.
struct Trial {
  let script: Script
  /// How often each question is asked; the median counts.
  let rounds: Int
  let folder: URL

  struct Outcome {
    var measurements: [Measurement]
    var content: Answer
  }

  func run<Engine: GraphEngine>(_ type: Engine.Type) throws -> Outcome {
    let place = folder.appendingPathComponent("graph-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: place) }
    let engine = try type.init(folder: place, data: script.data)
    try engine.open(.process)
    var measurements: [Measurement] = []
    for workload in Workload.allCases where Engine.workloads.contains(workload) {
      try prepare(engine, workload)
      measurements.append(try measure(engine, workload))
      if workload == .updateEachDurable { try reopen(engine, .process) }
    }
    let content = try engine.content()
    try engine.close()
    return Outcome(measurements: measurements, content: content)
  }

  /// What is not measured.
  private func prepare(_ engine: some GraphEngine, _ workload: Workload) throws {
    switch workload {
    case .updateEachDurable: try reopen(engine, .power)
    case .open: try engine.close()
    // Questions are asked of a store that was opened, and not of what filled it.
    case .getByID: try reopen(engine, .process)
    default: break
    }
  }

  private func reopen(_ engine: some GraphEngine, _ durability: SaveDurability) throws {
    try engine.close()
    try engine.open(durability)
  }

  private func measure(_ engine: some GraphEngine, _ workload: Workload) throws -> Measurement {
    var costs: [Cost] = []
    var answer = Answer()
    for round in 0..<(workload.isQuestion ? rounds : 1) {
      // A first walk has none before it.
      if workload == .traverseAgain, round == 0 { _ = try engine.perform(.traverse, script) }
      let (found, cost) = try Cost.measured { try engine.perform(workload, script) }
      if round > 0, found != answer { throw GraphDisagreement("\(workload.rawValue) gives another answer each time") }
      answer = found
      costs.append(cost)
    }
    return Measurement(workload: workload, answer: answer, cost: .median(of: costs))
  }
}

/// Engines that say different things about the same graph.
struct GraphDisagreement: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
