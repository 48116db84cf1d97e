import ArgumentParser
import Foundation

/// Gives each engine the same graph, the same questions and the same changes.
@main struct GraphBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure a graph of companies, workers and projects in Perdure beside SQLite.",
    discussion: "Every answer, and what each engine holds in the end, must be the same; otherwise the run fails.")

  @Option(help: "How many workers there are; a thousand in a company.")
  var workers = 100_000

  @Option(help: "How often each question is asked; the median counts.")
  var rounds = 3

  @Option(help: "How much is asked and changed, as a part of a full run.")
  var scale = 1.0

  @Option(help: "A file to write what was measured to, as JSON.")
  var results: String?

  @Option(help: "An existing folder on the disk to measure; stores are made in it and deleted.")
  var folder: String?

  func validate() throws {
    guard workers >= 2 * GraphData.companySize, workers % GraphData.companySize == 0 else {
      throw ValidationError("--workers is a multiple of \(GraphData.companySize), from two of them on.")
    }
    guard rounds > 0, scale > 0, scale.isFinite else {
      throw ValidationError("--rounds is at least 1, and --scale above 0.")
    }
  }

  func run() throws {
    let parent = folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    let script = Script(data: GraphData(workerCount: workers), scale: scale)
    let trial = Trial(script: script, rounds: rounds, folder: parent)
    let report = try Report(
      settings: settings,
      [
        (PerdureGraph.name, try trial.run(PerdureGraph.self)),
        (SQLiteGraph.name, try trial.run(SQLiteGraph.self)),
      ])
    print(report.table)
    if let results { try report.json(n: workers).write(to: URL(fileURLWithPath: results)) }
  }

  private var settings: [String] {
    let system = ProcessInfo.processInfo
    return [
      "\(workers) workers, \(system.operatingSystemVersionString), \(system.activeProcessorCount) processors, medians of \(rounds)",
      "saves survive a crash of the process, unless a row says durable; the clock on the wall",
      "\(PerdureGraph.name): \(PerdureGraph.settings)", "\(SQLiteGraph.name): \(SQLiteGraph.settings)",
    ]
  }
}
