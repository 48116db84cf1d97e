import Foundation

/// Runs turns until the time is over, and stores the results of each.
struct TurnRunner {
  let turns: [Turn]
  /// The time limit, in minutes from the start.
  let deadline: Double
  let comparison: Comparison
  let files: ResultFiles?
  /// The measurements of all rounds, by workload, engine, shape and number of records.
  private var rounds: [Measurement.Identity: [Measurement]] = [:]
  private var seconds: [(title: String, seconds: Double)] = []
  private var skipped = 0
  private(set) var failures: [String] = []

  init(turns: [Turn], deadline: Double, comparison: Comparison, files: ResultFiles?) {
    (self.turns, self.deadline, self.comparison, self.files) = (turns, deadline, comparison, files)
  }

  mutating func run() throws {
    let begin = Date()
    for turn in turns {
      let turnBegin = Date()
      guard turnBegin.timeIntervalSince(begin) < deadline * 60 else {
        skipped += 1
        continue
      }
      let outcome = try comparison.run(turn)
      failures += outcome.failures
      let found = outcome.measurements
      for measurement in found { rounds[measurement.identity, default: []].append(measurement) }
      try files?.merge(found.compactMap { Measurement.summary(of: rounds[$0.identity] ?? []) })
      seconds.append((turn.title, Date().timeIntervalSince(turnBegin)))
    }
  }

  /// The summaries of all measurements.
  var results: [Measurement] { rounds.values.compactMap(Measurement.summary(of:)) }

  var tables: [String] {
    ResultTable.all(results, .elapsed).map(\.text)
  }

  /// The duration of each turn, and of all turns together.
  var durations: String {
    let lines = seconds.map { "\($0.title): \(String(format: "%.0f", $0.seconds)) s" }
    let sum = String(format: "%.1f", seconds.reduce(0) { $0 + $1.seconds } / 60)
    let rest = skipped == 0 ? "" : "; out of time for \(skipped) of \(turns.count) turns"
    return (lines + ["In all \(sum) minutes\(rest)."]).joined(separator: "\n")
  }
}

extension Turn {
  fileprivate var title: String {
    "\(part.rawValue), \(plan.shape.rawValue), \(plan.records) records, round \(plan.round + 1)"
  }
}
