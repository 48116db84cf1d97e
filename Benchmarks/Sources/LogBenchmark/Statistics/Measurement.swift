/// The costs of one workload on one engine: of one round, or the medians of all rounds.
struct Measurement: Codable, Equatable {
  var engine: String
  var workload: String
  var shape: String
  /// The number of records in the store at the beginning.
  var n: Int
  var valueBytes: Int
  /// The number of measured operations.
  var operations: Int
  /// The time of one operation. For batches, the time of one record.
  var nsPerOp: Double
  /// Processor time of all threads of the process for one operation.
  var cpuNsPerOp: Double
  /// The latencies of a call: a commit of any size, or a read.
  var p50: UInt64
  var p99: UInt64
  var p999: UInt64
  /// 0 if not measured.
  var p9999: UInt64 = 0
  var maxNs: UInt64
  /// The blocks of the files after the workload, in bytes. Space that is reserved for a full disk
  /// is not included.
  var diskBytes: Int
  /// The private memory of the process after the workload, without mapped files.
  var memoryBytes: Int
  /// Other figures, by name. Only this workload or this engine has them.
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

  /// The identity of a measurement. A result of another run replaces a result with the same
  /// identity.
  struct Identity: Hashable {
    var engine: String
    var workload: String
    var shape: String
    var n: Int
  }

  var identity: Identity { Identity(engine: engine, workload: workload, shape: shape, n: n) }

  /// The medians of the rounds. The maximum is the greatest of all rounds, because a single stall
  /// is important too.
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
