// Walks one version of an ordered tree in both directions. Copy-on-write leaves cannot reference
// their neighbours, so the cursor keeps the path from the root. The path and the key buffer share
// one allocation, which is made with the cursor and reused by every seek.

/// A cursor over an immutable root. One thread at a time may use it, while the version is pinned.
struct OrderedCursor: ~Copyable {
  let tree: OrderedTree
  private(set) var place: CursorPlace = .beforeFirst

  /// The cursor's leaf, the index of the cursor's entry in it, and the number of its entries.
  private var leaf: OrderedNode
  private var index = 0
  private var leafCount = 0
  /// The address of the leaf's bodies.
  private var bodies: UnsafeMutableRawPointer
  /// The direction of `ahead`.
  private var aheadWay = Way.none
  private var ahead: Ahead
  /// The leaf whose prefix is at the start of the key buffer, and the length of the prefix.
  private var prefixOwner: UnsafeMutableRawPointer?
  private var prefixLength = 0

  /// The inner nodes of the path by level, each with the slot of the child on the path.
  private let path: UnsafeMutablePointer<Step>
  private let keyBuffer: UnsafeMutableRawPointer

  private struct Step {
    var node: UnsafeMutableRawPointer
    var index: Int
  }

  private enum Way {
    /// `forEachPayloadAhead` must start again, because `ahead` does not belong to the cursor's
    /// leaf.
    case none
    case ascending
    case descending
  }

  /// The progress of prefetching ahead of the cursor.
  private struct Ahead {
    /// The leaf that is read: the cursor's own, or the next one.
    var leaf: OrderedNode
    /// The index of the next entry in that leaf, and the number of entries that remain in the
    /// direction of the prefetching.
    var index = 0
    var left = 0
    /// The number of entries from the cursor's own entry onward that were already passed to `body`.
    var count = 0
  }

  /// Creates a cursor before the first entry.
  init(_ tree: OrderedTree) {
    self.tree = tree
    let pathByteCount = OrderedTree.heightLimit * MemoryLayout<Step>.stride
    let total = pathByteCount + OrderedNode.keyBufferByteCount
    let memory = UnsafeMutableRawPointer.allocate(byteCount: total, alignment: 16)
    path = memory.bindMemory(to: Step.self, capacity: OrderedTree.heightLimit)
    keyBuffer = memory + pathByteCount
    leaf = OrderedNode(memory)
    bodies = memory
    ahead = Ahead(leaf: leaf)
  }

  deinit { UnsafeMutableRawPointer(path).deallocate() }

  var isValid: Bool { place == .onEntry }

  /// The payload of the cursor's entry.
  var payload: UInt64 {
    precondition(isValid, "the cursor must be on an entry")
    return (bodies + index &* OrderedNode.leafBodyByteCount).loadUnaligned(fromByteOffset: 4, as: UInt64.self)
  }

