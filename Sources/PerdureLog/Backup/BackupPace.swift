/// Computes when a backup may read its next piece. The caller passes the time.
///
/// The speed is limited while commits are made. The limit ends `busyNanoseconds` after the last
/// commit. If commits are not visible, the limit always applies.
struct BackupPace {
  /// The duration after a commit during which the store counts as busy.
  static let busyNanoseconds: UInt64 = 250_000_000

  private let bytesPerSecond: Double?
  private var activity: UInt64?
  private var busyUntil: UInt64
  /// The earliest time at which the next piece may be read, in nanoseconds.
  private var next: UInt64

  /// - Parameter bytesPerSecond: The maximum speed; nil if it is unlimited.
  /// - Parameter activity: A number that changes with each commit; nil if commits are not visible.
  init(bytesPerSecond: Int?, activity: UInt64?, now: UInt64) {
    self.bytesPerSecond = bytesPerSecond.map(Double.init)
    self.activity = activity
    (busyUntil, next) = (now, now)
  }

  /// Records that a piece was copied.
  ///
  /// - Returns: The earliest time at which the next piece may be copied, in nanoseconds.
  mutating func pass(_ bytes: Int, activity: UInt64?, now: UInt64) -> UInt64 {
    guard let bytesPerSecond else { return now }
    if activity == nil || activity != self.activity { busyUntil = now + Self.busyNanoseconds }
    self.activity = activity
    guard now < busyUntil else {
      next = now
      return now
    }
    next = max(next, now) + UInt64(Double(bytes) / bytesPerSecond * 1e9)
    return next
  }
}
