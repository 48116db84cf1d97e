// Garbage that snapshots hold: values in, values out.
//
// It cannot be won before they go, so it is left out of account; otherwise the segments of one old snapshot,
// which are nothing but garbage, would be chosen again and again before those where there is something to win.
// What is held is found by reading a segment, and stays known until the segment is read again.
//
// Invariants
//  G1  A record that the newest state does not lead to is accounted once: under the oldest version that does, in its
//      segment, as the last look at that found it. So what a younger snapshot holds beside an older one is only
//      what came after the older one, and little is forgotten when it goes.
//  G2  A tombstone that is younger than the oldest version, and stays, is accounted under that one: what it
//      shadows cannot all go before.
//  G3  Bytes are forgotten exactly when somebody has found that nobody holds their version any more. No version comes
//      to be held again, but what younger versions hold of them is found by the next look: at most one for each
//      version that goes.
//  G4  `bytes` is the sum of all shares.

/// What is known of garbage that snapshots hold.
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

  /// What one version holds of a segment.
  struct Share: Hashable, Sendable {
    var version: UInt64
    var bytes: Bytes
  }

  /// What all versions hold. G4
  private(set) var bytes = Bytes()
  /// By segment; none is empty.
  private var shares: [UInt64: [Share]] = [:]
  /// The versions that the run keeps which is going on, but for the newest.
  private var kept: [UInt64] = []

  /// Whether a run has left garbage, or is about to, because of snapshots.
  var isAny: Bool { !kept.isEmpty || !shares.isEmpty }

  /// What is held of a segment.
  func bytes(in segment: UInt64) -> Bytes { sum(shares[segment] ?? []) }

  /// A run begins that keeps these versions beside the newest: all that are held. G3
  mutating func beginRun(keeping versions: [UInt64]) {
    kept = versions
    let held = PinnedVersions(exact: versions)
    forget { held.mayHold($0...$0) }
  }

  mutating func endRun() { kept = [] }

  /// A segment was looked at.
  mutating func note(_ segment: UInt64, _ found: [Share]) {
    bytes -= bytes(in: segment)
    shares[segment] = found.isEmpty ? nil : found
    bytes += sum(found)
  }

  /// Forgets what nobody holds any more. G3
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
