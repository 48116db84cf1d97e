/// The results of one shape and one number of records as a table in Markdown. It has a row for each
/// workload and a column for each engine.
struct ResultTable {
  enum Time: String {
    case elapsed = "elapsed time"
    /// Processor time of all threads of the process, including background threads.
    case processor = "processor time"
  }

  let shape: Shape
  let records: Int
  let results: ResultSet
  let engines: [String]

  /// The minimum number of records of a large store, such as the stores of the part `large`.
  static let largeCount = 5_000_000

  static let order = [
    FloorEngine.name, PerdureEngine.name, LMDBEngine.name, LMDBWriteMapEngine.name, RocksDBEngine.name,
    LevelDBEngine.name, SQLiteEngine.name,
  ]

  static var peers: [String] { order.filter { $0 != FloorEngine.name && $0 != PerdureEngine.name } }

  /// The table of each shape and number of records. Tables with many records come last.
  static func all(_ measurements: [Measurement], _ time: Time) -> [ResultTable] {
    let results = ResultSet(measurements, time)
    let tables = Shape.allCases.flatMap { shape in
      results.counts(shape).map { ResultTable(shape: shape, records: $0, results) }
    }
    return tables.filter { $0.records < largeCount } + tables.filter { $0.records >= largeCount }
  }

  init(shape: Shape, records: Int, _ results: ResultSet) {
    self.shape = shape
    self.records = records
    self.results = results
    engines = Self.order.filter { results.has($0, shape, records) }
  }

  var text: String {
    let head = [
      "**\(shape.rawValue)**, \(records) records, \(results.time.rawValue)" + plot, "",
      "| | \(engines.joined(separator: " | ")) | / best peer | / floor | rounds |",
      "|---|" + String(repeating: "---:|", count: engines.count + 3),
    ]
    return (head + rows).joined(separator: "\n")
  }

  private var plot: String {
    records < Self.largeCount ? " ([plot](results/log-\(shape.rawValue).svg), elapsed time)" : ""
  }

  private var rows: [String] {
    ResultRow.all(results.time).compactMap(row)
  }

  private func row(_ kind: ResultRow) -> String? {
    let values = values(kind)
    guard values.contains(where: { $0 != nil }) else { return nil }
    let cells = values.map { $0.map(kind.format) ?? "–" }
    let ratios = [ratioText(values, to: Self.peers), ratioText(values, to: [FloorEngine.name])]
    let rounds = Set(engines.flatMap { measured(kind, $0).map(\.rounds) }).sorted()
    let all = [kind.title] + cells + ratios + [rounds.map { "\($0)" }.joined(separator: ", ")]
    return "| \(all.joined(separator: " | ")) |"
  }

  private func measured(_ kind: ResultRow, _ engine: String) -> [Measurement] {
    kind.workloads.compactMap { results[$0, engine, shape, records] }
  }

  /// The values of a row, one for each engine; nil for an engine without a measurement.
  func values(_ kind: ResultRow) -> [Double?] {
    engines.map { engine in
      let found = measured(kind, engine)
      return found.isEmpty ? nil : kind.value(found)
    }
  }

  private func ratioText(_ values: [Double?], to others: [String]) -> String {
    guard let ratio = ratio(values, to: others) else { return "–" }
    return ratio <= 1 ? "**\(Format.ratio(ratio))**" : Format.ratio(ratio)
  }

  /// The ratio to the best of these engines. If it is at most 1, Perdure is at least as good. Nil
  /// if Perdure or all of these engines have no value, or if the best value is not above 0.
  func ratio(_ values: [Double?], to others: [String]) -> Double? {
    let theirs = zip(engines, values).compactMap { others.contains($0) ? $1 : nil }
    guard let place = engines.firstIndex(of: PerdureEngine.name), let ours = values[place],
      let best = theirs.min(), best > 0
    else { return nil }
    return ours / best
  }
}
