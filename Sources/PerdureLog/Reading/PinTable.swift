import PerdureFileIO
import Synchronization

/// The versions that readers hold: one slot for each snapshot, claimed and released without a lock.
///
/// Invariants
///  PT1  A slot contains 0 (free) or a version. When a reader claims the slot, the slot contains
///       the published version or an older one. After the reader has settled the slot (PT3), it
///       contains the version of the root that the reader loaded. That version may be newer.
///  PT2  A reader claims its slot before it loads the root. The writer publishes a root before it
///       scans the slots. All these steps are sequentially consistent. So either the writer sees
///       the slot, or the reader sees the new root. Until the reader has loaded the root, its slot
///       with version v protects every root of v or later.
///  PT3  A slot is marked as unsettled until its reader has loaded the root. Then it contains
///       exactly that root's version, and protects that root alone. So the writer knows which roots
///       are held, except for a short time.
///  PT4  The writer sets `awaited` before it scans the slots, if it will not scan again soon. A
///       reader checks `awaited` after releasing a slot. All these steps are sequentially
///       consistent. So either the scan finds the slot free, or the releasing reader finds that the
///       writer waits.
///  PT5  `awaited` is the version that was published at the time of the scan. All items that wait
///       for readers were retired before the scan. So only a slot that was claimed with an older
///       version can hold them. A slot that was claimed with that version or a later one does not
///       hold them, even while it is unsettled (PT1). The release of such a slot is not reported.
final class PinTable: Sendable {
  private static let slotsAChunk = 64
  private static let chunksMax = 4096
  /// The maximum number of pins at a time.
  static let pinsMax = slotsAChunk * chunksMax
  /// The distance of two slots in words: 64 bytes, so that readers do not share a cache line.
  private static let stride = 8
  /// The bit that is set while a reader has not loaded its root yet. PT3
  fileprivate static let unsettled: UInt64 = 1 << 63
  private static let versionMask = unsettled - 1

  // `nonisolated(unsafe)` is correct here: an element is written only under `growth`, before
  // `chunkCount` includes it. The memory is freed in deinit.
  private nonisolated(unsafe) let chunks: UnsafeMutablePointer<UnsafeMutablePointer<Atomic<UInt64>>>
  // `nonisolated(unsafe)` is correct here: the first chunk exists from the start, and its content
  // is atomic.
  private nonisolated(unsafe) let firstChunk: UnsafeMutablePointer<Atomic<UInt64>>
  private let chunkCount = Atomic<Int>(0)
  private let growth = Lock()
  /// If the writer waits for releases: the version that was published at the writer's last scan. 0
  /// if it does not wait. PT4, PT5
  private let awaited = Atomic<UInt64>(0)

  init() {
    chunks = .allocate(capacity: Self.chunksMax)
    firstChunk = Self.makeChunk()
    chunks[0] = firstChunk
    chunkCount.store(1, ordering: .sequentiallyConsistent)
  }

  deinit {
    for index in 0..<chunkCount.load(ordering: .relaxed) { chunks[index].deallocate() }
    chunks.deallocate()
  }

  /// Claims a slot for `version`, which must not be 0. The reader then loads the root and settles
  /// the pin.
  @inline(__always)
  func pin(_ version: UInt64) -> Pin {
    let word = version | Self.unsettled
    let start = Int(truncatingIfNeeded: currentThreadHash())
    let slot = firstChunk + (start & (Self.slotsAChunk &- 1)) &* Self.stride
    // Usually the slot that this thread used last is free, unless the thread has an older snapshot.
    if slot.pointee.load(ordering: .relaxed) == 0,
      slot.pointee.compareExchange(expected: 0, desired: word, ordering: .sequentiallyConsistent).exchanged
    {
      return Pin(slot: slot, claimed: version)
    }
    return pinElsewhere(version, from: start)
  }

