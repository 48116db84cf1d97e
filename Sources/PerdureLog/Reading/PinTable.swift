import PerdureFileIO
import Synchronization

/// Which versions readers hold: one slot a snapshot, claimed and released without a lock.
///
/// Invariants
///  P1  A slot holds 0 (free) or the version that was published, or an older one, when it was
///      claimed.
///  P2  A reader claims its slot before it loads the root, and the writer publishes a root before
///      it scans the slots (all sequentially consistent): so either the writer sees the slot, or
///      the reader sees the new root. A slot with version v protects every root of v or later.
final class PinTable: Sendable {
  private static let slotsAChunk = 64
  private static let chunksMax = 4096
  /// 64 bytes apart, so that readers do not share a cache line.
  private static let stride = 8

  // Written under `growth` only, before `chunkCount` says that they are there; freed in deinit.
  private nonisolated(unsafe) let chunks: UnsafeMutablePointer<UnsafeMutablePointer<Atomic<UInt64>>>
  private let chunkCount = Atomic<Int>(0)
  private let growth = Lock()

  init() {
    chunks = .allocate(capacity: Self.chunksMax)
    addChunk(after: 0)
  }

  deinit {
    for index in 0..<chunkCount.load(ordering: .relaxed) { chunks[index].deallocate() }
    chunks.deallocate()
  }

  /// Claims a slot for `version`, which is not 0.
  func pin(_ version: UInt64) -> Pin {
    var start = Int(truncatingIfNeeded: currentThreadHash())
    while true {
      let count = chunkCount.load(ordering: .acquiring)
      for chunk in 0..<count {
        for i in 0..<Self.slotsAChunk {
          let slot = chunks[chunk] + ((start &+ i) & (Self.slotsAChunk - 1)) * Self.stride
          if slot.pointee.load(ordering: .relaxed) == 0,
            slot.pointee.compareExchange(expected: 0, desired: version, ordering: .sequentiallyConsistent)
              .exchanged
          {
            return Pin(slot: slot)
          }
        }
      }
      addChunk(after: count)
      start = 0
    }
  }

  /// The oldest version that is pinned; `published` when none is.
  func oldest(published: UInt64) -> UInt64 {
    var oldest = published
    for chunk in 0..<chunkCount.load(ordering: .sequentiallyConsistent) {
      for i in 0..<Self.slotsAChunk {
        let version = (chunks[chunk] + i * Self.stride).pointee.load(ordering: .sequentiallyConsistent)
        if version != 0 && version < oldest { oldest = version }
      }
    }
    return oldest
  }

  /// How many snapshots there are.
  var count: Int {
    var count = 0
    for chunk in 0..<chunkCount.load(ordering: .acquiring) {
      for i in 0..<Self.slotsAChunk
      where (chunks[chunk] + i * Self.stride).pointee.load(ordering: .relaxed) != 0 {
        count += 1
      }
    }
    return count
  }

  private func addChunk(after count: Int) {
    growth.withLock {
      guard chunkCount.load(ordering: .relaxed) == count else { return }
      precondition(
        count < Self.chunksMax, "More than \(Self.chunksMax * Self.slotsAChunk) snapshots are open")
      let chunk = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: Self.slotsAChunk * Self.stride)
      for i in 0..<(Self.slotsAChunk * Self.stride) { (chunk + i).initialize(to: Atomic(0)) }
      chunks[count] = chunk
      chunkCount.store(count + 1, ordering: .sequentiallyConsistent)
    }
  }

  /// Threads mostly differ in the middle bits of their numbers; the product's high bits have all of them.
  private func currentThreadHash() -> UInt64 { (currentThreadID() &* 0x9E37_79B9_7F4A_7C15) &>> 48 }
}

/// A claimed slot. Whoever holds it releases it once, on any thread.
struct Pin: @unchecked Sendable {
  // Unchecked: the slot is an atomic in memory that the pin table keeps for its own lifetime.
  let slot: UnsafeMutablePointer<Atomic<UInt64>>

  func release() { slot.pointee.store(0, ordering: .releasing) }
}
