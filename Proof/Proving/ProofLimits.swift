import PerdureFileIO

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a single try may cost: no bytes may make a store hang, or take memory without end.
package enum ProofLimits {
  /// Bytes that reading a damaged store may take.
  static let memoryMax = 64 << 20

  /// Seconds of a processor that a try may take.
  package static let secondsMax = 1.0

  /// What some tries have cost.
  struct Cost: Sendable {
    /// Of the slowest, in seconds of processor time, so that other work of the machine does not
    /// matter.
    var seconds = 0.0
    var samples = 0

    /// In readable form.
    var text: String { "\((seconds * 10_000).rounded() / 10) ms of a processor" }

    /// Counts one more; what takes too long is a violation.
    mutating func add(since start: Double) throws {
      let cost = ProofLimits.cost(since: start)
      self = worst(cost)
      if cost.seconds > ProofLimits.secondsMax { throw Violation("it took \(cost.text)") }
    }

    func worst(_ other: Cost) -> Cost {
      Cost(seconds: max(seconds, other.seconds), samples: samples + other.samples)
    }
  }

  /// The processor time of this thread so far, in seconds.
  package static func now() -> Double {
    var time = timespec()
    guard clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return 0 }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static func cost(since start: Double) -> Cost { Cost(seconds: now() - start, samples: 1) }

  /// Resident bytes of this process; nil if the system does not report them.
  static func residentBytes() -> Int? { statusBytes("VmRSS:") }

  /// Bytes of those without a file; nil if the system does not report it.
  static func ownBytes() -> Int? { statusBytes("RssAnon:") }

  /// The maximum of resident bytes; nil if the system does not report it.
  static func peakBytes() -> Int? { statusBytes("VmHWM:") }

  private static func statusBytes(_ field: String) -> Int? {
    guard let file = try? POSIXFileSystem().open("/proc/self/status", .read),
      let bytes = try? file.read(1 << 16, at: 0)
    else { return nil }
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(field) }
    return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 }
  }
}
