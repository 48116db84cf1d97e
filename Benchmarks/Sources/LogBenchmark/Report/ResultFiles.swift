import Foundation
import Measuring

/// The result files in one folder: `log.json`, a plot for each shape, and the results of other
/// commands.
struct ResultFiles {
  let folder: URL

  /// All measurements in `log.json`; empty if it does not exist.
  func measurements() throws -> [Measurement] { try read("log.json") }

  /// Replaces results of the same engine, workload, shape and number of records, and keeps the
  /// others.
  func merge(_ measurements: [Measurement]) throws {
    var all: [Measurement.Identity: Measurement] = [:]
    for measurement in try self.measurements() + measurements { all[measurement.identity] = measurement }
    let sorted = Self.sorted(Array(all.values))
    try write(sorted, to: "log.json")
    let plots = Dictionary(grouping: sorted.filter { $0.n < ResultTable.largeCount }, by: \.shape)
    for (shape, rows) in plots {
      let plot = LogPlot(title: shape, rows)
      try Data(plot.svg.utf8).write(to: folder.appendingPathComponent("log-\(shape).svg"))
    }
  }

  func read<Element: Decodable>(_ name: String) throws -> [Element] {
    let file = folder.appendingPathComponent(name)
    guard FileManager.default.fileExists(atPath: file.path) else { return [] }
    return try JSONDecoder().decode([Element].self, from: Data(contentsOf: file))
  }

  /// The figures of objects, which ObjectBenchmark writes; nil if there are none.
  func objectReport() throws -> ObjectReport? {
    let file = folder.appendingPathComponent("objects.json")
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    return try JSONDecoder().decode(ObjectReport.self, from: Data(contentsOf: file))
  }

  /// Writes each element on its own line, so that differences between runs are readable.
  func write(_ elements: [some Encodable], to name: String) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let lines = try elements.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
    let text = "[\n" + lines.joined(separator: ",\n") + "\n]\n"
    try Data(text.utf8).write(to: folder.appendingPathComponent(name))
  }

  static func sorted(_ measurements: [Measurement]) -> [Measurement] {
    let places = Dictionary(
      uniqueKeysWithValues: Workload.allCases.map(\.rawValue).enumerated().map { ($1, $0) })
    return measurements.sorted { a, b in
      (a.shape, a.n, places[a.workload] ?? 0, a.engine) < (b.shape, b.n, places[b.workload] ?? 0, b.engine)
    }
  }
}
