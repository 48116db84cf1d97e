import PerdureFileIO

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The limits of a single try. A damaged store, whatever its bytes, must not cause a hang, or
/// allocations without limit.
package enum ProofLimits {
  /// The maximum number of bytes of memory for reading a damaged store.
  static let memoryMax = 64 << 20

  /// The maximum processor time of one try, in seconds.
  package static let secondsMax = 1.0

  /// The cost of some tries.
  struct Cost: Sendable {
    /// The time of the slowest try, in seconds of processor time. Other work of the machine does
    /// not affect it.
    var seconds = 0.0
    var samples = 0

    /// The time in readable form.
    var text: String { "\((seconds * 10_000).rounded() / 10) ms of processor time" }

    /// Adds the cost of one more try. Throws a violation if the try took too long.
    mutating func add(since start: Double) throws {
      let cost = ProofLimits.cost(since: start)
      self = worst(cost)
      if cost.seconds > ProofLimits.secondsMax {
        throw Violation("the try took \(cost.text); the limit is \(ProofLimits.secondsMax) s")
      }
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

  /// The anonymous part of the resident bytes, that is, without mapped files; nil if the system
  /// does not report it.
  static func ownBytes() -> Int? { statusBytes("RssAnon:") }

  /// The maximum number of resident bytes; nil if the system does not report it.
  static func peakBytes() -> Int? { statusBytes("VmHWM:") }

  private static func statusBytes(_ field: String) -> Int? {
    guard let file = try? POSIXFileSystem().open("/proc/self/status", .read),
      let bytes = try? file.read(1 << 16, at: 0)
    else { return nil }
    let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(field) }
    return line?.split(separator: " ").compactMap { Int($0) }.first.map { $0 << 10 }
  }
}
