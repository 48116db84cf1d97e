import PerdureFileIO
import PerdureFormat

// Unpacked groups of rewritten segments, shared by readers.
//
// A read in a group needs the whole group unpacked, which takes about 15 to 30 microseconds for 64
// KiB. The next read is often in the same group. So unpacked groups are cached, up to a byte limit
// for each store. They are evicted by the clock algorithm: a group used since the last pass is kept
// for one more pass.
//
// A reader retains the group that it reads, by a reference count, until it reads another group or
// returns. So the cache may evict a group at any time. The lifetime of snapshots does not matter,
// and the unpacked bytes are bounded by the cache and by the running reads. (Nodes of the index are
// retained as long as a snapshot is pinned. That rule is not used for groups: with it, a scan of
// one snapshot retains every group that it has passed. If bytes must stay valid for the snapshot's
// lifetime, the read copies them, in the same way as packed values. Rows of the graph are read in
// this way.)
//
// Invariants
//  GC1  The bytes of an unpacked group never change, and are valid while the group is retained.
//  GC2  The groups in the cache use at most `bytesMax` bytes.
//  GC3  Owner numbers are never used twice, so a group of a removed segment is never found.

/// One group, unpacked.
// Unchecked: its bytes are written before it is shared, and freed in deinit.
final class UnpackedGroup: @unchecked Sendable {
  /// The owner number of the segment file that contains the group (`GroupCache.makeOwner`).
  let owner: Int
  let index: Int
  /// The range of the group's bytes in the segment's body.
  let range: Range<Int>
  private let memory: UnsafeMutableRawBufferPointer

  /// - Parameter unpack: Fills the bytes; throws if it cannot.
  init<E: Error>(
    _ owner: Int, _ index: Int, at range: Range<Int>,
    unpack: (UnsafeMutableRawBufferPointer) throws(E) -> Void
  ) throws(E) {
    self.owner = owner
    self.index = index
    self.range = range
    memory = .allocate(byteCount: range.count, alignment: 16)
    try unpack(memory)
  }

  deinit { memory.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }

  /// The bytes from an offset in the body to the end of the group.
  func bytes(from offset: Int) -> UnsafeRawBufferPointer {
    bytes.part((offset - range.lowerBound)..<range.count)
  }
}

/// The unpacked groups of a store.
// Unchecked: its state is guarded by `lock`.
final class GroupCache: @unchecked Sendable {
  private struct Key: Hashable {
    var owner: Int
    var index: Int
  }

  private struct Entry {
    var group: UnpackedGroup
    var wasUsed: Bool
  }

  private let lock = Lock()
  private let bytesMax: Int
  private var entries: [Entry] = []
  /// The index of each group in `entries`.
  private var places: [Key: Int] = [:]
  /// The index of the entry that eviction checks next.
  private var hand = 0
  private var byteCount = 0
  private var owners = 0
  private let mark = ProcessMark.currentIfAny()

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  /// The number of bytes in the cached groups.
  var bytes: Int { lock.withLock { byteCount } }

  /// Makes an owner number for a segment's file. GC3
  func makeOwner() -> Int {
    lock.withLock {
      owners += 1
      return owners
    }
  }

  func group(_ index: Int, of owner: Int) -> UnpackedGroup? {
    lock.withLock {
      guard let place = places[Key(owner: owner, index: index)] else { return nil }
      entries[place].wasUsed = true
      return entries[place].group
    }
  }

  /// Caches a group, unless another thread has cached it already or it is longer than `bytesMax`.
  func insert(_ group: UnpackedGroup) {
    lock.withLock {
      let key = Key(owner: group.owner, index: group.index)
      guard places[key] == nil, group.bytes.count <= bytesMax else { return }
      while byteCount + group.bytes.count > bytesMax { forgetOne() }  // GC2
      places[key] = entries.count
      entries.append(Entry(group: group, wasUsed: false))
      byteCount += group.bytes.count
    }
  }

  /// Removes all groups of a segment's file that is no longer read.
  func removeAll(of owner: Int) {
    // A forked child must not wait for the lock, and no longer needs the groups.
    guard mark?.isOwn ?? true else { return }
    lock.withLock {
      for place in entries.indices.reversed() where entries[place].group.owner == owner { remove(place) }
    }
  }

  private func forgetOne() {
    while true {
      if hand >= entries.count { hand = 0 }
      guard entries[hand].wasUsed else { return remove(hand) }
      entries[hand].wasUsed = false
      hand += 1
    }
  }

  /// Removes an entry, and moves the last entry to the index of the removed entry.
  private func remove(_ place: Int) {
    let gone = entries[place].group
    places[Key(owner: gone.owner, index: gone.index)] = nil
    byteCount -= gone.bytes.count
    let last = entries.removeLast()
    guard place < entries.count else { return }
    entries[place] = last
    places[Key(owner: last.group.owner, index: last.group.index)] = place
  }
}

/// Retains the group that a call reads. It is empty until the call reads a group.
///
/// A record that was read with a hold is valid until the next read with the same hold, or until the
/// hold is released. The creator of a hold releases it at the end of the call.
struct GroupHold {
  // Unmanaged, because the compiler may release a counted reference after its last visible use, and
  // the bytes are used after that.
  private var held: Unmanaged<UnpackedGroup>?

  init() {}

  var group: UnpackedGroup? { held?.takeUnretainedValue() }

  /// Retains a group, and releases the previous one.
  mutating func hold(_ group: UnpackedGroup) {
    let before = held
    held = .passRetained(group)
    before?.release()
  }

  @inline(__always)
  mutating func release() {
    if let group = held { releaseGroup(group) }
  }

  @inline(never)
  private mutating func releaseGroup(_ group: Unmanaged<UnpackedGroup>) {
    group.release()
    held = nil
  }

  /// Whether the bytes are in the retained group, and not in a mapped segment.
  @inline(__always)
  func covers(_ bytes: UnsafeRawBufferPointer) -> Bool {
    held == nil ? false : heldCovers(bytes)
  }

  @inline(never)
  private func heldCovers(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress, let held = group?.bytes, let first = held.baseAddress else {
      return false
    }
    return start >= first && start < first + held.count
  }
}
