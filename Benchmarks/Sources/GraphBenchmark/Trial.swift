import Foundation
import Measuring

/// The result of one engine in one row of the table.
struct Measurement {
  var row: String
  /// Whether figures are per object. Otherwise each figure is for the whole workload.
  var isPerObject: Bool
  var answer: Answer
  /// Elapsed time, and processor time of the process.
  var cost: Cost

  /// The time per object, or for the whole workload.
  var nanoseconds: (elapsed: Double, processor: Double) {
    let divisor = isPerObject ? Double(max(1, answer.count)) : 1
    return (cost.seconds * 1e9 / divisor, cost.processorSeconds * 1e9 / divisor)
  }
}

/// The results of one engine in all rows, and its content at the end.
struct Outcome {
  var engine: String
  var measurements: [Measurement]
  var content: Answer
  /// The space of the closed store after the insertion, as the file system reports it; nil for
  /// engines without a store.
  var diskBytes: Int?
}

/// Runs the workloads on an engine, beginning with an empty folder.
struct Trial {
  let script: Script
  /// The number of repetitions of each query. The result is the median.
  let repetitions: Int
  /// The workloads to run. The graph is always inserted.
  let workloads: Set<Workload>
  /// Whether the complete content is read at the end, for comparison between engines.
  let comparesContent: Bool
  let folder: URL

  func run<Engine: GraphEngine>(_ type: Engine.Type) throws -> Outcome {
    let place = try TrialFolder(in: folder)
    defer { place.remove() }
    let engine = try type.init(folder: place.url, data: script.data)
    try engine.open(.process)
    var measurements = [try measure(engine, .insert)]
    // Queries use a store that was opened again after the insertion.
    try engine.close()
    let diskBytes = place.allocatedBytes
    try engine.open(.process)
    for workload in Workload.allCases.dropFirst() where workloads.contains(workload) {
      if Engine.workloads.contains(workload) {
        measurements.append(try measure(engine, workload))
      } else if workload.isChange {
        // The change is still made, so that all engines end with the same content.
        _ = try engine.perform(workload, script)
      }
    }
    let content = try comparesContent ? engine.content() : Answer()
    try engine.close()
    return Outcome(
      engine: Engine.name, measurements: measurements, content: content,
      diskBytes: diskBytes > 0 ? diskBytes : nil)
  }

  private func reopen(_ engine: some GraphEngine, _ durability: SaveDurability) throws {
    try engine.close()
    try engine.open(durability)
  }

  private func measure(_ engine: some GraphEngine, _ workload: Workload) throws -> Measurement {
    if workload == .updateEachDurable { try reopen(engine, .power) }
    if workload == .open { try engine.close() }
    var costs: [Cost] = []
    var answer = Answer()
    for round in 0..<(workload.isQuestion ? repetitions : 1) {
      try engine.prepare(workload, script)
      Idle.wait()
      let (found, cost) = try Cost.measured { try engine.perform(workload, script) }
      if round > 0, found != answer {
        throw GraphDisagreement(
          "\(type(of: engine).name): \(workload.rawValue) gives different answers in repeated runs")
      }
      answer = found
      costs.append(cost)
    }
    if workload == .updateEachDurable { try reopen(engine, .process) }
    if workload == .close { try engine.open(.process) }
    return Measurement(
      row: workload.rawValue, isPerObject: workload.isPerObject, answer: answer, cost: .median(of: costs))
  }
}

/// A folder for one store.
struct TrialFolder {
  let url: URL

  init(in folder: URL) throws {
    url = folder.appendingPathComponent("graph-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
  }

  /// The space that the files in the folder take, as the file system reports it.
  var allocatedBytes: Int {
    let files = FileManager.default.enumerator(at: url, includingPropertiesForKeys: nil)
    return (files?.allObjects as? [URL] ?? []).reduce(0) { total, file in
      var status = stat()
      return lstat(file.path, &status) == 0 ? total + Int(status.st_blocks) * 512 : total
    }
  }

  /// Removes the folder, if possible.
  func remove() { try? FileManager.default.removeItem(at: url) }
}

/// Engines have different results for the same graph.
struct GraphDisagreement: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