  @inline(never)
  private func pinElsewhere(_ version: UInt64, from start: Int) -> Pin {
    let word = version | Self.unsettled
    var start = start
    while true {
      let count = chunkCount.load(ordering: .acquiring)
      for chunk in 0..<count {
        for i in 0..<Self.slotsAChunk {
          let slot = chunks[chunk] + ((start &+ i) & (Self.slotsAChunk - 1)) * Self.stride
          if slot.pointee.load(ordering: .relaxed) == 0,
            slot.pointee.compareExchange(expected: 0, desired: word, ordering: .sequentiallyConsistent)
              .exchanged
          {
            return Pin(slot: slot, claimed: version)
          }
        }
      }
      addChunk(after: count)
      start = 0
    }
  }

  /// Claims the slot of a pin for a newer version, and so releases the earlier one. The reader then
  /// loads the root and settles the pin. The slot is never free meanwhile, so it keeps its owner.
  @inline(__always)
  func move(_ pin: Pin, to version: UInt64) -> Pin {
    pin.slot.pointee.store(version | Self.unsettled, ordering: .sequentiallyConsistent)
    return Pin(slot: pin.slot, claimed: version)
  }

  /// Releases the spare snapshots of all slots. No call of `withSnapshot` may be running. SR5
  func releaseSpares() {
    for chunk in 0..<chunkCount.load(ordering: .acquiring) {
      for i in 0..<Self.slotsAChunk {
        let spare = Pin(slot: chunks[chunk] + i * Self.stride, claimed: 0).spare
        spare.pointee?.release()
        spare.pointee = nil
      }
    }
  }

  /// A pin without a claimed slot, for forked children. In a forked child, releasing it frees a
  /// slot that protects no version.
  var unclaimed: Pin { Pin(slot: firstChunk, claimed: 0) }

  /// The versions that are held.
  func held() -> PinnedVersions {
    var held = PinnedVersions()
    forEachPin { word in
      let version = word & Self.versionMask
      if word & Self.unsettled == 0 {
        held.exact.append(version)
      } else {
        held.unsettledFrom = min(held.unsettledFrom ?? version, version)
      }
      held.snapshots.append(version)
    }
    held.exact.sort()
    held.snapshots.sort()
    return held
  }

  /// The held versions, for a caller that retains files or garbage for them. PT4
  ///
  /// - Parameter published: The version that is published, or was published. The retained items
  ///   were retired with this version or before. PT5
  func heldAndAwaited(published: UInt64) -> PinnedVersions {
    // The value is only increased: two callers may wait, for items retired with different versions.
    awaited.max(published, ordering: .sequentiallyConsistent)
    return held()
  }

  /// Whether the writer waits for releases of pins. PT4
  var isAwaited: Bool { awaited.load(ordering: .sequentiallyConsistent) != 0 }

  /// Whether the writer may wait for this pin, which has just been released. PT4, PT5
  @inline(__always)
  func isAwaited(_ released: Pin) -> Bool {
    released.claimed < awaited.load(ordering: .sequentiallyConsistent)
  }

  /// Resets `awaited`. The writer needs only one notification until it scans the pins again.
  ///
  /// - Returns: Whether the writer has requested a notification.
  func takeAwaited() -> Bool { awaited.exchange(0, ordering: .sequentiallyConsistent) != 0 }

  /// Whether any version is pinned.
  var isAnyHeld: Bool {
    var isHeld = false
    forEachPin { _ in isHeld = true }
    return isHeld
  }

  /// The number of pins.
  var count: Int {
    var count = 0
    forEachPin { _ in count += 1 }
    return count
  }

  private func forEachPin(_ body: (UInt64) -> Void) {
    for chunk in 0..<chunkCount.load(ordering: .sequentiallyConsistent) {
      for i in 0..<Self.slotsAChunk {
        let word = (chunks[chunk] + i * Self.stride).pointee.load(ordering: .sequentiallyConsistent)
        if word != 0 { body(word) }
      }
    }
  }

  private func addChunk(after count: Int) {
    growth.withLock {
      guard chunkCount.load(ordering: .relaxed) == count else { return }
      precondition(
        count < Self.chunksMax, "More than \(Self.chunksMax * Self.slotsAChunk) snapshots are open")
      chunks[count] = Self.makeChunk()
      chunkCount.store(count + 1, ordering: .sequentiallyConsistent)
    }
  }

