// Garbage that snapshots hold. The code here reads no file.
//
// This garbage cannot be freed before the snapshots are released, so compaction subtracts it from
// the garbage that it counts. Otherwise compaction could repeatedly choose segments full of garbage
// that one old snapshot holds, before segments with freeable space. Held garbage is found by
// reading a segment, and stays noted until the segment is read again.
//
// Invariants
//  HG1  If a record is not visible in the newest state, it is counted once, in its segment. It
//       counts for the oldest version in which it is visible, as found by the last read. So if
//       there are two snapshots, only records added after the older snapshot count for the younger
//       one. Only their bytes are forgotten when the younger snapshot is released.
//  HG2  A kept tombstone that is younger than the oldest version counts for that version. The
//       records that it shadows cannot all be freed before that version is released.
//  HG3  Bytes are forgotten exactly when their version is found to be no longer held. No version
//       becomes held again. The next read of the segment finds the garbage that younger versions
//       hold. So at most one read follows for each released version.
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

  /// The garbage that all versions hold. HG4
  private(set) var bytes = Bytes()
  /// The shares of each segment, by segment number. No list of shares is empty.
  private var shares: [UInt64: [Share]] = [:]
  /// The versions that the current run keeps, except the newest.
  private var kept: [UInt64] = []

  /// Whether a run has left garbage because of snapshots, or is about to do so.
  var isAny: Bool { !kept.isEmpty || !shares.isEmpty }

  /// The held garbage of a segment.
  func bytes(in segment: UInt64) -> Bytes { sum(shares[segment] ?? []) }

  /// Begins a run that keeps the newest version and `versions`, which are all other held versions.
  /// HG3
  mutating func beginRun(keeping versions: [UInt64]) {
    kept = versions
    let held = PinnedVersions(exact: versions)
    forget { held.mayHold($0...$0) }
  }

  mutating func endRun() { kept = [] }

  /// Replaces the shares of a segment that was read.
  mutating func note(_ segment: UInt64, _ found: [Share]) {
    bytes -= bytes(in: segment)
    shares[segment] = found.isEmpty ? nil : found
    bytes += sum(found)
  }

  /// Forgets garbage that is no longer held. HG3
  mutating func forget(unless isHeld: (_ version: UInt64) -> Bool) {
    filter { _, share in isHeld(share.version) }
  }

  /// Forgets segments that are no longer part of the log.
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
