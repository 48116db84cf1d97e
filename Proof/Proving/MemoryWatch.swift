#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The maximum memory of a process beyond its memory when the watch began, if the system reports it
/// (Linux).
///
/// The system records the maximum resident memory, and can reset it. So it reports the short peak
/// of one case, and slow growth too: the record is not reset in between. The campaign's own memory
/// is allocated before the watch, or is small.
struct MemoryWatch {
  private let before: Int

  /// Begins to watch; nil if the system does not report memory.
  init?() {
    guard Self.forgetPeak(), let before = ProofLimits.residentBytes() else { return nil }
    self.before = before
  }

  /// The most bytes so far.
  var worst: Int? { ProofLimits.peakBytes().map { max(0, $0 - before) } }

  private static func forgetPeak() -> Bool {
    let file = open("/proc/self/clear_refs", O_WRONLY)
    guard file >= 0 else { return false }
    defer { close(file) }
    // As proc(5) says: resets the maximum resident memory to the present value.
    return write(file, "5", 1) == 1
  }
}
