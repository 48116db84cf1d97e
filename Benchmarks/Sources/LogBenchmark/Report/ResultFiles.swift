import Foundation

/// What is kept of a run: `log.json` and a plot a shape.
struct ResultFiles {
  let folder: URL

  func write(_ measurements: [Measurement]) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let places = Dictionary(
      uniqueKeysWithValues: Workload.allCases.map(\.rawValue).enumerated().map { ($1, $0) })
    let sorted = measurements.sorted { a, b in
      (a.shape, a.n, places[a.workload] ?? 0, a.engine) < (b.shape, b.n, places[b.workload] ?? 0, b.engine)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    // A line a result, so that differences between runs can be read.
    let lines = try sorted.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
    let text = "[\n" + lines.joined(separator: ",\n") + "\n]\n"
    try Data(text.utf8).write(to: folder.appendingPathComponent("log.json"))
    for (shape, rows) in Dictionary(grouping: sorted, by: \.shape) {
      let usual = rows.filter { $0.n < 5_000_000 }
      let plot = LogPlot(title: shape, usual)
      try Data(plot.svg.utf8).write(to: folder.appendingPathComponent("log-\(shape).svg"))
    }
  }
}
