/// A goal of the engine: a bound for a figure of Perdure. The report compares the figure with those
/// of other engines.
struct Goal {
  var title: String
  var bound: Double
  var format: (Double) -> String
  /// Whether the bound is a minimum, that is, greater figures are better.
  var isLeast = false
  /// The figure of an engine; nil if it was not measured.
  var value: (ResultSet, _ engine: String) -> Double?

  /// A table in Markdown, and the number of its rows in which Perdure is at least as good as the
  /// best peer.
  static func table(_ results: ResultSet, _ compression: [CompressionFigure]) -> String {
    let head = [
      "| | floor | best peer | goal | Perdure | | / best peer |", "|---|---:|---:|---:|---:|---|---:|",
    ]
    let goals = all(compression)
    let ratios = goals.compactMap { $0.ratioToBest(results) }
    let count =
      "Perdure is at least as good as the best peer in \(ratios.count { $0 <= 1 }) of the \(ratios.count) rows with a figure of a peer."
    return (head + goals.map { $0.row(results) } + ["", count]).joined(separator: "\n")
  }

  private static func all(_ compression: [CompressionFigure]) -> [Goal] {
    times + durable + openings + index + writing + waits + dictionaries(compression)
  }

  private func row(_ results: ResultSet) -> String {
    let floor = value(results, FloorEngine.name)
    let best = best(results)
    let ours = value(results, PerdureEngine.name)
    let cells = [
      title, floor.map(format) ?? "–", best.map { "\(format($0.value)) (\($0.peer))" } ?? "–", format(bound),
      ours.map(format) ?? "–", ours.map { isMet(by: $0) ? "met" : "**not met**" } ?? "not measured",
      Self.text(ofRatio: ratioToBest(results)),
    ]
    return "| \(cells.joined(separator: " | ")) |"
  }

  private static func text(ofRatio ratio: Double?) -> String {
    guard let ratio else { return "–" }
    let text = Format.ratio(ratio)
    return ratio <= 1 ? "**\(text)**" : text
  }

  private func best(_ results: ResultSet) -> (peer: String, value: Double)? {
    ResultTable.peers.compactMap { peer in value(results, peer).map { (peer, $0) } }.min { $0.1 < $1.1 }
  }

  /// Perdure's figure relative to that of the best peer; nil if Perdure or all peers have no
  /// figure, or the best figure is not above 0.
  private func ratioToBest(_ results: ResultSet) -> Double? {
    guard let ours = value(results, PerdureEngine.name), let best = best(results), best.value > 0 else {
      return nil
    }
    return ours / best.value
  }

  private func isMet(by value: Double) -> Bool { isLeast ? value >= bound : value <= bound }
}

// MARK: - Times

extension Goal {
  private static func time(_ workload: Workload, _ shape: Shape, _ bound: Double) -> Goal {
    Goal(title: "\(workload.title), \(shape.rawValue)", bound: bound, format: Format.duration) {
      $0.usual(workload, $1, shape)?.nanoseconds($0.time)
    }
  }

  private static var times: [Goal] {
    [
      time(.readRandom, .dense100, 500), time(.readRandom, .hashed100, 850),
      time(.readMissing, .hashed100, 300), time(.getMany64, .dense100, 200),
      time(.getMany64, .hashed100, 200),
      time(.fillRandom1000, .dense100, 470), time(.fillRandom1000, .hashed100, 950),
      time(.fillRandom1, .hashed100, 1300), time(.overwrite1000, .hashed100, 450),
      time(.overwrite1, .hashed100, 1700), time(.ycsbA, .hashed100, 1000), time(.ycsbF, .hashed100, 1000),
      time(.ycsbB, .hashed100, 500), time(.ycsbC, .hashed100, 450), time(.scan, .hashed100, 60),
      time(.scan, .dense100, 24), time(.snapshot, .hashed100, 200),
    ]
  }

  /// Goals whose bounds are ratios to other engines in the same run.
  private static var durable: [Goal] {
    [
      Goal(title: "\(Workload.durable1.title), relative to the floor", bound: 1.2, format: Format.ratio) {
        $0.ratio(.durable1, $1, to: [FloorEngine.name])
      },
      Goal(title: "\(Workload.durable8.title), relative to the best peer", bound: 1.3, format: Format.ratio) {
        $0.ratio(.durable8, $1, to: ResultTable.peers)
      },
    ]
  }

