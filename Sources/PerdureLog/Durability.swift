/// The durability of a commit once its call has returned.
///
/// At every level, commits are atomic and ordered: after any crash the store holds the effect of a
/// prefix of the commits, never a part of one. A commit is visible to new snapshots when it has
/// been written, before it is synced; the level only says how long the call waits.
///
/// | level | process killed | system crash or power cut | waits for |
/// |---|---|---|---|
/// | `relaxed` | kept (today; not promised) | may be lost with all after it | nothing |
/// | `processCrash` | kept | may be lost with all after it | one write |
/// | `ordered` | kept | lost at most as part of a suffix of commits; a sync is running | one write |
/// | `powerLoss` | kept | kept | one sync, shared with concurrent commits |
///
/// The sync is the system's strongest: `F_FULLFSYNC` on Apple's platforms, `fdatasync` on Linux,
/// `FlushFileBuffers` on Windows; for `ordered` it runs on a thread of the store. All of them
/// presume what FORMAT.md lists under "Assumptions about media and file system".
public enum Durability: Int, Sendable, Hashable, Comparable, CaseIterable {
  /// Nothing is promised but atomicity and order.
  case relaxed
  /// The commit is with the operating system: it survives the end of the process.
  case processCrash
  /// As `processCrash`; and a sync that will cover the commit has been requested.
  case ordered
  /// The commit is on the medium. The default.
  case powerLoss

  /// Weaker levels come first.
  public static func < (a: Durability, b: Durability) -> Bool { a.rawValue < b.rawValue }
}
