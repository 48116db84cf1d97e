import Foundation

/// What was measured of all engines, as a table in Markdown and as JSON.
struct Report {
  struct Row {
    var workload: Workload
    /// Nanoseconds of the clock by engine; nil where it was not measured.
    var nanoseconds: [Double?]
    var count: Int
  }

  var settings: [String]
  var engines: [String]
  var rows: [Row]

  init(settings: [String], _ outcomes: [(engine: String, outcome: Trial.Outcome)]) throws {
    self.settings = settings
    engines = outcomes.map(\.engine)
    rows = Workload.allCases.compactMap { workload in
      let found = outcomes.map { $0.outcome.measurements.first { $0.workload == workload } }
      guard let count = found.compactMap({ $0?.answer.count }).first else { return nil }
      return Row(workload: workload, nanoseconds: found.map { $0?.nanoseconds.elapsed }, count: count)
    }
    try Self.compare(outcomes)
  }

  /// Every engine must have found the same, and end with the same.
  private static func compare(_ outcomes: [(engine: String, outcome: Trial.Outcome)]) throws {
    guard let (first, reference) = outcomes.first else { return }
    for (engine, outcome) in outcomes.dropFirst() {
      for measurement in outcome.measurements {
        let expected = reference.measurements.first { $0.workload == measurement.workload }?.answer
        if let expected, expected != measurement.answer {
          let what = measurement.workload.rawValue
          throw GraphDisagreement("\(what): \(first) found \(expected), \(engine) \(measurement.answer)")
        }
      }
      if outcome.content != reference.content {
        throw GraphDisagreement("in the end \(first) holds \(reference.content), \(engine) \(outcome.content)")
      }
    }
  }

  /// In the last column more than 1: Perdure, which comes first, is ahead of the best of the others.
  var table: String {
    let header = ["| | objects | \(engines.joined(separator: " | ")) | ratio |"]
    let rule = ["|---|--:|" + engines.map { _ in "--:|" }.joined() + "--:|"]
    let lines = rows.map { row in
      let figures = row.nanoseconds.map { $0.map(Self.text) ?? "-" }
      let best = row.nanoseconds.dropFirst().compactMap { $0 }.min()
      let ratio = row.nanoseconds[0].flatMap { own in best.map { String(format: "%.2f", $0 / own) } } ?? "-"
      return "| \(row.workload.rawValue) | \(row.count) | \(figures.joined(separator: " | ")) | \(ratio) |"
    }
    return (settings + [""] + header + rule + lines).joined(separator: "\n")
  }

  private static func text(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<1_000: String(format: "%.0f ns", nanoseconds)
    case ..<1_000_000: String(format: "%.2f us", nanoseconds / 1_000)
    default: String(format: "%.2f ms", nanoseconds / 1_000_000)
    }
  }

  func json(n: Int) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let results = rows.flatMap { row in
      zip(engines, row.nanoseconds).compactMap { engine, nanoseconds in
        nanoseconds.map { Figure(engine: engine, workload: row.workload.rawValue, n: n, ns_per_op: ($0 * 10).rounded() / 10) }
      }
    }
    return try encoder.encode(Output(settings: settings, results: results))
  }

  private struct Output: Encodable {
    var settings: [String]
    var results: [Figure]
  }

  private struct Figure: Encodable {
    var engine: String
    var workload: String
    /// Workers in the graph.
    var n: Int
    var ns_per_op: Double
  }
}
