import Foundation

/// Results by workload and engine.
struct ResultSet {
  /// The kind of time that is shown for an operation.
  let time: ResultTable.Time
  private let known: [Measurement.Identity: Measurement]

  init(_ measurements: [Measurement], _ time: ResultTable.Time) {
    self.time = time
    known = Dictionary(measurements.map { ($0.identity, $0) }, uniquingKeysWith: { _, last in last })
  }

  func has(_ engine: String, _ shape: Shape, _ records: Int) -> Bool {
    known.keys.contains { $0.engine == engine && $0.shape == shape.rawValue && $0.n == records }
  }

  subscript(workload: Workload, engine: String, shape: Shape, records: Int) -> Measurement? {
    known[
      Measurement.Identity(engine: engine, workload: workload.rawValue, shape: shape.rawValue, n: records)]
  }

  /// The numbers of records with which a shape was measured.
  func counts(_ shape: Shape) -> [Int] {
    Set(known.keys.filter { $0.shape == shape.rawValue }.map(\.n)).sorted()
  }
}

extension Measurement {
  /// The time of an operation. For workloads that wait for the disk it is always elapsed time.
  func nanoseconds(_ time: ResultTable.Time) -> Double {
    time == .elapsed || Workload(rawValue: workload)?.waitsForDisk == true ? nsPerOp : cpuNsPerOp
  }
}

/// The formats of figures in tables.
enum Format {
  static func duration(_ nanoseconds: Double) -> String {
    switch nanoseconds {
    case ..<9_999.5: String(format: "%.0f ns", nanoseconds)
    case ..<9_999_500: String(format: "%.1f µs", nanoseconds / 1e3)
    case ..<9_999_500_000: String(format: "%.1f ms", nanoseconds / 1e6)
    default: String(format: "%.1f s", nanoseconds / 1e9)
    }
  }

  static func count(_ value: Double) -> String { String(format: "%.1f", value) }

  static func ratio(_ value: Double) -> String { String(format: "%.2f", value) }

  static func mebibytes(_ value: Double) -> String { String(format: "%.0f MiB", value / 1_048_576) }
}
