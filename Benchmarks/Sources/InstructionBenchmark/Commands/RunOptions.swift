import ArgumentParser
import Foundation

/// The options of commands that count.
struct RunOptions: ParsableArguments {
  @Option(help: "The number of processes at a time. It does not change the counts.")
  var jobs = ProcessInfo.processInfo.activeProcessorCount

  @Option(help: "Count only rows whose title contains this text.")
  var only: String?

  @Flag(help: "Print each row when it is counted.")
  var verbose = false

  func validate() throws {
    guard jobs > 0 else { throw ValidationError("--jobs must be at least 1.") }
    if scenarios.isEmpty { throw ValidationError("No row contains the text of --only.") }
  }

  var scenarios: [Scenario] { Scenario.all.filter { isWanted($0.title) } }

  func isWanted(_ title: String) -> Bool { only.map { title.contains($0) } ?? true }

  /// Counts the wanted rows.
  func table() throws -> CountTable {
    let isVerbose = verbose
    let run = CountingRun(jobs: jobs) { line in
      if isVerbose { FileHandle.standardError.write(Data((line + "\n").utf8)) }
    }
    return CountTable(rows: try run.rows(scenarios))
  }
}