  private static var openings: [Goal] {
    [(Workload.openClean, 5e6), (.openAfterKill, 250e6)].flatMap { workload, bound in
      [Shape.dense100, .hashed100].map { shape in
        Goal(
          title: "\(workload.title), \(shape.rawValue), 10 million", bound: bound, format: Format.duration
        ) {
          $0.large(workload, $1, shape)?.nsPerOp
        }
      }
    }
  }

  private static var waits: [Goal] {
    [(Workload.steadyCommit, 5e6), (.steadyDurable, 20e6)].map { workload, bound in
      Goal(title: "\(workload.title), p99.99", bound: bound, format: Format.duration) {
        $0.usual(workload, $1, .hashed100).map { Double($0.p9999) }
      }
    }
  }
}

// MARK: - Bytes

extension Goal {
  private static var index: [Goal] {
    [(Shape.dense100, 9.0), (.hashed100, 32.0)].map { shape, bound in
      Goal(
        title: "index and private memory, bytes per key, \(shape.rawValue), 10 million", bound: bound,
        format: Format.count
      ) { results, engine in
        guard let found = results.large(.openClean, engine, shape), let index = found.details["index_bytes"]
        else { return nil }
        return (index + Double(found.memoryBytes)) / found.liveRecords
      }
    }
  }

  /// Goals for the bytes of a store that is overwritten repeatedly. With 10 million records, its
  /// log has more than 16 segments.
  private static var writing: [Goal] {
    [
      Goal(
        title: "length of the log / bytes of live records during overwrites, 10 million, median", bound: 1.25,
        format: Format.ratio
      ) {
        $0.large(.steadyOverwrite, $1, .hashed100)?.details["log_ratio_median"]
      },
      Goal(
        title: "bytes written for each byte of records, index included, 1 million", bound: 3.5,
        format: Format.ratio
      ) {
        $0.usual(.steadyOverwrite, $1, .hashed100)?.writeAmplification("record_bytes")
      },
      Goal(
        title: "bytes written for each byte of records, index included, 10 million", bound: 3.5,
        format: Format.ratio
      ) {
        $0.large(.steadyOverwrite, $1, .hashed100)?.writeAmplification("record_bytes")
      },
    ]
  }

  private static func dictionaries(_ figures: [CompressionFigure]) -> [Goal] {
    let found = SmallRecords.Kind.allCases.map { kind in
      figures.first { $0.kind == kind && $0.mode == .dictionary16 }
    }
    let shrinking = zip(SmallRecords.Kind.allCases, found).map { kind, figure in
      Goal(
        title: "compression ratio with a dictionary of 16 KiB, \(kind.rawValue)",
        bound: kind == .json ? 1.7 : 1.4,
        format: Format.ratio, isLeast: true
      ) {
        $1 == PerdureEngine.name ? figure?.ratio : nil
      }
    }
    let unpacking = zip(SmallRecords.Kind.allCases, found).map { kind, figure in
      Goal(
        title: "decompression of a value with a dictionary of 16 KiB, \(kind.rawValue)", bound: 500,
        format: Format.duration
      ) {
        $1 == PerdureEngine.name ? figure?.unpackNanoseconds : nil
      }
    }
    return shrinking + unpacking
  }
}

extension ResultSet {
  /// The measurement with the most records below `largeCount`.
  fileprivate func usual(_ workload: Workload, _ engine: String, _ shape: Shape) -> Measurement? {
    counts(shape).last { $0 < ResultTable.largeCount }.flatMap { self[workload, engine, shape, $0] }
  }

  /// The measurement with the smallest number of records that is at least `largeCount`.
  fileprivate func large(_ workload: Workload, _ engine: String, _ shape: Shape) -> Measurement? {
    counts(shape).first { $0 >= ResultTable.largeCount }.flatMap { self[workload, engine, shape, $0] }
  }

  /// The figure of an engine divided by that of the fastest engine of `others`, with hashed keys;
  /// nil if a figure is missing.
  fileprivate func ratio(_ workload: Workload, _ engine: String, to others: [String]) -> Double? {
    let best = others.compactMap { usual(workload, $0, .hashed100)?.nsPerOp }.min()
    guard let best, best > 0 else { return nil }
    return usual(workload, engine, .hashed100).map { $0.nsPerOp / best }
  }
}
