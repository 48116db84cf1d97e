#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The most memory that a process takes between two looks, where the system says so (Linux).
///
/// The system remembers the most that was resident, and can be told to forget. What one try takes for a moment is seen
/// that way, and what was there before it is not counted.
struct MemoryWatch {
  /// The most bytes that a stretch took beyond what was there when it began.
  private(set) var worst = 0
  private var before: Int
  private var last: ContinuousClock.Instant

  /// A stretch has this length at least: looking costs more than a small try.
  private static let stretch = Duration.milliseconds(20)

  /// Begins to watch; nil where the system does not tell.
  init?() {
    guard Self.forgetPeak(), let before = ProofLimits.residentBytes() else { return nil }
    self.before = before
    last = .now
  }

  /// Ends a stretch and begins the next, unless it has only begun.
  mutating func look() {
    guard last.duration(to: .now) >= Self.stretch else { return }
    finish()
  }

  /// Ends the stretch.
  mutating func finish() {
    if let peak = ProofLimits.peakBytes() { worst = max(worst, peak - before) }
    _ = Self.forgetPeak()
    before = ProofLimits.residentBytes() ?? before
    last = .now
  }

  private static func forgetPeak() -> Bool {
    let file = open("/proc/self/clear_refs", O_WRONLY)
    guard file >= 0 else { return false }
    defer { close(file) }
    // As proc(5) has it: the most that was resident is what is so now.
    return write(file, "5", 1) == 1
  }
}
