import Foundation

/// A plot as SVG with a line for each workload and a dot for each engine, on a logarithmic scale of
/// time.
struct LogPlot {
  private let title: String
  private let rows: [(workload: Workload, values: [(engine: String, nanoseconds: Double)])]

  private static let colors = ["#999999", "#d62728", "#1f77b4", "#17becf", "#2ca02c", "#9467bd", "#ff7f0e"]
  private static let left = 300.0
  private static let width = 640.0
  private static let rowHeight = 24.0
  private static let top = 70.0

  init(title: String, _ measurements: [Measurement]) {
    self.title = title
    rows = Workload.allCases.compactMap { workload in
      let found = measurements.filter { $0.workload == workload.rawValue && $0.nsPerOp > 0 }
      return found.isEmpty ? nil : (workload, found.map { ($0.engine, $0.nsPerOp) })
    }
  }

  var svg: String {
    let height = Self.top + Double(rows.count) * Self.rowHeight + 30
    let size = "width=\"\(Self.text(Self.left + Self.width + 30))\" height=\"\(Self.text(height))\""
    let lines =
      ["<svg xmlns=\"http://www.w3.org/2000/svg\" \(size) font-family=\"sans-serif\" font-size=\"12\">"]
      + ["<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"]
      + ["<text x=\"10\" y=\"20\" font-size=\"15\">\(title): time per operation (left is better)</text>"]
      + legend + grid(height) + rows.enumerated().flatMap { row($1, at: $0) } + ["</svg>", ""]
    return lines.joined(separator: "\n")
  }

  /// The range of powers of ten that contains all values.
  private var decades: ClosedRange<Int> {
    let all = rows.flatMap { $0.values.map(\.nanoseconds) }
    let lower = Int(log10(all.min() ?? 1).rounded(.down))
    let upper = Int(log10(all.max() ?? 10).rounded(.up))
    return lower...max(upper, lower + 1)
  }

  private func x(_ nanoseconds: Double) -> Double {
    let share = (log10(nanoseconds) - Double(decades.lowerBound)) / Double(decades.count - 1)
    return Self.left + share * Self.width
  }

  private var legend: [String] {
    ResultTable.order.enumerated().flatMap { index, engine in
      let x = 20 + Double(index) * 130
      return [
        "<circle cx=\"\(Self.text(x))\" cy=\"40\" r=\"5\" fill=\"\(Self.colors[index])\"/>",
        "<text x=\"\(Self.text(x + 10))\" y=\"44\">\(engine)</text>",
      ]
    }
  }

  private func grid(_ height: Double) -> [String] {
    decades.flatMap { decade in
      let place = Self.text(x(pow(10, Double(decade))))
      let (begin, end) = (Self.text(Self.top - 8), Self.text(height - 30))
      let line = "<line x1=\"\(place)\" x2=\"\(place)\" y1=\"\(begin)\" y2=\"\(end)\" stroke=\"#dddddd\"/>"
      let label = "<text x=\"\(place)\" y=\"\(Self.text(height - 12))\" text-anchor=\"middle\">"
      return [line, label + Self.unit(decade) + "</text>"]
    }
  }

  private func row(
    _ row: (workload: Workload, values: [(engine: String, nanoseconds: Double)]), at index: Int
  ) -> [String] {
    let y = Self.top + Double(index) * Self.rowHeight + 8
    let label = "<text x=\"\(Self.text(Self.left - 10))\" y=\"\(Self.text(y + 4))\" text-anchor=\"end\">"
    // Perdure is drawn last, so that its dot covers the others.
    let values = row.values.sorted { a, _ in a.engine != PerdureEngine.name }
    return [label + row.workload.title + "</text>"] + values.map { dot($0.nanoseconds, y, engine: $0.engine) }
  }

  private func dot(_ nanoseconds: Double, _ y: Double, engine: String) -> String {
    let color = Self.colors[ResultTable.order.firstIndex(of: engine) ?? 0]
    let place = "cx=\"\(Self.text(x(nanoseconds)))\" cy=\"\(Self.text(y))\""
    return "<circle \(place) r=\"5\" fill=\"\(color)\" fill-opacity=\"0.8\"/>"
  }

  private static func unit(_ decade: Int) -> String {
    let names = [
      "1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s",
    ]
    return names.indices.contains(decade) ? names[decade] : "10^\(decade) ns"
  }

  private static func text(_ number: Double) -> String { String(format: "%.1f", number) }
}
