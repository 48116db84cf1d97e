// Garbage that snapshots hold: values in, values out.
//
// It cannot be freed before they are released, so it is not counted. Otherwise the segments of one
// old snapshot, which are all garbage, would be chosen repeatedly before those with freeable space.
// Held garbage is found by reading a segment, and stays noted until the segment is read again.
//
// Invariants
//  HG1  A record that the newest state does not lead to is accounted once: under the oldest version
//       that leads to it, in its segment, as found by the last read. So a younger snapshot beside
//       an older one is charged only for records added after the older one, and little is forgotten
//       when it is released.
//  HG2  A kept tombstone that is younger than the oldest version is accounted under that version:
//       the records it shadows cannot all be freed earlier.
//  HG3  Bytes are forgotten exactly when their version is found to be no longer held. No version
//       becomes held again. The next read of the segment finds what younger versions hold: at most
//       one read for each released version.
//  HG4  `bytes` is the sum of all shares.

/// The known garbage that snapshots hold.
struct HeldGarbage {
  /// Bytes of records, as `SegmentUsage` counts them.
  struct Bytes: Hashable, Sendable {
    var dead: UInt64 = 0
    var tombstones: UInt64 = 0

    var all: UInt64 { dead + tombstones }

    static func += (left: inout Bytes, right: Bytes) {
      left.dead += right.dead
      left.tombstones += right.tombstones
    }

    static func -= (left: inout Bytes, right: Bytes) {
      left.dead -= right.dead
      left.tombstones -= right.tombstones
    }
  }

  /// The garbage of a segment that one version holds.
  struct Share: Hashable, Sendable {
    var version: UInt64
    var bytes: Bytes
  }

  /// What all versions hold. HG4
  private(set) var bytes = Bytes()
  /// By segment; none is empty.
  private var shares: [UInt64: [Share]] = [:]
  /// The versions that the current run keeps, except the newest.
  private var kept: [UInt64] = []

  /// Whether a run has left garbage, or is about to, because of snapshots.
  var isAny: Bool { !kept.isEmpty || !shares.isEmpty }

  /// The held garbage of a segment.
  func bytes(in segment: UInt64) -> Bytes { sum(shares[segment] ?? []) }

  /// A run begins that keeps these versions beside the newest: all that are held. HG3
  mutating func beginRun(keeping versions: [UInt64]) {
    kept = versions
    let held = PinnedVersions(exact: versions)
    forget { held.mayHold($0...$0) }
  }

  mutating func endRun() { kept = [] }

  /// A segment was read.
  mutating func note(_ segment: UInt64, _ found: [Share]) {
    bytes -= bytes(in: segment)
    shares[segment] = found.isEmpty ? nil : found
    bytes += sum(found)
  }

  /// Forgets garbage that is no longer held. HG3
  mutating func forget(unless isHeld: (_ version: UInt64) -> Bool) {
    filter { _, share in isHeld(share.version) }
  }

  /// Forgets segments that are not part of the log any more.
  mutating func forgetSegments(except numbers: Set<UInt64>) {
    filter { segment, _ in numbers.contains(segment) }
  }

  private mutating func filter(_ isKept: (UInt64, Share) -> Bool) {
    var left: [UInt64: [Share]] = [:]
    for (segment, found) in shares {
      let rest = found.filter { isKept(segment, $0) }
      if !rest.isEmpty { left[segment] = rest }
    }
    shares = left
    bytes = shares.values.reduce(into: Bytes()) { $0 += sum($1) }
  }

  private func sum(_ shares: [Share]) -> Bytes { shares.reduce(into: Bytes()) { $0 += $1.bytes } }
}
