/// The failures that a commit survives after its call has returned.
///
/// At every level, commits are atomic and ordered. After any crash the store has the effects of a
/// prefix of the commits, never a part of a commit. A commit is visible to new snapshots when it
/// has been written, before it is synced. The level only determines how long the call waits.
///
/// | level | process killed | system crash or power cut | waits for |
/// |---|---|---|---|
/// | `relaxed` | kept (today; not promised) | may be lost, with all later commits | nothing |
/// | `processCrash` | kept | may be lost, with all later commits | one write |
/// | `ordered` | kept | may be lost, with all later commits; a sync was requested | one write |
/// | `powerLoss` | kept | kept | one sync, shared with concurrent commits |
///
/// The strongest sync of the system is used: `F_FULLFSYNC` on Apple's platforms, `fdatasync` on
/// Linux, `FlushFileBuffers` on Windows. For `ordered` it runs on a thread of the store. All levels
/// rely on the list in FORMAT.md under "Assumptions about media and file system".
public enum Durability: Int, Sendable, Hashable, Comparable, CaseIterable {
  /// Only atomicity and order are promised.
  case relaxed
  /// The operating system has the commit: it survives the end of the process.
  case processCrash
  /// Like `processCrash`; in addition, a sync that will cover the commit has been requested.
  case ordered
  /// The commit is on the medium. The default.
  case powerLoss

  /// Compares two levels. The weaker level is less.
  public static func < (a: Durability, b: Durability) -> Bool { a.rawValue < b.rawValue }
}
