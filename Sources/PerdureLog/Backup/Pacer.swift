import PerdureFileIO

/// Limits the speed of a backup, and ends the backup when its task is cancelled.
struct Pacer {
  /// The speed limit; nil if there is none.
  private var pace: BackupPace?
  private let activity: () -> UInt64?
  private let clock: BackupClock
  /// The longest sleep between two checks for cancellation.
  static let sliceNanoseconds: UInt64 = 100_000_000

  init(_ options: BackupOptions, _ engine: Engine) {
    clock = options.clock ?? .system
    activity = { engine.options.isReadOnly ? nil : engine.version }
    pace = BackupPace(bytesPerSecond: options.bytesPerSecond, activity: activity(), now: clock.now())
  }

  /// A pacer without a speed limit.
  init() {
    clock = .system
    activity = { nil }
  }

  /// Waits until the next piece may be copied, after a piece of `bytes` bytes was copied.
  mutating func pass(_ bytes: Int) throws {
    try Task.checkCancellation()
    guard let end = pace?.pass(bytes, activity: activity(), now: clock.now()) else { return }
    while true {
      let now = clock.now()
      guard now < end else { return }
      clock.wait(min(end, now + Self.sliceNanoseconds))
      try Task.checkCancellation()
    }
  }
}

/// The clock for the speed limit of a backup. Tests replace it.
struct BackupClock: Sendable {
  /// The time, in nanoseconds.
  var now: @Sendable () -> UInt64
  /// Waits until a time.
  var wait: @Sendable (_ end: UInt64) -> Void

  /// The time of the system.
  static var system: BackupClock {
    let (lock, condition) = (Lock(), Condition())
    return BackupClock(now: { Clock.nowNanoseconds() }) { end in
      lock.withLock { while condition.wait(lock, untilNanoseconds: end) {} }
    }
  }
}
