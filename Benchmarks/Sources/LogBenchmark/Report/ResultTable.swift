import Foundation

/// The results of one shape as a table in Markdown: a row a workload, a column an engine.
struct ResultTable {
  enum Time: String {
    case elapsed = "elapsed time"
    /// Of all threads of the process, those in the background too.
    case processor = "processor time"
  }

  let shape: Shape
  let records: Int
  let time: Time
  private let byPlace: [String: Measurement]
  private let engines: [String]

  init(shape: Shape, records: Int, _ time: Time, _ measurements: [Measurement]) {
    self.shape = shape
    self.records = records
    self.time = time
    let known = Set(measurements.map(\.engine))
    engines = Self.order.filter(known.contains)
    byPlace = Dictionary(
      measurements.map { ($0.engine + " " + $0.workload, $0) }, uniquingKeysWith: { first, _ in first })
  }

  static let order = [
    FloorEngine.name, PerdureEngine.name, LMDBEngine.name, LMDBWriteMapEngine.name, RocksDBEngine.name,
    LevelDBEngine.name, SQLiteEngine.name,
  ]

  var text: String {
    let head = [
      "### \(shape.rawValue), \(records) records, \(time.rawValue)", "",
      "| | \(engines.joined(separator: " | ")) | Perdure / best peer |",
      "|---|" + String(repeating: "---:|", count: engines.count + 1),
    ]
    return (head + rows).joined(separator: "\n")
  }

  private var rows: [String] {
    Workload.allCases.compactMap { workload in
      row(workload.title, Self.duration) { engine in
        let measurement = byPlace[engine + " " + workload.rawValue]
        return time == .elapsed ? measurement?.nsPerOp : measurement?.cpuNsPerOp
      }
    } + (time == .elapsed ? otherRows : [])
  }

  private var otherRows: [String] {
    [
      row("longest call, not durable", Self.duration, stall),
      row("disk after filling, bytes a record", Self.count) { engine in
        byPlace[engine + " " + Workload.fillRandom1000.rawValue].map { Double($0.diskBytes) / Double($0.n) }
      },
      row("disk at the end, bytes a record", Self.count) { engine in
        byPlace[engine + " " + Workload.openClean.rawValue].map { Double($0.diskBytes) / Double($0.n) }
      },
      row("private memory once all was read, bytes a record", Self.count) { engine in
        byPlace[engine + " " + Workload.openClean.rawValue].map { Double($0.memoryBytes) / Double($0.n) }
      },
    ].compactMap { $0 }
  }

  /// The longest call of anything that writes and does not wait for the disk.
  private func stall(of engine: String) -> Double? {
    let writing: [Workload] = [
      .fillRandom1, .fillRandom100, .fillRandom1000, .ycsbA, .ycsbF, .overwrite1, .overwrite1000, .delete1000,
    ]
    return writing.compactMap { byPlace[engine + " " + $0.rawValue].map { Double($0.maxNs) } }.max()
  }

  private func row(_ title: String, _ format: (Double) -> String, _ value: (String) -> Double?) -> String? {
    let values = engines.map(value)
    guard values.contains(where: { $0 != nil }) else { return nil }
    let cells = values.map { $0.map(format) ?? "–" }
    return "| \(title) | \(cells.joined(separator: " | ")) | \(ratio(values)) |"
  }

  /// Below 1: Perdure is ahead.
  private func ratio(_ values: [Double?]) -> String {
    var ours: Double?
    var best: Double?
    for (engine, value) in zip(engines, values) {
      guard let value, engine != FloorEngine.name else { continue }
      if engine == PerdureEngine.name { ours = value } else { best = min(best ?? value, value) }
    }
    guard let ours, let best, best > 0 else { return "–" }
    let text = String(format: "%.2f", ours / best)
    return ours <= best ? "**\(text)**" : text
  }

  static func duration(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<9_999.5: String(format: "%.0f ns", nanoseconds)
    case ..<9_999_500: String(format: "%.1f µs", nanoseconds / 1e3)
    case ..<9_999_500_000: String(format: "%.1f ms", nanoseconds / 1e6)
    default: String(format: "%.1f s", nanoseconds / 1e9)
    }
  }

  static func count(_ value: Double) -> String { String(format: "%.1f", value) }
}
