#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Measures the greatest increase of this process's resident memory since the beginning of the
/// watch. Only for systems that can reset the recorded maximum (Linux).
///
/// The system records the maximum resident memory, and can reset it. The record is not reset
/// between cases. So it shows both a short peak of one case and slow growth. The campaign's own
/// memory is small, or is allocated before the watch.
struct MemoryWatch {
  private let before: Int

  /// Begins to watch; nil if the system does not report memory, or cannot reset the peak.
  init?() {
    guard Self.forgetPeak(), let before = ProofLimits.residentBytes() else { return nil }
    self.before = before
  }

  /// The greatest increase so far, in bytes.
  var worst: Int? { ProofLimits.peakBytes().map { max(0, $0 - before) } }

  private static func forgetPeak() -> Bool {
    let file = open("/proc/self/clear_refs", O_WRONLY)
    guard file >= 0 else { return false }
    defer { close(file) }
    // Resets the maximum resident memory to the current value, as proc(5) describes.
    return write(file, "5", 1) == 1
  }
}
