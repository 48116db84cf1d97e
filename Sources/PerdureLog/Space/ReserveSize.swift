/// How much space a store reserves on the medium, for the case of a full disk: values in, values
/// out.
///
/// Two parts. With the first, records can be removed: that appends tombstones to the log. With the
/// second, the store can be compacted: at worst the longest segment is rewritten at full length
/// before the old file is removed.
struct ReserveSize: Hashable, Sendable {
  var removals = 0
  var compaction = 0

  /// There is no reserve for logs below this length, in bytes: beside a file of a few blocks a
  /// reserve would be most of the store.
  static let logBytesMin: UInt64 = 64 << 10
  /// Reserves are multiples of this, in bytes.
  static let step = 64 << 10
  /// The part for removals is this part of the other one, but at least a step.
  private static let removalsDivisor = 8

  var total: Int { removals + compaction }

  /// Nothing.
  init() {}

  /// - Parameters:
  ///   - longest: Bytes of the longest segment file.
  ///   - capacity: Bytes that ordinary segments may have.
  ///   - most: The maximum number of reserved bytes; 0 for none.
  init(logBytes: UInt64, longest: Int, capacity: Int, most: Int) {
    guard most > 0, logBytes >= Self.logBytesMin else { return }
    // With room to grow, so that the reserve is not made longer with every commit.
    let wanted = Self.rounded(max(longest, min(longest + longest / 4, capacity)))
    compaction = min(wanted, most - most / (Self.removalsDivisor + 1))
    removals = max(Self.step, compaction / Self.removalsDivisor)
  }

  /// The length of the longest segment from which more must be reserved, in bytes.
  func nextLook(capacity: Int, most: Int) -> UInt64 {
    if most == 0 { return .max }
    if total == 0 { return 0 }
    let isAtMost = compaction >= most - most / (Self.removalsDivisor + 1)
    return isAtMost ? .max : UInt64(compaction)
  }

  private static func rounded(_ bytes: Int) -> Int { (bytes + step - 1) / step * step }
}
