/// Decides when a run of compaction may write. The caller waits until the returned time.
///
/// New garbage is compacted without a speed limit. Compaction may immediately write the bytes that
/// are needed to free the same amount, up to `creditMax`. Beyond that, compaction writes at the
/// speed of the policy. So a store under heavy writes is compacted as fast as garbage is added. If
/// the store is idle, or its commits wait for the disk, compaction uses a fraction of the disk's
/// speed. That fraction grows with the ratio of garbage to its limit.
struct CompactionPace {
  /// The maximum number of bytes that may be written without a limit. It includes bytes for garbage
  /// that was added while a segment was read.
  static let creditMax = 4.0 * 1024 * 1024

  private let policy: CompactionPolicy
  /// The garbage at the last call.
  private var garbageBytes: UInt64
  /// The number of bytes that may be written without a limit now.
  private var credit = 0.0
  /// The time of the next write, in nanoseconds.
  private var next: UInt64

  init(_ policy: CompactionPolicy, _ totals: CompactionPolicy.Totals, now: UInt64) {
    self.policy = policy
    garbageBytes = totals.garbageBytes
    next = now
  }

  /// Plans the write of some bytes.
  ///
  /// - Returns: The time of the write, in nanoseconds.
  mutating func pass(_ bytes: Int, _ totals: CompactionPolicy.Totals, now: UInt64) -> UInt64 {
    // If there is less garbage than before, a segment was rewritten.
    let grown = totals.garbageBytes - min(garbageBytes, totals.garbageBytes)
    garbageBytes = totals.garbageBytes
    credit = min(credit + policy.bytesToWrite(forGarbage: grown, totals), Self.creditMax)
    let free = min(credit, Double(bytes))
    credit -= free
    next = max(next, now) + UInt64((Double(bytes) - free) / policy.speed(totals) * 1e9)
    return next
  }
}
