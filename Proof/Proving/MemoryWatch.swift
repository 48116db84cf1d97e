#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The most memory that a process takes beyond what it had when the watch began, where the system says so (Linux).
///
/// The system remembers the most that was resident, and can be told to forget. So what one try takes for a moment is seen,
/// and so is what one takes little by little: nothing is forgotten in between. Whatever a campaign needs itself is there
/// before it watches, or is little.
struct MemoryWatch {
  private let before: Int

  /// Begins to watch; nil where the system does not tell.
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
    // As proc(5) has it: the most that was resident is what is so now.
    return write(file, "5", 1) == 1
  }
}
