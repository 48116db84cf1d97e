import Foundation
import Testing

/// Compares the tables of README.md, Benchmarks/README.md and docs/decisions with the files in
/// Benchmarks/results.
@Suite("Figures of the benchmarks")
struct BenchmarkFiguresTests {
  /// The cells of each line between two marks of a document.
  private func rows(_ mark: String, in document: String = "Benchmarks/README.md") throws -> [[String]] {
    let text = try Repository.text(of: document)
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

  /// The workloads of each row of the table. A row shows their sum, or the fastest of them if
  /// `isBest`.
  private static let archiveRows: [(title: String, workloads: [String], isBest: Bool)] = [
    ("import, all commits", ["import"], false),
    ("import, with finishing and closing", ["import", "finish"], false),
    ("import, with reading the indexes as well", ["read and parse", "import", "finish"], false),
    ("open", ["open"], false),
    ("closure, cold, best way", ["closure cold, "], true),
    ("closure, hot, best way", ["closure hot, "], true),
    ("read everything back", ["read back"], false),
  ]

  @Test("The archive's table has the figures of archive.json")
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

  // MARK: - Objects

  private struct ObjectResults: Decodable {
    struct Figure: Decodable {
      var name: String
      var plain: Double
      var perdure: Double
      var limit: Double?
    }
    var figures: [Figure]
  }

  @Test("The table of objects has the figures of objects.json")
  func objects() throws {
    let table = try rows("objects").dropFirst(2).map { Array($0) }
    let figures = try results("objects.json", ObjectResults.self).figures
    #expect(table.map(\.first) == figures.map(\.name))
    for (row, figure) in zip(table, figures) {
      let expected = [figure.plain, figure.perdure, figure.limit ?? 0]
      for (cell, value) in zip(row.dropFirst(2), expected) {
        #expect(abs((Double(cell) ?? 0) - value) < 0.06, "\(figure.name): \(cell)")
      }
    }
  }

  // MARK: - Instructions

  private struct InstructionCount: Decodable {
    var operation: String
    var pending: String
    var instructions: Double
  }

  @Test("The tables of instructions have the counts of instructions.json")
  func instructions() throws {
    let counts = try results("instructions.json", [InstructionCount].self)
    var shown = 0
    for mark in ["instructions", "instructions-pending"] {
      let table = try rows(mark)
      let head = try #require(table.first).dropFirst()
      for row in table.dropFirst(2) {
        for (title, cell) in zip(head, row.dropFirst()) {
          let pending = title == "instructions" ? "none" : title
          let count = try #require(
            counts.first { $0.operation == row[0] && $0.pending == pending }, "\(row[0]), \(title)")
          let value = try #require(Double(cell.filter { $0 != "," }), "\(row[0]): \(cell)")
          #expect(abs(value - count.instructions) <= 0.5, "\(row[0]), \(title): \(cell)")
          shown += 1
        }
      }
    }
    #expect(shown == counts.count)
  }

  // MARK: - The engine alone

  private struct LogFigure: Decodable {
    var engine: String
    var shape: String
    var ns_per_op: Double
    var cpu_ns_per_op: Double
    var p9999: Double
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

  private static func isDuration(_ cell: String) -> Bool {
    [" ns", " µs", " ms", " s"].contains { cell.hasSuffix($0) }
  }

  /// The durations of each engine, formatted as in the tables, by shape of the records and engine.
  private func durations() throws -> [String: Set<String>] {
    var known: [String: Set<String>] = [:]
    for figure in try results("log.json", [LogFigure].self) {
      known[figure.shape + " " + figure.engine, default: []].formUnion(
        [figure.ns_per_op, figure.cpu_ns_per_op, figure.p9999, figure.max_ns].map(Self.text))
    }
    return known
  }

