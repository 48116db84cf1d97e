import ArgumentParser
import Foundation

/// Runs the same queries and changes on the same graph in each engine.
@main struct GraphBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure a graph of companies, workers and projects in Perdure and in other engines.",
    discussion:
      "All engines must give the same answers and have the same content at the end; otherwise the run fails.")

  @Option(parsing: .upToNextOption, help: "The parts to run: graph, oo7. Without it, both.")
  var parts: [Part] = []

  @Option(help: "The number of workers; each company has a thousand.")
  var workers = 100_000

  @Option(
    parsing: .upToNextOption,
    help: "The numbers of workers of several graphs, which are measured one after the other.")
  var curve: [Int] = []

  @Option(help: "The number of rounds, each with every engine; medians are shown.")
  var rounds = 3

  @Option(help: "The number of runs of each query in a round; medians are shown.")
  var repetitions = 3

  @Option(help: "The factor for the number of queries and changes; 1 is a full run.")
  var scale = 1.0

  @Option(parsing: .upToNextOption, help: "The engines to measure: \(Engines.names). Without it, all.")
  var engines: [String] = []

  @Option(parsing: .upToNextOption, help: "The rows of the table to measure. Without it, all.")
  var workloads: [String] = []

  @Flag(help: "Show processor time instead of elapsed time, for a machine with other work. Files have both.")
  var processor = false

  @Option(help: "A file for the measurements, as JSON.")
  var results: String?

  @Option(help: "An existing folder on the disk to measure; stores are made in it and deleted.")
  var folder: String?

  func validate() throws {
    for count in [workers] + curve
    where count < 2 * GraphData.companySize || count % GraphData.companySize != 0 {
      throw ValidationError(
        "--workers and --curve need multiples of \(GraphData.companySize), at least two of them, not \(count)."
      )
    }
    guard rounds > 0, repetitions > 0, scale > 0, scale.isFinite else {
      throw ValidationError("--rounds and --repetitions must be at least 1, and --scale more than 0.")
    }
    for name in engines where !Engines.all.contains(where: { $0.name == name }) {
      throw ValidationError("Unknown engine \(name). Choose from: \(Engines.names).")
    }
    for name in workloads where Workload(rawValue: name) == nil && DesignWorkload(rawValue: name) == nil {
      let rows = Workload.allCases.map(\.rawValue) + DesignWorkload.allCases.map(\.rawValue)
      throw ValidationError("Unknown row \(name). Choose from: \(rows.joined(separator: ", ")).")
    }
  }

  func run() throws {
    let parent = folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
    var reports: [(report: Report, n: Int)] = []
    if !curve.isEmpty {
      reports = try curve.map { (try graph(parent, of: $0, comparingContent: false), $0) }
      print(Curve(reports).table(processor: processor))
      return try write(reports)
    }
    if measures(.graph, Workload.self) {
      reports.append((try graph(parent, of: workers, comparingContent: true), workers))
    }
    if measures(.oo7, DesignWorkload.self) {
      reports.append((try design(parent), DesignSize.small.atomicCount))
    }
    print(reports.map { $0.report.table(processor: processor) }.joined(separator: "\n\n"))
    try write(reports)
  }

  private func write(_ reports: [(report: Report, n: Int)]) throws {
    if let results { try Report.json(reports).write(to: URL(fileURLWithPath: results)) }
  }

  /// Whether a part is requested, with at least one of its rows.
  private func measures<Row: RawRepresentable<String>>(_ part: Part, _ rows: Row.Type) -> Bool {
    (parts.isEmpty || parts.contains(part))
      && (workloads.isEmpty || workloads.contains { Row(rawValue: $0) != nil })
  }

  /// - Parameter comparingContent: Whether to read the complete content of each engine at the end,
  ///   and to compare it.
  private func graph(_ parent: URL, of workers: Int, comparingContent: Bool) throws -> Report {
    let chosen = Engines.all.filter { engines.isEmpty || engines.contains($0.name) }
    let usual = comparingContent ? Workload.allCases : Curve.rows
    let rows = workloads.isEmpty ? usual : workloads.compactMap(Workload.init)
    let trial = Trial(
      script: Script(data: GraphData(workerCount: workers), scale: scale), repetitions: repetitions,
      workloads: Set(rows), comparesContent: comparingContent, folder: parent)
    let outcomes = try (0..<rounds).flatMap { _ in try chosen.map { try trial.run($0) } }
    return try Report(
      settings: settings(chosen, workers), engines: chosen.map { $0.name },
      rows: Workload.allCases.map(\.rawValue),
      outcomes)
  }

  private func design(_ parent: URL) throws -> Report {
    let chosen = Engines.ofDesigns.filter { engines.isEmpty || engines.contains($0.name) }
    var rows = Set(workloads.isEmpty ? DesignWorkload.allCases : workloads.compactMap(DesignWorkload.init))
    if rows.contains(.delete) { rows.insert(.insert) }
    let trial = DesignTrial(
      design: DesignData(.small), repetitions: repetitions, workloads: rows, folder: parent)
    let outcomes = try (0..<rounds).flatMap { _ in try chosen.map { try trial.run($0) } }
    let text =
      "OO7, small, three connections for each atomic part; SQLite with a cache of objects made by hand"
    return try Report(
      settings: [text], engines: chosen.map { $0.name }, rows: DesignWorkload.allCases.map(\.rawValue),
      outcomes)
  }

  private func settings(_ chosen: [any GraphEngine.Type], _ workers: Int) -> [String] {
    let system = ProcessInfo.processInfo
    return [
      "\(workers) workers, \(system.operatingSystemVersionString), \(system.activeProcessorCount) processors, "
        + "medians of \(rounds) rounds and of \(repetitions) in each",
      "saves survive a crash of the process; in rows named durable, also a power cut",
    ] + chosen.map { "\($0.name): \($0.settings)" }
  }
}

/// The measured engines and workloads.
enum Part: String, ExpressibleByArgument {
  /// Companies, workers and projects.
  case graph
  /// The OO7 benchmark.
  case oo7
}

/// Everything that is measured: Perdure first, the plain classes last.
enum Engines {
  static var all: [any GraphEngine.Type] {
    [
      PerdureGraph.self, SQLGraph<SQLiteAccessByC>.self, SQLGraph<SQLiteAccessByGRDB>.self, RecordGraph.self,
      PlainGraph.self,
    ]
  }

  static var ofDesigns: [any DesignEngine.Type] { [PerdureDesign.self, SQLiteDesign.self, PlainDesign.self] }

  static var names: String { all.map { $0.name }.joined(separator: ", ") }
}
