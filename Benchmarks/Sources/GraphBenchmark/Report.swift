import Foundation
import Measuring

/// The results of all engines, as a table in Markdown and as JSON.
struct Report {
  struct Row {
    var name: String
    var count: Int
    /// The figures by engine; nil if not measured.
    var figures: [(elapsed: Double, processor: Double)?]
  }

  var settings: [String]
  var engines: [String]
  var rows: [Row]
  /// The space of each engine's store after the insertion, in bytes.
  var diskBytes: [(engine: String, count: Int)]

  /// - Parameters:
  ///   - names: The rows, in order. Rows without a measurement are omitted.
  ///   - outcomes: One outcome for each engine and round. The report uses the medians of the
  ///     rounds.
  /// - Throws: `GraphDisagreement` if the results or the final contents of engines differ.
  init(settings: [String], engines: [String], rows names: [String], _ outcomes: [Outcome]) throws {
    self.settings = settings
    self.engines = engines
    try Self.compare(outcomes)
    diskBytes = engines.compactMap { engine in
      outcomes.last { $0.engine == engine }?.diskBytes.map { (engine, $0) }
    }
    rows = names.compactMap { name in
      let found = engines.map { engine in
        outcomes.filter { $0.engine == engine }
          .flatMap { $0.measurements.filter { $0.row == name } }
      }
      guard let count = found.joined().first?.answer.count else { return nil }
      return Row(name: name, count: count, figures: found.map(Self.median))
    }
  }

  private static func median(of measurements: [Measurement]) -> (elapsed: Double, processor: Double)? {
    guard var middle = measurements.first else { return nil }
    middle.cost = .median(of: measurements.map(\.cost))
    return middle.nanoseconds
  }

  private static func compare(_ outcomes: [Outcome]) throws {
    guard let first = outcomes.first else { return }
    for other in outcomes.dropFirst() {
      for measurement in other.measurements {
        let expected = first.measurements.first { $0.row == measurement.row }?.answer
        if let expected, expected != measurement.answer {
          throw GraphDisagreement(
            "\(measurement.row): \(first.engine) found \(expected), \(other.engine) \(measurement.answer)")
        }
      }
    }
    for other in outcomes where other.content != first.content {
      throw GraphDisagreement(
        "at the end \(first.engine) has \(first.content), \(other.engine) \(other.content)")
    }
  }

  /// The table. Perdure is the first engine. The last two columns compare Perdure with the best
  /// other engine, by elapsed time and by processor time. A value greater than 1 means that Perdure
  /// is better. The plain classes are the last column of figures. They store nothing, so they are
  /// not compared.
  func table(processor: Bool) -> String {
    let ratios = "best other / Perdure | by processor time"
    let header = "| | objects | \(engines.joined(separator: " | ")) | \(ratios) |"
    let rule = "|---|--:|" + String(repeating: "--:|", count: engines.count + 2)
    let lines = rows.map { row in
      let (elapsed, used) = (row.figures.map { $0?.elapsed }, row.figures.map { $0?.processor })
      let cells =
        (processor ? used : elapsed).map { $0.map(Self.text) ?? "–" } + [ratio(elapsed), ratio(used)]
      return "| \(row.name) | \(row.count) | \(cells.joined(separator: " | ")) |"
    }
    return (settings + diskLines + ["", header, rule] + lines).joined(separator: "\n")
  }

  private var diskLines: [String] {
    if diskBytes.isEmpty { return [] }
    let texts = diskBytes.map { String(format: "%@ %.1f MB", $0.engine, Double($0.count) / 1e6) }
    return ["size on disk after the insertion, with the store closed: \(texts.joined(separator: ", "))"]
  }

  private func ratio(_ figures: [Double?]) -> String {
    let peers = zip(engines, figures).filter { $0.0 != PerdureGraph.name && $0.0 != PlainGraph.name }
    guard let own = zip(engines, figures).first(where: { $0.0 == PerdureGraph.name })?.1,
      let best = peers.compactMap(\.1).min()
    else { return "–" }
    return Self.ratio(best, to: own)
  }

  static func ratio(_ figure: Double, to other: Double) -> String { String(format: "%.2f", figure / other) }

  static func text(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<1_000: String(format: "%.0f ns", nanoseconds)
    case ..<1_000_000: String(format: "%.2f µs", nanoseconds / 1_000)
    default: String(format: "%.2f ms", nanoseconds / 1_000_000)
    }
  }

  /// The figures of several reports, with the settings of their measurement.
  static func json(_ reports: [(report: Report, n: Int)]) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let settings = reports.flatMap(\.report.settings)
    let results = reports.flatMap { $0.report.results(n: $0.n) }
    return try encoder.encode(Output(settings: settings, results: results)) + Data("\n".utf8)
  }

  private func results(n: Int) -> [Figure] {
    rows.flatMap { row in
      zip(engines, row.figures).compactMap { engine, figure in
        figure.map {
          Figure(
            engine: engine, workload: row.name, n: n, ns_per_op: Self.rounded($0.elapsed),
            processor_ns_per_op: Self.rounded($0.processor))
        }
      }
    }
  }

  private static func rounded(_ number: Double) -> Double { (number * 10).rounded() / 10 }

  private struct Output: Encodable {
    var settings: [String]
    var results: [Figure]
  }

  private struct Figure: Encodable {
    var engine: String
    var workload: String
    /// The number of workers in the graph, or of atomic parts in the design.
    var n: Int
    var ns_per_op: Double
    var processor_ns_per_op: Double
  }
}
