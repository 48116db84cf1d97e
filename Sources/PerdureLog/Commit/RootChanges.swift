/// A list of the root's entries that recent commits changed.
///
/// The committer reuses the memory of old roots. With this list it copies only the entries in which
/// an old root differs from the published one. Without the list, each commit copies all keyspaces
/// and indexes. An entry is the trees of a keyspace, or the tree of an index. The data of an index
/// (`IndexMark`) changes only with the catalog.
///
/// Invariants
///  RC1  Each noted change has a position, ascending from 1. The ring contains the last `capacity`
///       changes. Changes before `start` are unknown.
///  RC2  Let p be the `changesSeen` of a root, with p >= `start`. Then the root differs from the
///       published root only in entries that were noted at p or later. Therefore every change of a
///       working root is noted before it is made. Changes of a refused commit stay in the ring; the
///       only effect is one more copy of these entries.
///  RC3  A commit notes each keyspace once, with the indexes over it.
///
/// The list is a ring because only the newest changes are useful. The capacity is half the number
/// of entries, rounded down to a power of two. If more entries have changed, copying the whole root
/// is faster than copying single entries.
struct RootChanges: ~Copyable {
  /// The position of roots for which the differences are unknown.
  static let unknown: UInt64 = 0

  /// Below this number of entries, a copy of the whole root costs less than the list.
  static let entriesMin = 64

  private var capacity = 0
  /// Whether changes are noted.
  var isUsed: Bool { capacity > 0 }
  private var ring = UnsafeMutablePointer<RootEntry>.allocate(capacity: 0)
  /// For each keyspace, the position of its last change.
  private var lastNoted = UnsafeMutablePointer<UInt64>.allocate(capacity: 0)
  private var start: UInt64 = 1
  /// The position of the next change.
  private(set) var end: UInt64 = 1
  private var commitStart: UInt64 = 1

  deinit {
    ring.deallocate()
    lastNoted.deallocate()
  }

  /// Adapts to roots of another size. All earlier changes become unknown.
  mutating func adapt(keyspaceCapacity: Int, indexCount: Int) {
    let entryCount = keyspaceCapacity + indexCount
    ring.deallocate()
    lastNoted.deallocate()
    let half = entryCount / 2
    // The greatest power of two that is at most half of `entryCount`.
    capacity = entryCount < Self.entriesMin ? 0 : 1 << (Int.bitWidth - 1 - half.leadingZeroBitCount)
    ring = .allocate(capacity: capacity)
    let keyspaceCount = capacity == 0 ? 0 : keyspaceCapacity
    lastNoted = .allocate(capacity: keyspaceCount)
    lastNoted.initialize(repeating: 0, count: keyspaceCount)
    forgetAll()
  }

  /// Makes all changes so far unknown. Used after changes of the root that are not noted one by
  /// one.
  mutating func forgetAll() {
    end &+= 1
    start = end
  }

  /// Begins a commit, before its first change.
  mutating func beginCommit() { commitStart = end }

  /// Notes that the commit changes the trees of a keyspace and of the indexes over it.
  @inline(__always)
  mutating func note(_ keyspace: UInt32, _ indexes: IndexSet) {
    if isUsed { noteOnce(keyspace, indexes) }
  }

  @inline(never)
  private mutating func noteOnce(_ keyspace: UInt32, _ indexes: IndexSet) {
    // RC3
    guard lastNoted[Int(keyspace)] < commitStart else { return }
    lastNoted[Int(keyspace)] = end
    push(RootEntry(keyspace: keyspace))
    for index in indexes.over(keyspace).changedIndexes { push(RootEntry(index: index)) }
  }

  /// RC1
  private mutating func push(_ entry: RootEntry) {
    ring[Int(truncatingIfNeeded: end) & (capacity &- 1)] = entry
    end &+= 1
  }

  /// Calls `body` with the entries that were changed at `position` or later.
  ///
  /// - Returns: The number of calls; nil, without any call, if some of the changes are unknown.
  ///   Successive changes of one entry cause one call.
  func forEach(since position: UInt64, _ body: (RootEntry) -> Void) -> Int? {
    guard position >= start, end - position <= UInt64(capacity) else { return nil }
    var (next, previous, count) = (position, RootEntry?.none, 0)
    while next < end {
      let entry = ring[Int(truncatingIfNeeded: next) & (capacity &- 1)]
      // Successive commits often change the same keyspace.
      if entry != previous {
        body(entry)
        count &+= 1
      }
      previous = entry
      next &+= 1
    }
    return count
  }
}

/// A keyspace or an index of a root.
struct RootEntry: Equatable {
  private static let indexBit: UInt32 = 1 << 31
  private let word: UInt32

  init(keyspace: UInt32) { word = keyspace }

  init(index: UInt32) { word = index | Self.indexBit }

  var isIndex: Bool { word & Self.indexBit != 0 }

  var id: Int { Int(word & ~Self.indexBit) }
}
