/// The cost per object as a function of the graph's size: the same queries and changes in graphs of
/// several sizes.
struct Curve {
  /// The workloads that use a few objects, regardless of the graph's size, and the insertion of all
  /// objects.
  static let rows: [Workload] = [
    .insert, .getByID, .getByEmail, .fetchEqual, .managers, .sortIndexed, .updateEach, .moveWorker,
    .deleteWorker, .open,
  ]

  private let sizes: [Int]
  private let reports: [Report]

  /// - Parameter reports: Reports with the same engines, and the number of workers of each graph.
  init(_ reports: [(report: Report, n: Int)]) {
    sizes = reports.map(\.n)
    self.reports = reports.map(\.report)
  }

  /// A line for each row and engine, with a column for each size. The last column is the figure of
  /// the largest graph divided by that of the smallest graph.
  func table(processor: Bool) -> String {
    guard let first = reports.first else { return "" }
    let header = "| | engine | \(sizes.map(String.init).joined(separator: " | ")) | last / first |"
    let rule = "|---|---|" + String(repeating: "--:|", count: sizes.count + 1)
    let lines = first.rows.flatMap { row in
      first.engines.indices.compactMap { engine in line(row.name, engine, processor: processor) }
    }
    return (first.settings.dropFirst() + ["", header, rule] + lines).joined(separator: "\n")
  }

  private func line(_ name: String, _ engine: Int, processor: Bool) -> String? {
    let figures = reports.map { report in
      report.rows.first { $0.name == name }.flatMap { $0.figures[engine] }
        .map { processor ? $0.processor : $0.elapsed }
    }
    guard let smallest = figures.first ?? nil, let largest = figures.last ?? nil else { return nil }
    let cells = figures.map { $0.map(Report.text) ?? "–" } + [Report.ratio(largest, to: smallest)]
    return "| \(name) | \(reports[0].engines[engine]) | \(cells.joined(separator: " | ")) |"
  }
}
