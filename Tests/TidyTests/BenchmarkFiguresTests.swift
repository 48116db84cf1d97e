import Foundation
import Testing

/// The tables of Benchmarks/README.md beside what the benchmarks have written into Benchmarks/results.
@Suite("Figures of the benchmarks")
struct BenchmarkFiguresTests {
  /// The lines of README between two marks, each as the cells of its row.
  private func rows(_ mark: String) throws -> [[String]] {
    let text = try Repository.text(of: "Benchmarks/README.md")
    let parts = text.components(separatedBy: "<!-- \(mark) -->")
    let table = try #require(parts.dropFirst().first).components(separatedBy: "<!-- /\(mark) -->")[0]
    return table.split(separator: "\n").map { line in
      line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  private func results<T: Decodable>(_ name: String, _ type: T.Type) throws -> T {
    try JSONDecoder().decode(type, from: Data(Repository.text(of: "Benchmarks/results/\(name)").utf8))
  }

  // MARK: - The archive

  private struct ArchiveResults: Decodable {
    struct Figure: Decodable {
      var engine: String
      var workload: String
      var processor_ms: Double
      var elapsed_ms: Double
    }
    var results: [Figure]
  }

  /// What a row of the table is made of: the workloads that it adds up, or whose best it is.
  private static let archiveRows: [(title: String, workloads: [String], isBest: Bool)] = [
    ("import, all commits", ["import"], false),
    ("import, with finishing and closing", ["import", "finish"], false),
    ("import, with reading the indexes as well", ["read and parse", "import", "finish"], false),
    ("open", ["open"], false),
    ("closure, cold, best way", ["closure cold, "], true),
    ("closure, hot, best way", ["closure hot, "], true),
    ("read everything back", ["read back"], false),
  ]

  @Test("The archive's table is that of archive.json")
  func archive() throws {
    let table = try rows("archive")
    let all = try results("archive.json", ArchiveResults.self).results
    for (title, workloads, isBest) in Self.archiveRows {
      let cells = try #require(table.first { $0.first == title }, "\(title)").dropFirst().compactMap(
        Double.init)
      try #require(cells.count == 6, "\(title)")
      var shown: [(processor: Double, elapsed: Double)] = []
      for engine in ["SQLite", "Perdure"] {
        let found = all.filter { figure in
          figure.engine == engine
            && workloads.contains { isBest ? figure.workload.hasPrefix($0) : figure.workload == $0 }
        }
        let used = isBest ? found.sorted { $0.processor_ms < $1.processor_ms }.prefix(1) : found[...]
        shown.append(
          (used.reduce(0) { $0 + $1.processor_ms }, used.reduce(0) { $0 + $1.elapsed_ms }))
      }
      let expected = [
        shown[0].processor, shown[1].processor, shown[0].processor / shown[1].processor,
        shown[0].elapsed, shown[1].elapsed, shown[0].elapsed / shown[1].elapsed,
      ]
      for (cell, value) in zip(cells, expected) { #expect(abs(cell - value) < 0.06, "\(title): \(cell)") }
    }
  }

  // MARK: - The engine alone

  private struct LogFigure: Decodable {
    var engine: String
    var shape: String
    var ns_per_op: Double
    var cpu_ns_per_op: Double
    var max_ns: Double
  }

  private static func text(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<9_999.5: String(format: "%.0f ns", nanoseconds)
    case ..<9_999_500: String(format: "%.1f µs", nanoseconds / 1e3)
    case ..<9_999_500_000: String(format: "%.1f ms", nanoseconds / 1e6)
    default: String(format: "%.1f s", nanoseconds / 1e9)
    }
  }

  @Test("Every duration in the engine's tables was measured for that engine and those records")
  func log() throws {
    var known: [String: Set<String>] = [:]
    for figure in try results("log.json", [LogFigure].self) {
      known[figure.shape + " " + figure.engine, default: []].formUnion(
        [figure.ns_per_op, figure.cpu_ns_per_op, figure.max_ns].map(Self.text))
    }
    var (shape, engines, checked) = ("", [String](), 0)
    for row in try rows("log") {
      if let name = row.first?.split(separator: "**").first, row.count == 1 { shape = String(name) }
      if row.contains("floor") { engines = row.dropFirst().dropLast().map { String($0) } }
      for (engine, cell) in zip(engines, row.dropFirst()) where cell.hasSuffix("s") && cell != engine {
        #expect(
          known[shape + " " + engine]?.contains(cell) == true, "\(shape), \(row[0]), \(engine): \(cell)")
        checked += 1
      }
    }
    #expect(checked > 300)
  }
}