  /// The key of the cursor's entry; its bytes are valid until the cursor moves or is freed.
  var key: UnsafeRawBufferPointer {
    @inline(__always) mutating get {
      precondition(isValid, "the cursor must be on an entry")
      let body = bodies + index &* OrderedNode.leafBodyByteCount
      let reference = body.loadUnaligned(as: UInt16.self)
      if reference & OrderedNode.outOfLineBit != 0 { return leaf.key(index, in: keyBuffer) }
      if prefixOwner != leaf.base { takePrefix() }
      let suffixLength = Int(body.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
      keyBuffer.storeBytes(of: leaf.head(index).bigEndian, toByteOffset: prefixLength, as: UInt32.self)
      let restLength = suffixLength &- OrderedNode.headByteCount
      if restLength > 0 {
        let rest = keyBuffer + (prefixLength &+ OrderedNode.headByteCount)
        KeyBytes.copy(leaf.base + Int(reference), to: rest, count: restLength)
      }
      return UnsafeRawBufferPointer(start: keyBuffer, count: prefixLength &+ suffixLength)
    }
  }

  private mutating func takePrefix() {
    let prefix = leaf.prefix
    prefixOwner = leaf.base
    prefixLength = prefix.count
    if let start = prefix.baseAddress, prefix.count > 0 {
      keyBuffer.copyMemory(from: start, byteCount: prefix.count)
    }
  }

  /// The number of entries in a range that remain in this leaf: from the cursor's entry onward, in
  /// the direction of the walk.
  func countLeft(in range: RawKeyRange, descending: Bool) -> Int {
    precondition(isValid, "the cursor must be on an entry")
    if descending {
      return range.lower.count == 0 ? index &+ 1 : max(0, index &+ 1 &- leaf.search(range.lower).index)
    }
    return max(0, (range.upper.map { leaf.search($0).index } ?? leafCount) &- index)
  }

  /// Passes the payloads of entries to `body` before a walk in one direction reaches the entries.
  /// The entries are at most `distance` ahead, in this leaf or in the next leaf below the same
  /// parent. If a walk calls this function at each entry, `body` gets each payload once.
  @inline(__always)
  mutating func forEachPayloadAhead(_ distance: Int, descending: Bool, _ body: (UInt64) -> Void) {
    precondition(isValid, "the cursor must be on an entry")
    if aheadWay != (descending ? .descending : .ascending) { beginAhead(descending: descending) }
    let step = descending ? -1 : 1
    while ahead.count <= distance {
      if ahead.left == 0, !goAhead(descending: descending) { break }
      body(ahead.leaf.word(ahead.index))
      ahead.index &+= step
      ahead.left &-= 1
      ahead.count &+= 1
    }
    // Before the next call, the cursor moves to the next entry.
    ahead.count &-= 1
  }

  @inline(never)
  private mutating func beginAhead(descending: Bool) {
    aheadWay = descending ? .descending : .ascending
    ahead = Ahead(leaf: leaf, index: index, left: descending ? index &+ 1 : leafCount &- index)
    neighbour(1, descending: descending)?.prefetch()
  }

  /// Continues in the next leaf if it may be read without a check (`isKnown`). An earlier call has
  /// prefetched that leaf: `beginAhead`, `nextLeaf`, or this function for the leaf before.
  @inline(never)
  private mutating func goAhead(descending: Bool) -> Bool {
    guard ahead.leaf.base == leaf.base, let next = neighbour(1, descending: descending),
      tree.file.isKnown(next.base, of: OrderedNode(path[1].node))
    else { return false }
    let count = next.count
    ahead.leaf = next
    ahead.index = descending ? count &- 1 : 0
    ahead.left = count
    neighbour(2, descending: descending)?.prefetch()
    return count > 0
  }

  /// The leaf that is `distance` slots further, below the same parent. It may be prefetched or
  /// compared. It may be read only if `isKnown` returns true (FN1).
  private func neighbour(_ distance: Int, descending: Bool) -> OrderedNode? {
    guard tree.height > 1 else { return nil }
    let inner = OrderedNode(path[1].node)
    let slot = descending ? path[1].index &- distance : path[1].index &+ distance
    guard slot >= 0, slot < inner.count else { return nil }
    return OrderedNode(inner.childAddress(slot))
  }

  /// The number of entries before the cursor's entry.
  var position: Int {
    precondition(isValid, "the cursor must be on an entry")
    var below = index
    for level in 1..<max(1, tree.height) {
      below += OrderedNode(path[level].node).entryCount(below: path[level].index)
    }
    return below
  }
}

// MARK: - Seeking

extension OrderedCursor {
  mutating func seekFirst() -> Bool {
    guard let root = tree.root else { return end(.afterLast) }
    descendFirst(from: root, level: tree.height &- 1)
    return true
  }

  mutating func seekLast() -> Bool {
    guard let root = tree.root else { return end(.beforeFirst) }
    descendLast(from: root, level: tree.height &- 1)
    return true
  }

  /// Moves to the first entry whose key is not less than `key`; returns false if there is none.
  mutating func seek(lowerBound key: UnsafeRawBufferPointer) -> Bool {
    guard let root = tree.root else { return end(.afterLast) }
    descend(to: key, from: root)
    return index < leafCount || nextLeaf()
  }

  /// Moves to the first entry whose key is greater than `key`; returns false if there is none.
  mutating func seek(upperBound key: UnsafeRawBufferPointer) -> Bool {
    guard let root = tree.root else { return end(.afterLast) }
    if descend(to: key, from: root) { index &+= 1 }
    return index < leafCount || nextLeaf()
  }

