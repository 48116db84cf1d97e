import ArgumentParser
import Foundation

/// Runs all parts, and writes the results to files.
struct CompareCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Run the workloads on all engines in turn.",
    discussion: """
      Every engine does the same operations on the same records, must read the same values, and must end in the \
      same state. If an engine does not, the run fails at its end, and has no results of that engine. With all \
      engines, commits that are not durable survive kill -9. The results are written to log.json as soon as they \
      are measured. They replace those of the same engine, workload and records.
      """)

  @Flag(help: "Few records and one round: tests the program, not its speed. Writes nothing.")
  var quick = false

  @Option(parsing: .upToNextOption, help: "The parts to run: \(Self.list(Part.allCases)).")
  var parts = Part.allCases

  @Option(help: "The number of records of 100 bytes; a quarter of it for records of 1 KiB.")
  var records: Int?

  @Option(
    help: "The maximum number of operations of a workload on single records; half of it for records of 1 KiB."
  )
  var operations: Int?

  @Option(help: "The number of commits with one durable writer; twice as many with eight writers.")
  var durableCommits: Int?

  @Option(help: "Records of the part \"large\"; 100 million take 60 GB of disk. 0: none.")
  var largeRecords: Int?

  @Option(help: "The number of runs of the part \"main\"; medians are shown.")
  var rounds: Int?

  @Option(help: "The number of minutes after which no new group of trials begins.")
  var minutes = Double.infinity

  @Option(parsing: .upToNextOption, help: "The records to use: \(Self.list(Shape.allCases)).")
  var shapes = Shape.allCases

  @Option(
    parsing: .upToNextOption,
    help: "The engines: \(Self.list(EngineName.allCases)). Default: those that are fast enough for the part.")
  var engines: [EngineName] = []

  @Option(parsing: .upToNextOption, help: "The workloads to run: \(Self.list(Workload.allCases)).")
  var workloads = Workload.allCases

  @Option(help: "An existing folder on the disk to measure.")
  var folder: String?

  @Option(help: "The folder for log.json and plots. Default: none, no file is written.")
  var output: String?

  func validate() throws {
    let counts = [records ?? 100, operations ?? 100, durableCommits ?? 100, rounds ?? 1]
    guard counts.allSatisfy({ $0 > 0 }), (records ?? 1000) >= 1000 else {
      throw ValidationError("--records must be at least 1000; the other counts must be at least 1.")
    }
    guard largeRecords ?? 0 == 0 || (largeRecords ?? 0) >= 1000 else {
      throw ValidationError("--large-records must be 0 or at least 1000.")
    }
  }

  func run() throws {
    let known = engines.isEmpty ? EngineName.allCases : engines
    for engine in known {
      let (title, settings) = try engine.description
      print("\(title): \(settings)")
    }
    var runner = TurnRunner(
      turns: schedule.turns, deadline: minutes, comparison: comparison,
      files: quick ? nil : output.map { ResultFiles(folder: URL(fileURLWithPath: $0)) })
    try runner.run()
    for text in runner.tables { print("\n" + text) }
    print("\n" + runner.durations)
    guard runner.failures.isEmpty else { throw EngineError(runner.failures.joined(separator: "\n")) }
  }

  var schedule: Schedule {
    Schedule(
      parts: parts, shapes: shapes, workloads: workloads, engines: engines.isEmpty ? nil : engines,
      records: records ?? (quick ? 4_000 : 1_000_000),
      largeRecords: largeRecords ?? (quick ? 8_000 : 10_000_000),
      operations: operations ?? (quick ? 2_000 : 100_000),
      durableCommits: durableCommits ?? (quick ? 50 : 1_000), rounds: rounds ?? (quick ? 1 : 3))
  }

  private var comparison: Comparison {
    Comparison(
      folder: folder.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory,
      progress: { line in FileHandle.standardError.write(Data((line + "\n").utf8)) })
  }

  private static func list<Values: Sequence>(_ values: Values) -> String
  where Values.Element: RawRepresentable<String> {
    values.map(\.rawValue).joined(separator: ", ")
  }
}
