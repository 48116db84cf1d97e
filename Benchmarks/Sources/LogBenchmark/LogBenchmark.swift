import ArgumentParser
import Foundation

@main struct LogBenchmark: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "LogBenchmark", abstract: "PerdureLog beside other key-value stores, on the same work.",
    subcommands: [CompareCommand.self, TrialCommand.self, ReopenCommand.self],
    defaultSubcommand: CompareCommand.self)
}

/// Runs everything and writes it down.
struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Run the workloads on all engines in turn.",
    discussion: """
      Every engine does the same operations on the same records, and must read the same and end in the same \
      state; the run fails if one does not. What is not durable survives kill -9 with all engines.
      """)

  @Flag(help: "Few records and one round: whether it works, not how fast.")
  var quick = false

  @Option(help: "Records of 100 bytes; of 1 KiB a quarter of it.")
  var records: Int?

  @Option(help: "The most operations of a workload that works on single records.")
  var operations: Int?

  @Option(help: "Commits of the row with one durable writer; eight writers do four times as many.")
  var durableCommits: Int?

  @Option(help: "Records for opening and memory; 0: none.")
  var largeRecords: Int?

  @Option(help: "How often everything is run; medians are shown.")
  var rounds: Int?

  @Option(parsing: .upToNextOption, help: "Which records: \(Self.list(Shape.allCases)).")
  var shapes = Shape.allCases

  @Option(parsing: .upToNextOption, help: "Which engines: \(Self.list(EngineName.allCases)).")
  var engines = EngineName.allCases

  @Option(parsing: .upToNextOption, help: "Which workloads: \(Self.list(Workload.allCases)).")
  var workloads = Workload.allCases

  @Option(help: "An existing folder on the disk to measure.")
  var folder: String?

  @Option(help: "Where log.json and plots go, unless --quick. Default: nowhere.")
  var output: String?

  func validate() throws {
    let counts = [records ?? 100, operations ?? 100, durableCommits ?? 100, rounds ?? 1]
    guard counts.allSatisfy({ $0 > 0 }), (records ?? 1000) >= 1000 else {
      throw ValidationError("--records is at least 1000; the other counts at least 1.")
    }
  }

  func run() throws {
    for engine in engines {
      let (title, settings) = try engine.description
      print("\(title): \(settings)")
    }
    var results: [Measurement] = []
    let work =
      plans.map { (plan: $0, rounds: rounds ?? (quick ? 1 : 3)) } + largePlans.map { (plan: $0, rounds: 1) }
    for (plan, rounds) in work {
      let found = try comparison(rounds: rounds).run(plan)
      for time in [ResultTable.Time.elapsed, .processor] {
        print("\n" + ResultTable(shape: plan.shape, records: plan.records, time, found).text)
      }
      results += found
    }
    if let output, !quick { try ResultFiles(folder: URL(fileURLWithPath: output)).write(results) }
  }

  private var plans: [TrialPlan] {
    let count = records ?? (quick ? 4_000 : 1_000_000)
    return shapes.map { shape in
      TrialPlan(
        shape: shape, records: shape.recordCount(forSmallValues: count),
        operations: operations ?? (quick ? 2_000 : 200_000),
        durableCommits: durableCommits ?? (quick ? 100 : 2_000),
        workloads: workloads, round: 0)
    }
  }

  private var largePlans: [TrialPlan] {
    let count = largeRecords ?? (quick ? 0 : 10_000_000)
    return shapes.filter { count > 0 && $0.valueLength == 100 }.map { shape in
      TrialPlan(
        shape: shape, records: count, operations: 200_000, durableCommits: 1,
        workloads: [.fillRandom1000, .readRandom, .openAfterKill, .openClean].filter(workloads.contains),
        round: 0)
    }
  }

  private func comparison(rounds: Int) -> Comparison {
    Comparison(
      engines: engines, rounds: rounds,
      folder: folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory,
      progress: { line in FileHandle.standardError.write(Data((line + "\n").utf8)) })
  }

  private static func list<Values: Sequence>(_ values: Values) -> String
  where Values.Element: RawRepresentable<String> {
    values.map(\.rawValue).joined(separator: ", ")
  }
}
