import CLogFloor

/// Measures consecutive operations, with one reading of the clock between two operations.
struct LatencyRecorder {
  private(set) var histogram = Histogram()
  private var begin: UInt64
  private var beginCPU: UInt64
  private var last: UInt64

  init() {
    beginCPU = log_cpu_ns()
    begin = log_now_ns()
    last = begin
  }

  @inline(__always)
  mutating func lap() {
    let now = log_now_ns()
    histogram.record(now &- last)
    last = now
  }

  /// Runs code whose time is not measured.
  mutating func skip(_ body: () throws -> Void) rethrows {
    let cpu = log_cpu_ns()
    try body()
    beginCPU += log_cpu_ns() - cpu
    let now = log_now_ns()
    begin += now - last
    last = now
  }

  /// The elapsed time up to the last lap, and the processor time up to now.
  var elapsed: Cost { Cost(nanoseconds: last - begin, cpuNanoseconds: log_cpu_ns() - beginCPU) }
}

/// The cost of operations.
struct Cost {
  var nanoseconds: UInt64
  /// Processor time of all threads.
  var cpuNanoseconds: UInt64

  /// Runs `body` without reading the clock in between.
  static func of(_ body: () throws -> Void) rethrows -> Cost {
    let beginCPU = log_cpu_ns()
    let begin = log_now_ns()
    try body()
    return Cost(nanoseconds: log_now_ns() - begin, cpuNanoseconds: log_cpu_ns() - beginCPU)
  }
}
