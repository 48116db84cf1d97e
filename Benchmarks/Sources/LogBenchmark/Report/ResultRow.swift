/// A row of a table: its workloads, and the function that computes its value from them.
struct ResultRow {
  var title: String
  var workloads: [Workload]
  var format: (Double) -> String
  /// Computes the value from the measurements of the workloads, at least one; nil if they do not
  /// have this value.
  var value: ([Measurement]) -> Double?

  static func all(_ time: ResultTable.Time) -> [ResultRow] {
    times(time) + ([stall] + waits).map { time == .elapsed ? $0 : $0.sayingElapsed } + space + memory
  }

  private static func times(_ time: ResultTable.Time) -> [ResultRow] {
    Workload.allCases.map { workload in
      let row = ResultRow(workload.title, of: workload, Format.duration) { $0.nanoseconds(time) }
      return time == .processor && workload.waitsForDisk ? row.sayingElapsed : row
    }
  }

  private var sayingElapsed: ResultRow {
    var row = self
    row.title += ", elapsed"
    return row
  }

  private init(
    title: String, workloads: [Workload], format: @escaping (Double) -> String,
    value: @escaping ([Measurement]) -> Double?
  ) {
    (self.title, self.workloads, self.format, self.value) = (title, workloads, format, value)
  }

  private init(
    _ title: String, of workload: Workload, _ format: @escaping (Double) -> String,
    _ value: @escaping (Measurement) -> Double?
  ) {
    self.init(title: title, workloads: [workload], format: format) { value($0[0]) }
  }

  /// The longest call of all writes that do not wait for the disk.
  private static var stall: ResultRow {
    let workloads: [Workload] = [
      .fillRandom1, .fillRandom100, .fillRandom1000, .ycsbA, .ycsbF, .overwrite1, .overwrite1000, .delete1000,
    ]
    return ResultRow(title: "longest call, not durable", workloads: workloads, format: Format.duration) {
      $0.map { Double($0.maxNs) }.max()
    }
  }

  private static var waits: [ResultRow] {
    [Workload.steadyCommit, .steadyDurable].map { workload in
      ResultRow(workload.title + ", p99.99", of: workload, Format.duration) { Double($0.p9999) }
    }
  }

  private static var space: [ResultRow] {
    [
      ResultRow("disk after filling, bytes per record", of: .fillRandom1000, Format.count) {
        Double($0.diskBytes) / Double($0.n)
      },
      ResultRow("disk at the end, bytes per record", of: .openClean, Format.count) {
        Double($0.diskBytes) / $0.liveRecords
      },
      ResultRow("disk while overwritten, bytes per record, median", of: .steadyOverwrite, Format.count) {
        $0.perRecord("disk_bytes_median")
      },
      ResultRow("disk while overwritten, bytes per record, maximum", of: .steadyOverwrite, Format.count) {
        $0.perRecord("disk_bytes_max")
      },
      ResultRow("bytes written for each byte of keys and values", of: .steadyOverwrite, Format.ratio) {
        $0.writeAmplification("given_bytes")
      },
      ResultRow("reserved for a full disk", of: .openClean, Format.mebibytes) {
        $0.details["reserved_bytes"].flatMap { $0 > 0 ? $0 : nil }
      },
    ]
  }

  private static var memory: [ResultRow] {
    [
      ResultRow("private memory after reading everything, bytes per record", of: .openClean, Format.count) {
        Double($0.memoryBytes) / $0.liveRecords
      },
      ResultRow("index, a file that is mapped, bytes per key", of: .openClean, Format.count) { found in
        found.details["index_bytes"].map { $0 / found.liveRecords }
      },
    ]
  }
}

extension Measurement {
  /// The number of records in the store at the end.
  var liveRecords: Double { details["live_records"] ?? Double(n) }

  func perRecord(_ detail: String) -> Double? { details[detail].map { $0 / Double(n) } }

  /// The bytes that write calls passed to the system, divided by the bytes that the caller
  /// provided. `unit` is the name of the detail that has the number of provided bytes. Nil if the
  /// engine writes through a map, or if a number is absent or 0.
  func writeAmplification(_ unit: String) -> Double? {
    // The system does not count bytes that are stored into a map.
    guard engine != LMDBWriteMapEngine.name, let written = details["written_bytes"],
      let given = details[unit], given > 0, written > 0
    else { return nil }
    return written / given
  }
}
