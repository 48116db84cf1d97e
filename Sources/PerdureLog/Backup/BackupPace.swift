/// When a backup may read its next piece: values in, values out.
///
/// While others commit it keeps to a speed. When nothing was committed for a moment, the disk is
/// its own.
struct BackupPace {
  /// How long after a commit the store counts as busy.
  static let busyNanoseconds: UInt64 = 250_000_000

  private let bytesPerSecond: Double?
  private var activity: UInt64
  private var busyUntil: UInt64
  /// From when on the next piece may be read, in nanoseconds.
  private var next: UInt64

  /// - Parameter bytesPerSecond: Nil: as fast as it can.
  /// - Parameter activity: Anything that differs after each commit.
  init(bytesPerSecond: Int?, activity: UInt64, now: UInt64) {
    self.bytesPerSecond = bytesPerSecond.map(Double.init)
    self.activity = activity
    (busyUntil, next) = (now, now)
  }

  /// A piece was copied.
  ///
  /// - Returns: When the next one may be, in nanoseconds.
  mutating func pass(_ bytes: Int, activity: UInt64, now: UInt64) -> UInt64 {
    guard let bytesPerSecond else { return now }
    if activity != self.activity { busyUntil = now + Self.busyNanoseconds }
    self.activity = activity
    guard now < busyUntil else {
      next = now
      return now
    }
    next = max(next, now) + UInt64(Double(bytes) / bytesPerSecond * 1e9)
    return next
  }
}
