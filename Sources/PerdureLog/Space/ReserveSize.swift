/// The space that a store reserves on the medium in case the disk becomes full.
///
/// The reserve has two parts. The first part allows removals, which append tombstones to the log.
/// The second part allows compaction: at worst the longest segment is rewritten at full length
/// before the old file is removed.
struct ReserveSize: Hashable, Sendable {
  var removals = 0
  var compaction = 0

  /// The minimum length of a log with a reserve, in bytes. In a store of a few blocks, a reserve is
  /// longer than the log.
  static let logBytesMin: UInt64 = 64 << 10
  /// The part for compaction is a multiple of this number of bytes, unless the maximum limits it.
  static let step = 64 << 10
  /// The part for removals is the part for compaction divided by this number, but at least a step.
  private static let removalsDivisor = 8

  var total: Int { removals + compaction }

  /// Creates an empty reserve.
  init() {}

  /// - Parameters:
  ///   - longest: The number of bytes of the longest segment file.
  ///   - capacity: The maximum number of bytes of an ordinary segment.
  ///   - most: The maximum number of reserved bytes; 0 for no reserve.
  init(logBytes: UInt64, longest: Int, capacity: Int, most: Int) {
    guard most > 0, logBytes >= Self.logBytesMin else { return }
    // The reserve has some additional space, so that it does not become longer with every commit.
    let wanted = Self.rounded(max(longest, min(longest + longest / 4, capacity)))
    compaction = min(wanted, Self.compactionMax(most))
    removals = max(Self.step, compaction / Self.removalsDivisor)
  }

  /// The length of the longest segment, in bytes, at which the reserve must be computed again.
  func nextCheck(capacity: Int, most: Int) -> UInt64 {
    if most == 0 { return .max }
    if total == 0 { return 0 }
    return compaction >= Self.compactionMax(most) ? .max : UInt64(compaction)
  }

  /// The part for compaction if the reserve has its maximum length.
  private static func compactionMax(_ most: Int) -> Int {
    most - max(step, most / (removalsDivisor + 1))
  }

  private static func rounded(_ bytes: Int) -> Int { (bytes + step - 1) / step * step }
}
