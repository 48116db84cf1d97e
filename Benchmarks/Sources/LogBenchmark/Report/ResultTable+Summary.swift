/// The summary of all tables: a few rows, and the number of all rows in which Perdure is at least
/// as good as the best peer.
extension ResultTable {
  /// The workloads in the summary: each kind of work once or twice.
  private static let telling: [Workload] = [
    .fillRandom1, .fillRandom1000, .overwrite1, .readRandom, .readMissing, .scan, .ycsbA, .ycsbC, .durable1,
    .openClean,
  ]

  /// The summary's rows for the shortest records with hashed keys, and the number of all rows in
  /// which Perdure is at least as good as the best peer.
  static func summary(_ measurements: [Measurement], _ time: Time) -> String {
    let tables = all(measurements, time)
    let shown = tables.first { $0.shape == .hashed100 && $0.records < largeCount }?.tellingRows ?? []
    let ratios = tables.flatMap(\.peerRatios)
    let count =
      "Perdure is at least as good as the best of them in \(ratios.count { $0 <= 1 }) of \(ratios.count) rows, by \(time.rawValue)."
    return (shown + ["", count]).joined(separator: "\n")
  }

  private var tellingRows: [String] {
    let isShown = engines.map { $0 != FloorEngine.name }
    let names = zip(engines, isShown).filter(\.1).map(\.0)
    let head = ["\(records) records"] + names
    let rows = ResultRow.all(results.time).prefix(Workload.allCases.count)
      .filter { Self.telling.contains($0.workloads[0]) && values($0).contains { $0 != nil } }
      .map { kind in
        [kind.title] + zip(values(kind), isShown).filter(\.1).map { $0.0.map(kind.format) ?? "–" }
      }
    return ([head, ["---"] + names.map { _ in "---:" }] + rows).map { "| \($0.joined(separator: " | ")) |" }
  }

  /// The ratio to the best peer, for every row in which both were measured.
  private var peerRatios: [Double] {
    ResultRow.all(results.time).compactMap { ratio(values($0), to: Self.peers) }
  }
}
