/// What one workload cost one engine: in one round, or the medians of all.
struct Measurement: Codable, Equatable {
  var engine: String
  var workload: String
  var shape: String
  /// Records in the store, at the begin.
  var n: Int
  var valueBytes: Int
  /// Operations measured.
  var operations: Int
  /// Of one operation; for batches, of one record.
  var nsPerOp: Double
  /// Processor time of all threads of the process for one operation.
  var cpuNsPerOp: Double
  /// Latencies of a call: of a commit, whatever it holds, or of a read.
  var p50: UInt64
  var p99: UInt64
  var p999: UInt64
  /// 0 if it was not measured.
  var p9999: UInt64 = 0
  var maxNs: UInt64
  /// Blocks that the files take, after the workload, without room that is only held back for a full
  /// disk.
  var diskBytes: Int
  /// Private memory of the process (no mapped files), after the workload.
  var memoryBytes: Int
  /// What only this workload, or only this engine, has, by name.
  var details: [String: Double] = [:]
  var rounds = 1

  enum CodingKeys: String, CodingKey {
    case engine, workload, shape, n, operations, p50, p99, p999, p9999, details, rounds
    case valueBytes = "value_bytes"
    case nsPerOp = "ns_per_op"
    case cpuNsPerOp = "cpu_ns_per_op"
    case maxNs = "max_ns"
    case diskBytes = "disk_bytes"
    case memoryBytes = "memory_bytes"
  }

  /// The workload and engine of a measurement: results of another run replace those with the same
  /// key.
  struct Identity: Hashable {
    var engine: String
    var workload: String
    var shape: String
    var n: Int
  }

  var identity: Identity { Identity(engine: engine, workload: workload, shape: shape, n: n) }

  /// Medians, but the maximum of maxima: a stall counts even if it came once.
  static func summary(of rounds: [Measurement]) -> Measurement? {
    guard var result = rounds.first else { return nil }
    func middle(_ value: (Measurement) -> Double) -> Double { median(rounds.map(value)) ?? 0 }
    result.nsPerOp = middle(\.nsPerOp)
    result.cpuNsPerOp = middle(\.cpuNsPerOp)
    result.p50 = UInt64(middle { Double($0.p50) })
    result.p99 = UInt64(middle { Double($0.p99) })
    result.p999 = UInt64(middle { Double($0.p999) })
    result.p9999 = UInt64(middle { Double($0.p9999) })
    result.maxNs = rounds.map(\.maxNs).max() ?? 0
    result.diskBytes = Int(middle { Double($0.diskBytes) })
    result.memoryBytes = Int(middle { Double($0.memoryBytes) })
    result.details = result.details.reduce(into: [:]) { found, detail in
      found[detail.key] = median(rounds.compactMap { $0.details[detail.key] })
    }
    result.rounds = rounds.count
    return result
  }
}