  /// Moves to the entry that has `position` entries before it; returns false if there is none.
  mutating func seek(position: Int) -> Bool {
    guard position >= 0 else { return end(.beforeFirst) }
    guard position < tree.count, var node = tree.root else { return end(.afterLast) }
    var rest = position
    var level = tree.height &- 1
    while level > 0 {
      let inner = OrderedNode(node)
      var slot = 0
      while slot < inner.count &- 1, rest >= inner.entryCount(slot) {
        rest &-= inner.entryCount(slot)
        slot &+= 1
      }
      path[level] = Step(node: node, index: slot)
      node = inner.child(slot, in: tree.file)
      level &-= 1
    }
    arrive(at: node)
    // A substitute node (FN2) can have fewer entries than the position requires.
    index = min(rest, leafCount &- 1)
    return true
  }

  /// Descends to the first entry of the leaf whose key is not less than `key`. Returns whether that
  /// entry has the key. If there is no such entry, the index is after the leaf's last entry.
  @discardableResult
  private mutating func descend(to key: UnsafeRawBufferPointer, from root: UnsafeMutableRawPointer) -> Bool {
    var node = root
    var level = tree.height &- 1
    while level > 0 {
      let inner = OrderedNode(node)
      let slot = inner.childIndex(for: key)
      path[level] = Step(node: node, index: slot)
      node = inner.child(slot, in: tree.file)
      level &-= 1
    }
    arrive(at: node)
    let found = leaf.search(key)
    index = found.index
    return found.isFound
  }

  private mutating func descendFirst(from top: UnsafeMutableRawPointer, level: Int) {
    var node = top
    var level = level
    while level > 0 {
      path[level] = Step(node: node, index: 0)
      node = OrderedNode(node).child(0, in: tree.file)
      level &-= 1
    }
    arrive(at: node)
    index = 0
  }

  private mutating func descendLast(from top: UnsafeMutableRawPointer, level: Int) {
    var node = top
    var level = level
    while level > 0 {
      let slot = OrderedNode(node).count &- 1
      path[level] = Step(node: node, index: slot)
      node = OrderedNode(node).child(slot, in: tree.file)
      level &-= 1
    }
    arrive(at: node)
    index = leafCount &- 1
  }

  @inline(__always)
  private mutating func arrive(at node: UnsafeMutableRawPointer) {
    leaf = OrderedNode(node)
    leafCount = leaf.count
    bodies = leaf.base + OrderedNode.bodiesOffset(leafCount)
    aheadWay = .none
    place = .onEntry
  }

  private mutating func end(_ end: CursorPlace) -> Bool {
    place = end
    return false
  }
}

// MARK: - Moving

extension OrderedCursor {
  /// Moves to the next entry; false if there is none.
  @inline(__always)
  mutating func next() -> Bool {
    guard place == .onEntry else { return place == .beforeFirst && seekFirst() }
    index &+= 1
    return index < leafCount || nextLeaf()
  }

  /// Moves to the previous entry; false if there is none.
  @inline(__always)
  mutating func previous() -> Bool {
    guard place == .onEntry else { return place == .afterLast && seekLast() }
    index &-= 1
    return index >= 0 || previousLeaf()
  }

  private mutating func nextLeaf() -> Bool {
    let way = aheadWay
    var level = 1
    while level < tree.height {
      let inner = OrderedNode(path[level].node)
      let slot = path[level].index &+ 1
      if slot < inner.count {
        path[level].index = slot
        if level == 1, slot &+ 1 < inner.count { OrderedNode(inner.childAddress(slot &+ 1)).prefetch() }
        descendFirst(from: inner.child(slot, in: tree.file), level: level &- 1)
        if way == .ascending, ahead.leaf.base == leaf.base { aheadWay = way }
        return true
      }
      level &+= 1
    }
    return end(.afterLast)
  }

  private mutating func previousLeaf() -> Bool {
    let way = aheadWay
    var level = 1
    while level < tree.height {
      let slot = path[level].index &- 1
      if slot >= 0 {
        path[level].index = slot
        let child = OrderedNode(path[level].node).child(slot, in: tree.file)
        descendLast(from: child, level: level &- 1)
        if way == .descending, ahead.leaf.base == leaf.base { aheadWay = way }
        return true
      }
      level &+= 1
    }
    return end(.beforeFirst)
  }
}
