import Foundation

/// The files of results, in one folder: `log.json` and a plot a shape, and results of other
/// commands.
struct ResultFiles {
  let folder: URL

  /// All of `log.json`; nothing if there is none.
  func measurements() throws -> [Measurement] { try read("log.json") }

  /// Puts results in the place of those of the same engine, workload and records, and leaves the
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

  /// A line an element, so that differences between runs can be read.
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
