#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Measures how far the resident memory of this process has risen above its value at the beginning
/// of the watch. Only for systems that can reset the maximum (Linux).
///
/// The system records the maximum resident memory, and can reset it. The record is not reset
/// between cases. So it contains the short peak of one case, and slow growth too. The campaign's
/// own memory is small, or is allocated before the watch.
struct MemoryWatch {
  private let before: Int

  /// Begins to watch; nil if the system does not report memory.
  init?() {
    guard Self.forgetPeak(), let before = ProofLimits.residentBytes() else { return nil }
    self.before = before
  }

  /// The maximum number of bytes so far.
  var worst: Int? { ProofLimits.peakBytes().map { max(0, $0 - before) } }

  private static func forgetPeak() -> Bool {
    let file = open("/proc/self/clear_refs", O_WRONLY)
    guard file >= 0 else { return false }
    defer { close(file) }
    // Resets the maximum resident memory to the present value, as proc(5) describes.
    return write(file, "5", 1) == 1
  }
}