  @Test("Every duration in the tables of log.json was measured for its engine and records")
  func log() throws {
    let known = try durations()
    var (shape, engines, checked) = ("", [String](), 0)
    for row in try rows("log") {
      if let name = row.first?.split(separator: "**").first, row.count == 1 { shape = String(name) }
      if row.contains("floor") { engines = row.dropFirst().map { String($0) } }
      for (engine, cell) in zip(engines, row.dropFirst()) where Self.isDuration(cell) {
        #expect(
          known[shape + " " + engine]?.contains(cell) == true, "\(shape), \(row[0]), \(engine): \(cell)")
        checked += 1
      }
    }
    #expect(checked > 300)
  }

  @Test("Every duration in the summary was measured for its engine")
  func summary() throws {
    let known = try durations()
    let table = try rows("summary")
    let engines = try #require(table.first).dropFirst()
    try #require(table.count >= 10)
    for row in table.dropFirst(2) {
      for (engine, cell) in zip(engines, row.dropFirst()) where Self.isDuration(cell) {
        #expect(known["hashed-100 " + engine]?.contains(cell) == true, "\(row[0]), \(engine): \(cell)")
      }
    }
  }

  @Test("In the table of goals, every duration was measured, and every verdict follows from it")
  func goals() throws {
    let known = try durations()
    let ours = known.filter { $0.key.hasSuffix(" Perdure") }.values.reduce(into: Set()) { $0.formUnion($1) }
    let unpacking = try results("compression.json", [CompressionFigure].self).map {
      Self.text($0.unpackNanoseconds)
    }
    let table = try rows("goals").dropFirst(2).filter { $0.count > 1 }
    try #require(table.count > 30)
    for row in table {
      try #require(row.count == 7, "\(row)")
      let (goal, measured, verdict) = (row[3], row[4], row[5])
      #expect((measured == "–") == (verdict == "not measured"), "\(row[0])")
      guard Self.isDuration(measured) else { continue }
      #expect(ours.union(unpacking).contains(measured), "\(row[0]): \(measured)")
      // Different durations may be rounded to the same text.
      guard measured != goal else { continue }
      #expect((verdict == "met") == (Self.nanoseconds(measured) <= Self.nanoseconds(goal)), "\(row[0])")
    }
    let ratios = table.map { $0[6] }.filter { $0 != "–" }
    let ahead = ratios.count { $0.hasPrefix("**") }
    let text = try Repository.text(of: "Benchmarks/README.md")
    #expect(
      text.contains("Perdure is at least as good as the best peer in \(ahead) of the \(ratios.count) rows"))
  }

  private static func nanoseconds(_ cell: String) -> Double {
    let parts = cell.split(separator: " ")
    let unit = ["ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9][parts.last.map(String.init) ?? ""] ?? .nan
    return (parts.first.flatMap { Double($0) } ?? .nan) * unit
  }

  // MARK: - The graph

  private struct GraphResults: Decodable {
    struct Figure: Decodable {
      var engine: String
      var workload: String
      var ns_per_op: Double
      var processor_ns_per_op: Double
    }
    var results: [Figure]
  }

  @Test("The graph's tables have the processor times or the elapsed times of graph.json")
  func graph() throws {
    let all = try results("graph.json", GraphResults.self).results
    var shown = 0
    let isProcessor = try Repository.text(of: "Benchmarks/README.md").contains("<!-- processor -->")
    for mark in ["graph", "oo7"] {
      let table = try rows(mark)
      let engines = try #require(table.first).dropFirst(2).dropLast(2)
      for row in table.dropFirst(2) {
        try #require(row.count == engines.count + 4, "\(row)")
        for (engine, cell) in zip(engines, row.dropFirst(2)) where cell != "–" {
          let figure = try #require(
            all.first { $0.engine == engine && $0.workload == row[0] }, "\(engine), \(row[0])")
          let value = isProcessor ? figure.processor_ns_per_op : figure.ns_per_op
          #expect(abs(Self.nanoseconds(cell) - value) <= value / 100 + 0.5, "\(engine), \(row[0]): \(cell)")
          shown += 1
        }
      }
    }
    #expect(shown == all.count)
  }

  @Test("The graph's table in README.md is that of Benchmarks/README.md without the column of plain classes")
  func graphSummary() throws {
    let whole = try rows("graph").map { row in row.count == 9 ? Array(row[..<6]) + row[7...] : row }
    let shown = try rows("graph-summary", in: "README.md")
    #expect(shown == whole)
    #expect(shown.count == 30)
  }

  // MARK: - Compression and opening

  private struct CompressionFigure: Decodable {
    var kind: String
    var mode: String
    var valueBytes: Double
    var ratio: Double
    var logBytesPerRecord: Double
    var writeNanoseconds: Double
    var readNanoseconds: Double
    var unpackNanoseconds: Double
  }

  @Test(
    "The compression tables of Benchmarks/README.md and decision D11 have the figures of compression.json")
  func compression() throws {
    let figures = try results("compression.json", [CompressionFigure].self)
    try #require(figures.count == 12)
    for document in ["Benchmarks/README.md", "docs/decisions/0011-compression-with-dictionaries.md"] {
      let table = try rows("compression", in: document).dropFirst(2)
      for (row, figure) in zip(table, figures) {
        let whole = [
          figure.logBytesPerRecord, figure.writeNanoseconds, figure.readNanoseconds, figure.unpackNanoseconds,
        ].map { String(format: "%.0f", $0) }
        let expected =
          ["\(figure.kind), \(figure.mode)", String(format: "%.0f", figure.valueBytes)]
          + [String(format: "%.2f", figure.ratio)] + whole
        let last = figure.mode == "uncompressed" ? expected.dropLast() + ["–"] : expected
        #expect(row == last, "\(document)")
      }
      #expect(table.count == figures.count, "\(document)")
    }
  }

  private struct OpeningFigure: Decodable {
    var shape: String
    var what: String
    var value: Double
    var isTime: Bool
  }

  @Test("The opening tables of Benchmarks/README.md and decision D1 have the figures of opening.json")
  func opening() throws {
    let figures = try results("opening.json", [OpeningFigure].self)
    for document in ["Benchmarks/README.md", "docs/decisions/0001-copy-on-write-index-trees.md"] {
      let table = try rows("opening", in: document)
      for figure in figures {
        let row = try #require(table.first { $0.first == figure.what }, "\(document): \(figure.what)")
        let text = String(format: figure.isTime ? "%.2f ms" : "%.2f", figure.value)
        #expect(row.contains(text), "\(document), \(figure.shape), \(figure.what): \(text)")
      }
      #expect(figures.count == 2 * (table.count - 2), "\(document)")
    }
  }

  private struct BackupFigure: Decodable {
    var commit: String
    var writers: Int
    var isBesideBackup: Bool
    var p50: Double
    var p99: Double
    var p999: Double
  }

  @Test("The backup tables of Benchmarks/README.md and decision D19 have the figures of backup.json")
  func backup() throws {
    let figures = try results("backup.json", [BackupFigure].self)
    let expected = try figures.filter { !$0.isBesideBackup }.flatMap { alone in
      let beside = try #require(
        figures.first { $0.isBesideBackup && $0.commit == alone.commit && $0.writers == alone.writers })
      let threads = alone.writers == 1 ? "1 thread" : "\(alone.writers) threads"
      let percentiles = [("p50", \BackupFigure.p50), ("p99", \.p99), ("p99.9", \.p999)]
      return percentiles.map { name, path in
        [
          "\(threads), \(alone.commit), \(name)", Self.text(alone[keyPath: path]),
          Self.text(beside[keyPath: path]),
          String(format: "%.2f", beside[keyPath: path] / alone[keyPath: path]),
        ]
      }
    }
    try #require(!expected.isEmpty)
    for document in ["Benchmarks/README.md", "docs/decisions/0019-backups-of-one-commit.md"] {
      #expect(try rows("backup", in: document).dropFirst(2) == expected[...], "\(document)")
    }
  }
}