  private static func makeChunk() -> UnsafeMutablePointer<Atomic<UInt64>> {
    let chunk = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: slotsAChunk * stride)
    for i in 0..<(slotsAChunk * stride) { (chunk + i).initialize(to: Atomic(0)) }
    return chunk
  }

  /// Thread numbers differ mostly in their middle bits. The high bits of the product depend on all
  /// of these bits.
  private func currentThreadHash() -> UInt64 { (currentThreadID() &* 0x9E37_79B9_7F4A_7C15) &>> 48 }
}

/// A claimed slot. Its owner releases it once, on any thread.
// Unchecked: the slot is an atomic in memory that the pin table keeps for its own lifetime.
struct Pin: @unchecked Sendable {
  let slot: UnsafeMutablePointer<Atomic<UInt64>>
  /// The version with which the slot was claimed: the version of the reader's root, or an older
  /// one. PT1
  let claimed: UInt64

  /// The spare snapshot of the slot, which the slot retains (Snapshot+Reuse.swift, SR2). It is in
  /// the slot's cache line. The memory begins as zeros, which mean nil. The reference is unmanaged,
  /// so lending a spare does not change a reference count.
  @inline(__always)
  var spare: UnsafeMutablePointer<Unmanaged<Snapshot>?> {
    UnsafeMutableRawPointer(slot + 1).assumingMemoryBound(to: Unmanaged<Snapshot>?.self)
  }

  /// Whether the slot has the only reference to its spare.
  @inline(__always)
  var isSpareUnique: Bool {
    spare.withMemoryRebound(to: Snapshot?.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
  }

  /// Settles the pin: the reader has loaded its root. PT3
  func settle(_ version: UInt64) { slot.pointee.store(version, ordering: .releasing) }

  /// Releases the pin. This write precedes the owner's later reads in the sequentially consistent
  /// order (PT4; WriterPlace, WP1).
  func release() { slot.pointee.store(0, ordering: .sequentiallyConsistent) }
}

/// The versions that are held at a certain moment.
struct PinnedVersions {
  /// The versions whose roots are held, ascending.
  var exact: [UInt64] = []
  /// The lowest version whose root a reader may be about to hold; nil if no reader is about to hold
  /// a root.
  var unsettledFrom: UInt64?
  /// The versions of snapshots, ascending. For an unsettled slot, it is a version that is not
  /// greater than the version of its root.
  var snapshots: [UInt64] = []

  /// Returns these versions together with `versions`, which are kept for another reason. `versions`
  /// is ascending.
  func adding(_ versions: [UInt64]) -> PinnedVersions {
    if versions.isEmpty { return self }
    var all = self
    all.exact += versions
    all.exact.sort()
    return all
  }

  /// Whether a root of one of these versions may be held.
  func mayHold(_ versions: ClosedRange<UInt64>) -> Bool {
    if let unsettledFrom, unsettledFrom <= versions.upperBound { return true }
    return newest(upTo: versions.upperBound).map { $0 >= versions.lowerBound } ?? false
  }

  /// The newest held version in `born ..< gone`; nil if there is none.
  func newest(from born: UInt64, before gone: UInt64) -> UInt64? {
    guard gone > born, let version = newest(upTo: gone - 1), version >= born else { return nil }
    return version
  }

  /// The lowest version that a reader may hold if it has not loaded its root yet; `published` if
  /// there is no such reader. Below this version, `exact` has all held versions.
  ///
  /// - Parameter published: The version of the newest root.
  func settledEnd(published: UInt64) -> UInt64 { min(unsettledFrom ?? published, published) }

  /// - Complexity: O(log n) for n held versions.
  private func newest(upTo version: UInt64) -> UInt64? {
    var (low, high) = (0, exact.count)
    while low < high {
      let middle = (low + high) / 2
      if exact[middle] <= version { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : exact[low - 1]
  }
}
